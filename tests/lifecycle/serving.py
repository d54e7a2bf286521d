"""Servers and archives for the source tests: all of it on this machine, nothing of it needs a network."""

from __future__ import annotations

import gzip
import io
import os
import ssl
import subprocess
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

__all__ = ["git", "git_server", "repository", "served", "tar_of", "zip_of"]

Answer = Callable[[BaseHTTPRequestHandler], None]


@contextmanager
def served(routes: Mapping[str, Answer | bytes], certificate: Path | None = None) -> Iterator[str]:
    """An http server on the loopback interface, or an https one with *certificate*; gives its address."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = routes.get(urlsplit(self.path).path)
            if found is None:
                self.send_error(404)
            elif callable(found):
                found(self)
            else:
                self.send_response(200)
                self.send_header("Content-Length", str(len(found)))
                self.end_headers()
                self.wfile.write(found)

        do_POST = do_GET

        def log_message(self, format: str, *args: Any) -> None:
            """Nobody reads it."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        name = "http://127.0.0.1" if certificate is None else "https://localhost"
        yield f"{name}:{server.server_address[1]}"
    finally:
        server.shutdown()
        server.server_close()


def certificate_for(folder: Path, name: str) -> Path:
    """A fresh certificate of the host *name* with its key, signed by itself."""
    path = folder / f"{name}.pem"
    words = "req -x509 -newkey rsa:2048 -nodes -days 2".split()
    extra = ["-subj", f"/CN={name}", "-addext", f"subjectAltName=DNS:{name}"]
    made = [folder / f"{name}.key", folder / f"{name}.crt"]
    subprocess.run(
        ["openssl", *words, *extra, "-keyout", made[0], "-out", made[1]], check=True, capture_output=True, cwd=folder
    )
    path.write_bytes(made[0].read_bytes() + made[1].read_bytes())
    return path


def redirect(target: str, status: int = 302) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Location", target)
        handler.end_headers()

    return answer


def slow(data: bytes, pause: float = 0.2) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data)))
        handler.end_headers()
        for at in range(0, len(data), 8):
            try:
                handler.wfile.write(data[at : at + 8])
                handler.wfile.flush()
            except OSError:
                return
            time.sleep(pause)

    return answer


def cut_off(data: bytes) -> Answer:
    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(data) * 2))
        handler.end_headers()
        handler.wfile.write(data)
        handler.connection.close()

    return answer


def endless(handler: BaseHTTPRequestHandler) -> None:
    handler.send_response(200)
    handler.end_headers()
    try:
        while True:
            handler.wfile.write(b"\0" * (1 << 16))
    except OSError:
        return


def git(*words: str, cwd: Path) -> str:
    """Run git in *cwd* with a name and nothing of the machine's configuration."""
    env = {
        **os.environ,
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
    }
    done = subprocess.run(["git", *words], cwd=cwd, env=env, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def repository(folder: Path) -> Path:
    """A new repository whose branch is `main`."""
    folder.mkdir(parents=True)
    git("init", "-q", "-b", "main", cwd=folder)
    return folder


@contextmanager
def git_server(folder: Path) -> Iterator[str]:
    """The repositories below *folder* over http, through git's own backend."""

    def answer(handler: BaseHTTPRequestHandler) -> None:
        url = urlsplit(handler.path)
        length = int(handler.headers.get("Content-Length", 0) or 0)
        env = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": handler.command,
            "PATH_INFO": url.path,
            "QUERY_STRING": url.query,
            "CONTENT_TYPE": handler.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(length),
            "HTTP_CONTENT_ENCODING": handler.headers.get("Content-Encoding", ""),
            "GIT_PROTOCOL": handler.headers.get("Git-Protocol", ""),
            "REMOTE_ADDR": "127.0.0.1",
            "GIT_CONFIG_COUNT": "2",
            "GIT_CONFIG_KEY_0": "safe.directory",
            "GIT_CONFIG_VALUE_0": "*",
            "GIT_CONFIG_KEY_1": "uploadpack.allowAnySHA1InWant",
            "GIT_CONFIG_VALUE_1": "true",
        }
        done = subprocess.run(
            ["git", "http-backend"], input=handler.rfile.read(length), env=env, capture_output=True, check=False
        )
        head, _, body = done.stdout.partition(b"\r\n\r\n")
        status = 200
        headers = [line.split(b": ", 1) for line in head.split(b"\r\n") if b": " in line]
        for name, value in headers:
            if name.lower() == b"status":
                status = int(value.split()[0])
        handler.send_response(status)
        for name, value in headers:
            if name.lower() != b"status":
                handler.send_header(name.decode(), value.decode())
        handler.send_header("Content-Length", str(len(body)))
        handler.end_headers()
        handler.wfile.write(body)

    class Every(dict[str, Answer]):
        def get(self, key: str, default: Any = None) -> Any:
            return answer

    with served(Every()) as address:
        yield address


def tar_of(members: Iterator[tuple[tarfile.TarInfo, bytes]] | list[tuple[tarfile.TarInfo, bytes]]) -> bytes:
    """A tar.gz of exactly these members."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return gzip.compress(out.getvalue())


def member(name: str, data: bytes = b"", **fields: Any) -> tuple[tarfile.TarInfo, bytes]:
    """One member of a tar."""
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for field, value in fields.items():
        setattr(info, field, value)
    return info, data


def zip_of(members: Mapping[str | zipfile.ZipInfo, bytes]) -> bytes:
    """A zip of these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return out.getvalue()


def bundle_members(folder: Path, prefix: str = "") -> dict[str, bytes]:
    """The files of a bundle by name."""
    return {f"{prefix}{p.relative_to(folder)}": p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()}

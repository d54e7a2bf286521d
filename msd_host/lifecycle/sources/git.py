"""Git repositories as sources (spec 30, Sources; reference, W-19).

The exact ref is fetched into a bare repository of ours, and the files are read from its objects. There is never
a checkout, so no hook, filter, attribute or submodule of the repository has a say in anything.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote, unquote, urlsplit

from attrs import evolve, frozen

from ...errors import LifecycleError
from ...text import clean, quoted
from .addresses import PORTS, judged_addresses
from .paths import bundle_prefix, safe_parts
from .process import Ran, Tool, environment, find_tool
from .settle import settle
from .source import Available, Source
from .terms import Fetched, Terms
from .urls import bare
from .writer import Writer

__all__ = ["available_git", "fetch_git"]

_OURS = "refs/fetched/bundle"
_SERVICE, _QUERY = "/info/refs", "service=git-upload-pack"
_TREE_ANSWER = 64 << 20
_LFS = b"version https://git-lfs.github.com/spec/"
_STABLE = re.compile(r"v?(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
#: Nothing that a repository, or the folder we are in, could have set.
_CONFIG = (
    "core.hooksPath=/dev/null",
    "core.attributesFile=/dev/null",
    "core.fsmonitor=false",
    "core.askPass=",
    "credential.interactive=false",
    "fetch.recurseSubmodules=no",
    "fetch.writeCommitGraph=false",
    "gc.auto=0",
    "http.followRedirects=false",  # they are followed, and judged, before git is asked
    "maintenance.auto=false",
    "protocol.allow=never",
    "protocol.version=2",
    "submodule.recurse=false",
    "transfer.bundleURI=false",
)
_SSH = "ssh -oBatchMode=yes -oControlMaster=no -oControlPath=none -oClearAllForwardings=yes -oPermitLocalCommand=no"


@frozen
class _Remote:
    """A repository to talk to: git with its settings, and the address without credentials."""

    git: Tool
    url: str

    def ask(self, *arguments: str, answer: int = 1 << 20) -> Ran:
        """Run git. Raises `LifecycleError` (`fetch-failed`) where it fails."""
        ran = self.git.run(*arguments, answer=answer)
        if ran.status != 0:
            raise _failure(ran)
        return ran


def fetch_git(source: Source, into: Path, terms: Terms) -> Fetched:
    """Fetch the ref of *source*, check its commit, and write the bundle in it. Raises `LifecycleError`."""
    if terms.integrity is not None:
        raise LifecycleError("pin-refused", "a git repository is pinned by its commit: write #sha:COMMIT")
    remote = _remote(source, into, terms)
    git_dir = into / "objects.git"
    sha256 = ["--object-format=sha256"] if source.ref_kind == "sha" and len(source.selector) == 64 else []
    remote.ask("init", "--quiet", "--bare", "--template=", *sha256, "--", os.fspath(git_dir))
    ref = _exact_ref(source, remote)
    terms.tell(f"fetching {source.text}")
    commit = _fetched_commit(source, evolve(remote, git=_within(remote.git, git_dir)), ref)
    raw = _write(evolve(remote, git=_within(remote.git, git_dir)), commit, into, terms)
    resolved = {"commit": commit, "url": bare(remote.url, keep_user=True)}
    if source.ref_kind != "sha":
        resolved["ref"] = ref
    return Fetched(settle(raw, into, terms), resolved)


def available_git(source: Source, terms: Terms) -> tuple[Available, ...]:
    """Released versions among the tags, newest first. Nothing of a branch, a tag or a commit: that is what was asked."""
    if source.ref_kind != "head":
        return ()
    with tempfile.TemporaryDirectory(prefix="capability-git-") as room:
        lines = _listed(_remote(source, Path(room), terms), "refs/tags/*")
    found: dict[tuple[int, ...], str] = {}
    for name in lines:
        tag = name.removeprefix("refs/tags/")
        match = _STABLE.fullmatch(tag)
        if match is not None:
            found.setdefault(tuple(map(int, match.groups())), tag)
    return tuple(_at_tag(source, found[version]) for version in sorted(found, reverse=True))


def _at_tag(source: Source, tag: str) -> Available:
    exact = evolve(source, text=f"{source.text}#tag:{tag}", selector=tag, ref_kind="tag")
    return Available(tag.removeprefix("v"), exact)


def _remote(source: Source, room: Path, terms: Terms) -> _Remote:
    given, user, secret = _without_credentials(source.location)
    url, pinned = _judged(source.location, given, terms)
    settings = [*_CONFIG, f"protocol.{urlsplit(url).scheme}.allow=always", *pinned]
    argv = [find_tool("git"), *(word for setting in settings for word in ("-c", setting))]
    env = environment(
        LC_ALL="C",
        GIT_TERMINAL_PROMPT="0",
        GIT_ASKPASS="",
        SSH_ASKPASS="",
        GIT_SSH_COMMAND=_SSH,
        GIT_SSH_VARIANT="ssh",
        GIT_CEILING_DIRECTORIES=os.fspath(room.parent),
        GIT_NO_LAZY_FETCH="1",
        GIT_NO_REPLACE_OBJECTS="1",
        **_authorization(given, user, secret),
    )
    git = Tool(argv, room, env, terms, terms.limits.download_bytes, (secret, quote(secret, safe="")))
    remote = _Remote(git, url)
    _require_unchanged(remote)
    return remote


def _require_unchanged(remote: _Remote) -> None:
    """The address that was judged is the one git goes to: its own configuration may send it elsewhere."""
    meant = remote.ask("ls-remote", "--get-url", "--", remote.url).out.decode("utf-8", "replace").rstrip("\n")
    if meant != remote.url:
        raise LifecycleError(
            "address-refused",
            f"the configuration of git replaces {quoted(bare(remote.url))} with {quoted(clean(bare(meant), 200))}"
            " (url.….insteadOf), which is not what was asked for; name that address itself",
        )


def _without_credentials(url: str) -> tuple[str, str, str]:
    """(the address as git may see and show it, the user, the password)."""
    parts = urlsplit(url)
    user, secret = unquote(parts.username or ""), unquote(parts.password or "")
    if parts.scheme == "ssh":
        return bare(url, keep_user=True), user, ""  # ssh asks for no password that an address could hold
    return bare(url), user, secret or user


def _judged(location: str, url: str, terms: Terms) -> tuple[str, list[str]]:
    """(the address where the repository is, settings that keep git to the judged addresses)."""
    parts = urlsplit(url)
    if parts.scheme == "file":
        if not terms.allow_insecure_loopback:
            words = "git+file: is for tests; name the folder instead, or add --allow-insecure-loopback"
            raise LifecycleError("insecure-refused", words, remedy="--allow-insecure-loopback")
        return url, []
    if parts.scheme == "ssh":
        judged_addresses(parts, terms)
        return url, []
    url = _final(location, terms)
    parts = urlsplit(url)
    addresses = ",".join(f"[{a}]" if ":" in a else a for a in judged_addresses(parts, terms))
    return url, [f"http.curloptResolve={parts.hostname}:{parts.port or PORTS[parts.scheme]}:{addresses}"]


def _final(location: str, terms: Terms) -> str:
    """Where the repository at *location* is once every redirect is followed, without credentials."""
    from .http import opened  # loads TLS, which no other address needs

    parts = urlsplit(location)
    with opened(parts._replace(path=parts.path.rstrip("/") + _SERVICE, query=_QUERY).geturl(), terms) as answer:
        found = urlsplit(answer.url)
    if not found.path.endswith(_SERVICE):
        raise LifecycleError("redirect-refused", f"{bare(location)} redirects to {bare(answer.url)}, no repository")
    return bare(found._replace(path=found.path.removesuffix(_SERVICE), query="").geturl())


def _authorization(url: str, user: str, secret: str) -> dict[str, str]:
    """The header for this host alone, in the environment: what is among the arguments, everybody can list."""
    if not secret or not url.startswith("http"):
        return {}
    from base64 import b64encode  # only ever needed with credentials in an address

    parts = urlsplit(url)
    basic = b64encode(f"{user}:{secret}".encode()).decode()
    return {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": f"http.{parts.scheme}://{parts.netloc}/.extraHeader",
        "GIT_CONFIG_VALUE_0": f"Authorization: Basic {basic}",
    }


def _within(git: Tool, git_dir: Path) -> Tool:
    return evolve(git, argv=[*git.argv, f"--git-dir={git_dir}"])


def _failure(ran: Ran) -> LifecycleError:
    said = ran.said or f"exit status {ran.status}"
    return LifecycleError("fetch-failed", f"git could not fetch it: {said}")


def _exact_ref(source: Source, remote: _Remote) -> str:
    """The one full ref, or the commit, that *source* means. Raises where a bare name means nothing or two things."""
    name = source.selector
    if source.ref_kind == "head":
        return "HEAD"
    if source.ref_kind == "sha":
        return name
    folder = {"tag": ["refs/tags/"], "branch": ["refs/heads/"]}.get(source.ref_kind, ["refs/tags/", "refs/heads/"])
    wanted = [prefix + name for prefix in folder]
    listed = _listed(remote, *wanted)
    found = [ref for ref in wanted if ref in listed]
    if not found:
        raise LifecycleError(
            "ref-not-found", f"the repository has no {source.ref_kind or 'tag or branch'} {quoted(name)}"
        )
    if len(found) > 1:
        raise LifecycleError(
            "ref-ambiguous", f"{quoted(name)} is a tag and a branch; write #tag:{name} or #branch:{name}"
        )
    return found[0]


def _listed(remote: _Remote, *patterns: str) -> list[str]:
    """The full names of the refs that match."""
    out = remote.ask("ls-remote", "--refs", "--", remote.url, *patterns, answer=8 << 20).out
    lines = out.decode("utf-8", "replace").splitlines()
    return [line.partition("\t")[2] for line in lines]


def _fetched_commit(source: Source, remote: _Remote, ref: str) -> str:
    options = ["--quiet", "--depth=1", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", "--refmap="]
    remote.ask("fetch", *options, "--", remote.url, f"+{ref}:{_OURS}")
    commit = remote.ask("rev-parse", "--verify", "--end-of-options", f"{_OURS}^{{commit}}").out.decode().strip()
    if source.ref_kind == "sha" and commit != source.selector:
        raise LifecycleError("pin-mismatch", f"asked for commit {source.selector}, got {clean(commit, 80)}")
    return commit


@frozen
class _Blob:
    mode: str
    kind: str
    name: str
    size: int
    parts: tuple[str, ...]


def _write(remote: _Remote, commit: str, into: Path, terms: Terms) -> Path:
    """The files of the bundle in *commit*, from its objects."""
    listing = remote.ask("ls-tree", "-r", "-z", "--long", "--full-tree", commit, answer=_TREE_ANSWER).out
    every = [_blob(line) for line in listing.split(b"\0") if line]
    prefix = bundle_prefix(blob.parts for blob in every if blob.kind == "blob")
    blobs = [blob for blob in every if blob.parts[: len(prefix)] == prefix]
    _judge(blobs, terms)
    writer = Writer(into / "raw", terms.limits)
    for blob, data in _contents(remote, blobs):
        if data.startswith(_LFS):
            raise _refused(blob, "is kept in Git LFS, which is not fetched")
        writer.file(blob.parts[len(prefix) :], io.BytesIO(data).read, executable=blob.mode == "100755")
    return writer.folder


def _blob(line: bytes) -> _Blob:
    head, _, path = line.partition(b"\t")
    mode, kind, name, size = head.decode("ascii").split()
    return _Blob(mode, kind, name, int(size) if size.isdigit() else 0, safe_parts(os.fsdecode(path)))


def _judge(blobs: list[_Blob], terms: Terms) -> None:
    """Raise for what no bundle may hold, before any of it is read."""
    for blob in blobs:
        if blob.mode == "120000":
            raise _refused(blob, "is a symbolic link")
        if blob.kind != "blob":
            raise _refused(blob, "is a submodule, and submodules are not fetched")
    total, most = sum(blob.size for blob in blobs), terms.limits.bundle_bytes
    if total > most or len(blobs) > terms.limits.bundle_entries:
        raise LifecycleError("too-large", f"the bundle has {total} bytes in {len(blobs)} files; the limit is {most}")


def _refused(blob: _Blob, words: str) -> LifecycleError:
    return LifecycleError("bundle-refused", f"the bundle is refused: {quoted('/'.join(blob.parts))} {words}")


def _contents(remote: _Remote, blobs: list[_Blob]) -> Iterator[tuple[_Blob, bytes]]:
    """Each blob with its bytes, which git has checked against its name."""
    answer = sum(blob.size for blob in blobs) + len(blobs) * 128
    with tempfile.TemporaryFile() as names:
        names.write(b"".join(blob.name.encode() + b"\n" for blob in blobs))
        names.seek(0)
        ran = remote.git.run("cat-file", "--batch", stdin=names, answer=answer)
    if ran.status != 0:
        raise _failure(ran)
    stream = io.BytesIO(ran.out)
    for blob in blobs:
        head = stream.readline().split()
        if head != [blob.name.encode(), b"blob", str(blob.size).encode()]:
            raise LifecycleError("fetch-failed", f"git did not give {quoted('/'.join(blob.parts))}")
        yield blob, stream.read(blob.size)
        stream.read(1)

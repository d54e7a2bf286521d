"""One request over https, hop by hop, with a deadline that holds for all of it (spec 30, Sources).

Only ever imported by a source that needs it: `http.client` and `ssl` are what makes a start slow.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import SplitResult, unquote, urljoin

from attrs import frozen

from ...errors import LifecycleError, UsageError
from ...text import clean
from ...version import __version__
from .addresses import PORTS, judged_addresses
from .terms import Terms
from .urls import bare, split

__all__ = ["Answer", "opened"]

_HOPS = 5
_REDIRECTS = frozenset([301, 302, 303, 307, 308])
_CHUNK = 1 << 16


@frozen
class Answer:
    """What the last hop answered, not read yet. `url` may hold secrets; `shown` may not."""

    url: str
    response: http.client.HTTPResponse
    terms: Terms

    @property
    def shown(self) -> str:
        return bare(self.url)

    @property
    def status(self) -> int:
        return self.response.status

    def chunks(self) -> Iterator[bytes]:
        """The body, at most `download_bytes` of it and all of it. Raises `LifecycleError`."""
        most, total = self.terms.limits.download_bytes, 0
        if (self.response.length or 0) > most:
            raise _too_large(most)
        while data := self._read():
            total += len(data)
            if total > most:
                raise _too_large(most)
            yield data
        if self.response.length:  # it ended before what it promised, and `read` says nothing of it
            raise LifecycleError("cut-off", f"{self.shown} ended after {total} bytes, which is not all of it")

    def _read(self) -> bytes:
        try:
            data = self.response.read(_CHUNK)
        except (http.client.HTTPException, OSError, ValueError):
            self.terms.left()
            raise LifecycleError("cut-off", f"the answer of {self.shown} broke off") from None
        self.terms.left()  # the deadline closes the connection, which looks like an end
        return data


def _too_large(most: int) -> LifecycleError:
    return LifecycleError("too-large", f"the source sends more than {most} bytes; nothing was changed")


@contextmanager
def opened(url: str, terms: Terms) -> Iterator[Answer]:
    """Ask for *url* and follow its redirects, each judged like the first. Raises `LifecycleError`.

    The credentials in *url* go to its own host alone.
    """
    origin, here = split(url), split(url)
    for _ in range(_HOPS + 1):
        with _asked(here, origin, terms) as response:
            if response.status not in _REDIRECTS:
                yield Answer(here.geturl(), response, terms)
                return
            target = response.headers.get("Location", "")
        here = _next(here, target)
    raise LifecycleError("redirect-refused", f"{bare(url)} redirects more than {_HOPS} times")


def _next(here: SplitResult, target: str) -> SplitResult:
    try:
        parts = split(urljoin(here.geturl(), target))
    except (UsageError, ValueError):
        raise LifecycleError("redirect-refused", f"{bare(here.geturl())} redirects to no address") from None
    if parts.scheme != "https" and (parts.scheme, here.scheme) != ("http", "http"):
        raise LifecycleError("redirect-refused", f"{bare(here.geturl())} redirects to {clean(parts.scheme, 20)}")
    if not target or parts.username is not None:
        raise LifecycleError("redirect-refused", f"{bare(here.geturl())} redirects to nothing that can be followed")
    return parts


@contextmanager
def _asked(parts: SplitResult, origin: SplitResult, terms: Terms) -> Iterator[http.client.HTTPResponse]:
    addresses = judged_addresses(parts, terms)
    shown = bare(parts.geturl())
    path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _connected(parts, addresses, terms) as sock:
        connection = http.client.HTTPConnection(parts.hostname or "", parts.port or PORTS[parts.scheme])
        connection.sock = sock
        try:
            connection.request("GET", path, headers=_headers(parts, origin))
            response = connection.getresponse()
        except (http.client.HTTPException, OSError, ValueError) as error:
            terms.left()
            raise LifecycleError("unreachable", f"{shown} gave no answer ({_reason(error)})") from None
        terms.left()
        with response:
            yield response


def _headers(parts: SplitResult, origin: SplitResult) -> dict[str, str]:
    host = parts.netloc.rpartition("@")[2]
    said = {"Host": host, "User-Agent": f"msd-host/{__version__}", "Accept-Encoding": "identity", "Accept": "*/*"}
    own = (parts.scheme, parts.hostname, parts.port) == (origin.scheme, origin.hostname, origin.port)
    if own and origin.username is not None:
        from base64 import b64encode  # only ever needed with credentials in an address

        pair = f"{unquote(origin.username)}:{unquote(origin.password or '')}"
        said["Authorization"] = "Basic " + b64encode(pair.encode()).decode()
    return {**said, "Connection": "close"}


@contextmanager
def _connected(parts: SplitResult, addresses: tuple[str, ...], terms: Terms) -> Iterator[socket.socket]:
    """A connection to one of the judged *addresses*, which the deadline closes whatever is going on."""
    raw = _dialled(parts, addresses, terms)
    watch = threading.Timer(terms.left(), _shut, (raw,))
    watch.daemon = True
    watch.start()
    sock = raw
    try:
        if parts.scheme == "https":
            sock = _secured(raw, parts, terms)
            watch.cancel()
            watch = threading.Timer(terms.left(), _shut, (sock,))
            watch.daemon = True
            watch.start()
        yield sock
    finally:
        watch.cancel()
        sock.close()


def _shut(sock: socket.socket) -> None:
    with suppress(OSError):
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _dialled(parts: SplitResult, addresses: tuple[str, ...], terms: Terms) -> socket.socket:
    reason = "no address"
    for address in addresses:
        try:
            return socket.create_connection((address, parts.port or PORTS[parts.scheme]), timeout=terms.left())
        except OSError as error:
            terms.left()
            reason = _reason(error)
    raise LifecycleError("unreachable", f"{bare(parts.geturl())} cannot be reached ({reason})")


def _secured(raw: socket.socket, parts: SplitResult, terms: Terms) -> socket.socket:
    try:
        return ssl.create_default_context().wrap_socket(raw, server_hostname=parts.hostname)
    except (OSError, ValueError) as error:
        raw.close()
        terms.left()
        raise LifecycleError("unreachable", f"{bare(parts.geturl())} is not secure ({_reason(error)})") from None


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return clean(f"its certificate is not valid: {error.verify_message}", 120)
    if isinstance(error, OSError) and error.strerror:
        return clean(error.strerror, 80)
    return type(error).__name__

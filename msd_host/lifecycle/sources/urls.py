"""Addresses: taken apart without surprises, and told without credentials (spec 30, Sources)."""

from __future__ import annotations

from urllib.parse import SplitResult, parse_qsl, urlencode, urlsplit

from ...errors import UsageError

__all__ = ["LOOPBACK_NAMES", "bare", "is_loopback_name", "split"]

LOOPBACK_NAMES = frozenset(["localhost", "127.0.0.1", "::1"])
#: Parameters that choose what is sent. Any other may be a token, so it is used and never recorded.
_HARMLESS = frozenset(["archive", "at", "download", "file", "format", "name", "path", "raw", "ref", "v", "version"])


def split(url: str) -> SplitResult:
    """The parts of *url*. Raises `UsageError` for what no client agrees on: no host, a wrong port, odd characters."""
    if not url.isascii() or not url.isprintable() or set(url) & set(' \\"<>^`{|}'):
        raise UsageError(f"the address {bare_or_nothing(url)}has characters that no address has; percent-encode them")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise UsageError("the address is not one: its host or port cannot be read") from None
    if port == 0 or parts.hostname == "" or (parts.hostname is None and parts.scheme != "file"):
        raise UsageError(f"the address {bare_or_nothing(url)}names no host")
    return parts


def bare_or_nothing(url: str) -> str:
    """The scheme of a broken address: anything more may hold a password."""
    scheme = url.partition(":")[0]
    return f"({scheme}:…) " if scheme.isascii() and scheme.replace("+", "").isalnum() else ""


def bare(url: str, *, keep_user: bool = False) -> str:
    """*url* without anything secret: no password, no user unless *keep_user*, no unknown parameter, no fragment."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    user = parts.username if keep_user else None
    known = [(k, v) for k, v in parse_qsl(parts.query, keep_blank_values=True) if k.lower() in _HARMLESS]
    netloc = f"{user}@{host}" if user else host
    return SplitResult(parts.scheme, netloc, parts.path, urlencode(known), "").geturl()


def is_loopback_name(host: str | None) -> bool:
    """Whether *host* is one of the names of this machine that nobody can point elsewhere."""
    return host is not None and host.lower() in LOOPBACK_NAMES

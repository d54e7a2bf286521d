"""Whom we talk to: names become addresses once, are judged, and only the judged addresses are used (spec 30, Sources)."""

from __future__ import annotations

import ipaddress
import socket
import threading
from urllib.parse import SplitResult

from ...errors import LifecycleError
from ...text import quoted
from .policy import check_host
from .terms import Terms
from .urls import is_loopback_name

__all__ = ["PORTS", "judged_addresses"]

PORTS = {"https": 443, "http": 80, "ssh": 22}
_Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


def judged_addresses(parts: SplitResult, terms: Terms) -> tuple[str, ...]:
    """The addresses of the host in *parts*, all of which may be talked to.

    Raises `LifecycleError`: `insecure-refused`, `policy-refused`, `address-refused` or `unreachable`.
    """
    host = parts.hostname or ""
    _judge_scheme(parts, terms)
    check_host(host, terms.rules)
    found = _resolved(host, parts.port or PORTS[parts.scheme], terms)
    for address in found:
        _judge(host, ipaddress.ip_address(address.partition("%")[0]), terms)
    return found


def _judge_scheme(parts: SplitResult, terms: Terms) -> None:
    if parts.scheme in ("https", "ssh"):
        return
    if parts.scheme != "http" or not is_loopback_name(parts.hostname):
        raise LifecycleError("insecure-refused", f"{quoted(parts.scheme)} to {quoted(parts.hostname)} is not secure")
    if not terms.allow_insecure_loopback:
        raise LifecycleError(
            "insecure-refused",
            "http is not secure; for a test on this machine add --allow-insecure-loopback",
            remedy="--allow-insecure-loopback",
        )


def _resolved(host: str, port: int, terms: Terms) -> tuple[str, ...]:
    """Resolving has no deadline of its own, so it happens aside and is left behind when time is up."""
    answer: list[tuple[str, ...] | OSError | UnicodeError] = []

    def look() -> None:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            answer.append(tuple(dict.fromkeys(str(info[4][0]) for info in found)))
        except (OSError, UnicodeError) as error:
            answer.append(error)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    thread.join(terms.left())
    if not answer:
        terms.left()
    if not answer or not isinstance(answer[0], tuple) or not answer[0]:
        raise LifecycleError("unreachable", f"the host {quoted(host)} is not known")
    return answer[0]


def _judge(host: str, address: _Address, terms: Terms) -> None:
    address = _within(address)
    if address.is_loopback:
        allowed = terms.allow_insecure_loopback or terms.allow_private
    elif address.is_link_local or address.is_unspecified or address.is_multicast:
        allowed = False  # never a server of code; some clouds keep credentials there
    else:
        allowed = address.is_global or terms.allow_private
    if not allowed:
        raise LifecycleError(
            "address-refused", f"the host {quoted(host)} is at {address}, which is not a public address"
        )


def _within(address: _Address) -> _Address:
    """The IPv4 address that an IPv6 one leads to, if it does."""
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in _NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    return address.ipv4_mapped or address.sixtofour or address

"""SHA-256 and SHA-512 without loading OpenSSL, which costs more than it saves on what a load hashes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

__all__ = ["constructor", "sha256_hex", "sha512_hex"]


def constructor(name: str) -> Callable[..., Any]:
    """The interpreter's own hash *name*, or that of `hashlib` where it is loaded already or the only one."""
    loaded = sys.modules.get("hashlib")
    if loaded is not None:
        return getattr(loaded, name)  # type: ignore[no-any-return]
    try:
        return getattr(__import__(_builtin(name)), name)  # type: ignore[no-any-return]
    except (ImportError, AttributeError):
        return getattr(__import__("hashlib"), name)  # type: ignore[no-any-return]


def _builtin(name: str) -> str:
    return "_sha2" if sys.version_info >= (3, 12) else f"_{name}"


def sha256_hex(data: bytes) -> str:
    return constructor("sha256")(data).hexdigest()  # type: ignore[no-any-return]


def sha512_hex(data: bytes) -> str:
    return constructor("sha512")(data).hexdigest()  # type: ignore[no-any-return]

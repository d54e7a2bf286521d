"""Fragment files are read once, from inside the bundle only, and inlined into the manifest (spec 10, Manifest)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..limits import Limits
from ..model.capability import Capability
from ..model.codes import SkipCode
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..text import quoted
from .files import Files, ReadFault, fault_of, read_at

__all__ = ["FragmentReader", "bundle_reader", "inline_fragments"]

#: Gives the bytes of a bundle's file by its relative path, or raises `ReadFault`.
FragmentReader = Callable[[str], bytes]

_FIELDS = ("steps", "contributions")


def inline_fragments(
    capability: Capability, read: FragmentReader, limits: Limits
) -> tuple[Capability, tuple[Fault, ...]]:
    """*capability* with the text of each fragment path as `fragment.inline`, and every fault met on the way."""
    changed: dict[str, Any] = {}
    faults: list[Fault] = []
    budget = [limits.fragments_bytes]
    for name in _FIELDS:
        hooks = capability.raw.get(name, ())
        if any(_needs_text(h) for h in hooks):
            changed[name] = tuple(
                _with_text(h, f"$.{name}[{i}].fragment", read, budget, faults) for i, h in enumerate(hooks)
            )
    if not changed:
        return capability, ()
    return Capability(FrozenDict({**capability.raw, **changed})), tuple(faults)


def _needs_text(hook: FrozenDict[str, Any]) -> bool:
    fragment = hook.get("fragment")
    return fragment is not None and "inline" not in fragment


def _with_text(
    hook: FrozenDict[str, Any], path: str, read: FragmentReader, budget: list[int], faults: list[Fault]
) -> FrozenDict[str, Any]:
    if not _needs_text(hook):
        return hook
    fragment = hook["fragment"]
    try:
        data = read(fragment["path"])
        budget[0] -= len(data)
        if budget[0] < 0:
            raise ReadFault("too-large", "the fragments of this capability are too large together")
        text = data.decode("utf-8")
    except ReadFault as fault:
        faults.append(_fault(path, fault.message, fault.kind))
        return hook
    except UnicodeDecodeError:
        faults.append(_fault(path, f"{quoted(fragment['path'])} is not UTF-8", "encoding"))
        return hook
    return FrozenDict({**hook, "fragment": FrozenDict({**fragment, "inline": text})})


def _fault(path: str, message: str, kind: str) -> Fault:
    return Fault(SkipCode.FRAGMENT_INVALID, message, path, details=FrozenDict({"read": kind}))


def bundle_reader(files: Files, folder: int, limits: Limits) -> FragmentReader:
    """Reads below the descriptor of an open bundle folder, opening each component without following links."""

    def read(path: str) -> bytes:
        *folders, name = [part for part in path.replace("\\", "/").split("/") if part not in ("", ".")] or [path]
        opened: list[int] = []
        try:
            at = folder
            for part in folders:
                at = _enter(files, part, at, path)
                opened.append(at)
            return read_at(files, name, limits.fragment_bytes, dir_fd=at, what=quoted(path))
        finally:
            for fd in opened:
                files.close(fd)

    return read


def _enter(files: Files, part: str, at: int, path: str) -> int:
    try:
        return files.open_folder(part, at)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError):
            raise fault_of(error, quoted(path)) from None
        raise ReadFault("missing", f"{quoted(path)} has a name no file can have") from None

"""First-party sets and central schemas from folders and files, for embedders and for the release (spec 70).

Faults of a first-party set are the product's own: they raise here and are never held against an overlay.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from typing import Any

from attrs import evolve

from ..contract import LoopContract
from ..errors import ManifestError
from ..limits import Limits
from ..model.capability import Capability
from ..model.fault import Fault
from ..model.frozen import FrozenDict
from ..model.scope import Scope
from ..msd import LOOP, MSD
from ..product import CentralSchema, FirstParty
from ..reading.bundle import decode_bundle
from ..reading.codec import Codec, Grammar
from ..reading.files import Files, ReadFault, fault_of, read_at, read_path
from ..reading.fragments import bundle_reader
from ..reading.ground import MANIFEST
from ..reading.jsontext import JsonFault, decode
from ..rules.claims import ClaimTable, Holder, facts_of, twice
from ..rules.cross import Supply, prune
from ..rules.flow import knotted
from ..rules.own import contract_faults

__all__ = ["central_schema_from", "first_party_from", "read_central_schema", "read_first_party"]


def first_party_from(
    folder: str | os.PathLike[str], *, contract: LoopContract = LOOP, product_name: str = MSD.name
) -> FirstParty:
    """The capabilities below `folder/capabilities/<id>/capability.json` as a product's first-party set.

    Read and validated at once; raises `ManifestError` with every fault found.
    """
    found = read_first_party(os.fspath(folder), contract, product_name)
    return FirstParty(lambda: found)


def central_schema_from(file: str | os.PathLike[str]) -> CentralSchema:
    """The central configuration schema in *file*: `validKeys` and `dynamicKeyPatterns` (reference, section 3.5).

    Raises `ManifestError` where the file cannot be read or does not have that shape.
    """
    found = read_central_schema(os.fspath(file))
    return CentralSchema(lambda: found)


def read_first_party(folder: str, contract: LoopContract, product_name: str) -> tuple[Capability, ...]:
    """The capabilities in id order; see `first_party_from`."""
    grammar = Grammar(frozenset(contract.points), f"{product_name}-", product_name)
    codec = Codec(grammar, Limits())
    root = os.path.join(folder, "capabilities")
    faults: list[Fault] = []
    found = [c for id in _folders(root) if (c := _read_one(os.path.join(root, id), id, codec, faults)) is not None]
    for capability in found:
        faults.extend(contract_faults(capability, contract.roles))
    if not faults:
        faults.extend(_set_faults(found, contract))
    if faults:
        raise ManifestError(f"the first-party set in {folder} has faults: {faults[0]}", faults=faults)
    return tuple(found)


def _folders(root: str) -> list[str]:
    try:
        with os.scandir(root) as scan:
            return sorted(e.name for e in scan if e.is_dir() and not e.name.startswith((".", "_")))
    except OSError as error:
        raise ManifestError(fault_of(error, root).message) from None


def _read_one(folder: str, id: str, codec: Codec, faults: list[Fault]) -> Capability | None:
    files = Files()
    fd = files.open_folder(folder)
    try:
        decoded, found = decode_bundle(
            lambda: read_at(files, MANIFEST, codec.limits.manifest_bytes, dir_fd=fd),
            bundle_reader(files, fd, codec.limits),
            id,
            codec,
        )
    finally:
        files.close(fd)
    faults.extend(evolve(f, message=f"{id}: {f.message}") for f in found)
    return decoded.capability


def _set_faults(found: Iterable[Capability], contract: LoopContract) -> Iterator[Fault]:
    every = [facts_of(capability, contract) for capability in found]
    table = ClaimTable(None, knotted(node for facts in every for node in facts.nodes))
    for facts in every:
        yield from twice(facts)
        yield from table.objections(facts)
        table.take(facts, Holder(Scope.FIRST_PARTY, ("", facts.capability.id)))
    for faults in prune(found, Supply((), contract)).values():
        yield from faults


def read_central_schema(file: str) -> tuple[frozenset[str], tuple[str, ...]]:
    """(exact keys, pattern sources); see `central_schema_from`."""
    limits = Limits()
    try:
        document = decode(read_path(Files(), file, limits.config_bytes), limits)
    except ReadFault as fault:
        raise ManifestError(fault.message) from None
    except JsonFault as fault:
        raise ManifestError(f"{file} is not valid JSON: {fault}") from None
    if not isinstance(document, FrozenDict):
        raise ManifestError(f"{file} does not hold an object")
    keys = _strings(file, "validKeys", document.get("validKeys", ()))
    state = _strings(file, "runtimeStateKeys", document.get("runtimeStateKeys", ()))
    return frozenset((*keys, *state)), tuple(_patterns(file, document.get("dynamicKeyPatterns", ())))


def _strings(file: str, name: str, value: Any) -> tuple[str, ...]:
    if not isinstance(value, tuple) or not all(isinstance(v, str) for v in value):
        raise ManifestError(f"{name} in {file} is not a list of strings")
    return value


def _patterns(file: str, entries: Any) -> Iterator[str]:
    for entry in entries:
        source = entry.get("source") if isinstance(entry, FrozenDict) else None
        try:
            re.compile(source or "(")
        except re.error as error:
            raise ManifestError(f"a dynamic key pattern in {file} is no expression: {error}") from None
        yield str(source)

"""Whether the host that runs is the one that was installed, once, whole and unshadowed."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from ..errors import HostIntegrityError, MSDError
from ..extending.discovery import normalised
from ..integrity import check_siblings
from ..text import shell_word
from .values import ERROR, WARNING, Finding, Ground, finding

__all__ = ["check"]

_PACKAGES = ("msd_host", "msd_hookspecs")
_MOST = 200  # folders on the import path; nobody has more


def check(ground: Ground, path: list[str] | None = None) -> Iterator[Finding]:
    """Both packages, distributions that are there twice, and the frozen first-party set. *path* stands in for `sys.path`."""
    folders = _folders(ground, sys.path if path is None else path)
    try:
        check_siblings()
    except HostIntegrityError as error:
        yield finding("contract-shadowed", ERROR, "msd_hookspecs", error.message, command=_where("msd_hookspecs"))
    yield from _shadows(folders)
    yield from _twice(ground, folders)
    yield from _drift(ground)


def _folders(ground: Ground, path: list[str]) -> list[str]:
    real: list[str] = []
    for folder in path[:_MOST]:
        try:
            real.append(ground.files.realpath(folder or os.curdir))
        except (OSError, ValueError):
            continue
    return list(dict.fromkeys(real))


def _where(package: str) -> str:
    return f"{shell_word(sys.executable)} -c 'import {package}; print({package}.__file__)'"


def _shadows(folders: list[str]) -> Iterator[Finding]:
    """Another copy of a package on the import path: which one runs is a matter of order."""
    for package in _PACKAGES:
        ours = os.path.dirname(os.path.realpath(getattr(sys.modules.get(package), "__file__", None) or ""))
        for folder in folders:
            for name in (package, f"{package}.py"):
                other = os.path.join(folder, name)
                real = os.path.realpath(other)
                if os.path.lexists(other) and real not in (ours, os.path.join(ours, "__init__.py")):
                    message = f"another {package} lies on the import path, at {other}; the one that runs is {ours}"
                    yield finding("package-shadowed", WARNING, other, message, command=_where(package))


def _twice(ground: Ground, folders: list[str]) -> Iterator[Finding]:
    """Distributions of the host or its extensions that are installed more than once."""
    from ..extending.discovery import scan  # the host's own scan, folder by folder

    seen: dict[str, str] = {}
    for folder in folders:
        found, _ = scan(ground.product.extension_group, None, ground.files, [folder])
        infos = {(f.distribution, f.where) for f in found}
        infos.update(("msd-host", os.path.join(folder, name)) for name in _own_infos(ground, folder))
        for distribution, where in sorted(infos):
            first = seen.setdefault(distribution, where)
            if first != where:
                message = f"{distribution} is installed twice: {first} counts, {where} does not"
                command = f"{shell_word(sys.executable)} -m pip uninstall {shell_word(distribution)}"
                yield finding("distribution-twice", WARNING, where, message, command=command)


def _own_infos(ground: Ground, folder: str) -> Iterator[str]:
    for entry in ground.names_in(folder):
        name, dot, _ = entry.name.partition("-")
        if dot and entry.name.endswith(".dist-info") and normalised(name) == "msd-host":
            yield entry.name


def _drift(ground: Ground) -> Iterator[Finding]:
    """Only of the product whose set is the frozen one beside this engine."""
    from ..registry import generate  # reads every first-party manifest

    if os.path.dirname(os.path.realpath(ground.product.first_party_folder)) != os.path.realpath(generate.FOLDER):
        return
    command = ground.run("registry build")
    try:
        drift = generate.drift(generate.generate(ground.product.contract, ground.product.name))
    except (MSDError, OSError) as error:
        message = f"the first-party manifests beside the engine cannot be frozen: {error}"
        yield finding("first-party-damaged", ERROR, generate.FOLDER, message, command=f"{command} --check")
        return
    if drift is not None:
        message = f"the frozen first-party set has drifted: {drift}"
        yield finding("first-party-drift", ERROR, generate.TARGET, message, command=command)

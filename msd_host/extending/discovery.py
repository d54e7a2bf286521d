"""Finding installed extensions: one own scan of the metadata, nothing imported (spec 50, How it gets in).

Reading `*.dist-info/entry_points.txt` on the import path costs a twentieth of the general view. Each failure is
one warning that names distribution, group, entry and cause. A distribution inside the served project is never a
source, unless the interpreter itself runs from there (a virtual environment in the checkout).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator

from attrs import frozen

from ..text import clean

__all__ = ["Found", "scan"]

_LIMIT = 256 * 1024


@frozen
class Found:
    """One entry of the group. `name` is `<distribution>:<entry point>`, the extension's own name everywhere."""

    distribution: str
    version: str
    entry: str
    target: str
    where: str

    @property
    def name(self) -> str:
        return f"{self.distribution}:{self.entry}"

    @property
    def names(self) -> tuple[str, ...]:
        """Every name a person may call it by."""
        return (self.name, self.distribution, self.entry)


def scan(group: str, project: str | None, path: Iterable[str] | None = None) -> tuple[list[Found], list[str]]:
    """(every entry of *group*, by name; warnings). The first distribution of a name on the path counts."""
    found: dict[str, Found] = {}
    warnings: list[str] = []
    seen: set[str] = set()
    for folder in sys.path if path is None else path:
        for info, distribution, version in _distributions(os.path.realpath(folder or os.curdir)):
            if distribution in seen:
                continue
            seen.add(distribution)
            try:
                entries = list(_entries(os.path.join(info, "entry_points.txt"), group))
            except (OSError, ValueError) as error:
                warnings.append(f"{distribution} ({info}), group {group}: {clean(error, 120)}")
                continue
            if entries and _is_inside(info, project):
                warnings.append(f"{distribution} lies inside the project ({info}); it is not a source of extensions")
                continue
            for entry, target in entries:
                one = Found(distribution, version, entry, target, info)
                found.setdefault(one.name, one)
    return sorted(found.values(), key=lambda f: f.name), warnings


def _distributions(folder: str) -> Iterator[tuple[str, str, str]]:
    """(metadata folder, normalised name, version) of each distribution that lies in *folder*."""
    try:
        with os.scandir(folder) as entries:
            names = sorted(e.name for e in entries if e.name.endswith(".dist-info"))
    except OSError:
        return
    for name in names:
        distribution, _, version = name[: -len(".dist-info")].partition("-")
        if distribution and os.path.isfile(os.path.join(folder, name, "entry_points.txt")):
            yield os.path.join(folder, name), normalised(distribution), version


def normalised(name: str) -> str:
    """A distribution's name as it is compared: lower case, runs of `-_.` as one `-`."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def _entries(path: str, group: str) -> Iterator[tuple[str, str]]:
    with open(path, encoding="utf-8") as stream:
        text = stream.read(_LIMIT + 1)
    if len(text) > _LIMIT:
        raise ValueError("entry_points.txt is too large")
    inside, names = False, set[str]()
    for line in text.splitlines():
        row = line.strip()
        if not row or row.startswith(("#", ";")):
            continue
        if row.startswith("["):
            inside = row == f"[{group}]"
        elif inside:
            name, equals, target = (part.strip() for part in row.partition("="))
            if not (name and equals and target):
                raise ValueError(f"{clean(row, 60)} is no entry")
            if name in names:
                raise ValueError(f"the entry {clean(name, 60)} is there twice")
            names.add(name)
            yield name, target


def _is_inside(path: str, project: str | None) -> bool:
    if project is None:
        return False
    real, prefix = os.path.realpath(path), os.path.realpath(sys.prefix)
    inside = real == project or real.startswith(project.rstrip(os.sep) + os.sep)
    return inside and not real.startswith(prefix.rstrip(os.sep) + os.sep)

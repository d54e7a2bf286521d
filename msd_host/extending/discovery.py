"""Finding installed extensions: one own scan of the metadata, nothing imported (spec 50, How it gets in).

Reading `*.dist-info/entry_points.txt` on the import path costs a twentieth of the general view. Each failure is
one warning that names distribution, group, entry and cause. A distribution inside the served project is never a
source, unless the interpreter itself runs from there (a virtual environment in the checkout).
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterable, Iterator

from attrs import frozen

from ..reading.files import Files, ReadFault, read_path
from ..text import clean

__all__ = ["Found", "scan"]

_LIST = "entry_points.txt"
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


def scan(
    group: str, project: str | None, files: Files, path: Iterable[str] | None = None
) -> tuple[list[Found], list[str]]:
    """(every entry of *group*, by name; warnings). The first distribution of a name on the path counts."""
    found: dict[str, Found] = {}
    warnings: list[str] = []
    seen: set[str] = set()
    for folder in sys.path if path is None else path:
        for info, distribution, version in _distributions(files, folder or os.curdir):
            if distribution in seen:
                continue
            seen.add(distribution)
            try:
                entries = list(_entries(files, os.path.join(info, _LIST), group))
            except (ReadFault, OSError, ValueError) as error:
                warnings.append(f"{distribution} ({info}), group {group}: {clean(error, 120)}")
                continue
            if entries and _is_inside(info, project):
                warnings.append(f"{distribution} lies inside the project ({info}); it is not a source of extensions")
                continue
            for entry, target in entries:
                one = Found(distribution, version, entry, target, info)
                found.setdefault(one.name, one)
    return sorted(found.values(), key=lambda f: f.name), warnings


def _distributions(files: Files, folder: str) -> Iterator[tuple[str, str, str]]:
    """(metadata folder, normalised name, version) of each distribution that lies in *folder*."""
    try:
        real = files.realpath(folder)
        fd = files.open_folder(real)
    except OSError:  # no folder: an archive, or nothing
        return
    try:
        names = sorted(e.name for e in files.entries(fd) if e.name.endswith(".dist-info"))
        for name in names:
            distribution, _, version = name[: -len(".dist-info")].partition("-")
            if distribution and _has_list(files, fd, name):
                yield os.path.join(real, name), normalised(distribution), version
    except OSError:
        return
    finally:
        files.close(fd)


def _has_list(files: Files, folder: int, name: str) -> bool:
    try:
        return stat.S_ISREG(files.stat(os.path.join(name, _LIST), dir_fd=folder).st_mode)
    except OSError:
        return False


def normalised(name: str) -> str:
    """A distribution's name as it is compared: lower case, runs of `-_.` as one `-`."""
    return "-".join(part for part in name.lower().replace("_", "-").replace(".", "-").split("-") if part)


def _entries(files: Files, path: str, group: str) -> Iterator[tuple[str, str]]:
    text = read_path(files, files.realpath(path), _LIMIT, _LIST).decode("utf-8")  # some installers link files
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

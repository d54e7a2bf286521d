"""Wheels and npm packages, brought by their own tools and unpacked by us (spec 30, Sources).

`pip` gives wheels only, so nothing is ever built; `npm` runs no script. Both work in a folder of ours that is
empty but for what keeps them from looking further up, and nothing that they brought is executed.
"""

from __future__ import annotations

import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from attrs import evolve

from ...errors import LifecycleError
from ...text import clean
from .archive import check_pin, unpacked, verified
from .process import Ran, Tool, environment, find_tool
from .source import Available, Source
from .terms import Fetched, Terms

__all__ = ["available_packages", "fetch_package"]

_PIP = (
    "--disable-pip-version-check",
    "--no-input",
    "--no-color",
    "--no-cache-dir",
    "--retries=0",
    "--only-binary=:all:",
)
_RELEASE = re.compile(r"(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})\.(0|[1-9]\d{0,8})")
_ROOM = 4  # times a download that a tool may keep on disk while it works
_MOST_VERSIONS = 10_000


def fetch_package(source: Source, into: Path, terms: Terms) -> Fetched:
    """Download the wheel or npm package of *source* and unpack the bundle in it. Raises `LifecycleError`."""
    check_pin(terms.integrity)
    terms.tell(f"downloading {source.text}")
    room, brought = into / "room", into / "room" / "brought"
    room.mkdir(0o700)
    brought.mkdir()
    version = (_bring_wheel if source.kind == "pypi" else _bring_npm)(source, room, brought, terms)
    file = _only_file(brought, ".whl" if source.kind == "pypi" else ".tgz", terms)
    resolved = {"version": version or file.name.split("-")[1], "integrity": verified(file, terms)}
    return unpacked(file, file.name, into, terms, resolved)


def available_packages(source: Source, terms: Terms) -> tuple[Available, ...]:
    """The released versions that *source* admits, newest first. Raises `LifecycleError`."""
    with tempfile.TemporaryDirectory(prefix="capability-versions-") as folder:
        return (_wheel_versions if source.kind == "pypi" else _npm_versions)(source, Path(folder), terms)


def _only_file(folder: Path, ending: str, terms: Terms) -> Path:
    files = sorted(folder.iterdir())
    if len(files) != 1 or not files[0].name.endswith(ending) or files[0].is_symlink() or not files[0].is_file():
        raise LifecycleError("fetch-failed", f"the tool did not bring exactly one {ending} file")
    if files[0].stat().st_size > terms.limits.download_bytes:
        raise LifecycleError("too-large", f"the package has more than {terms.limits.download_bytes} bytes")
    return files[0]


def _failure(tool: str, source: Source, ran: Ran) -> LifecycleError:
    said = ran.said or f"exit status {ran.status}"
    return LifecycleError("fetch-failed", f"{tool} could not fetch {clean(source.text, 200)}: {said}")


# pip: what it may see of the environment is its own settings, which are the user's.


def _pip(room: Path, terms: Terms) -> Tool:
    argv = [sys.executable, "-I", "-m", "pip"]
    env = environment(
        "PIP_", LC_ALL="C.UTF-8", TMPDIR=os.fspath(room), PIP_CONFIG_FILE=os.environ.get("PIP_CONFIG_FILE", "")
    )
    if not env["PIP_CONFIG_FILE"]:
        del env["PIP_CONFIG_FILE"]
    return Tool(argv, room, env, terms, terms.limits.download_bytes * _ROOM)


def _bring_wheel(source: Source, room: Path, brought: Path, terms: Terms) -> str:
    seconds = max(1, int(terms.left()))
    words = ("download", *_PIP, "--no-deps", "--progress-bar=off", f"--timeout={seconds}", "--dest", os.fspath(brought))
    ran = _pip(room, terms).run(*words, "--", source.location + source.selector)
    if ran.status != 0:
        raise _pip_missing(ran) or _failure("pip", source, ran)
    return ""


def _pip_missing(ran: Ran) -> LifecycleError | None:
    if "No module named pip" not in ran.said:
        return None
    words = f"pip is not installed beside {clean(sys.executable, 200)}, and this source needs it"
    return LifecycleError("tool-missing", words, remedy=f"{sys.executable} -m ensurepip")


def _wheel_versions(source: Source, room: Path, terms: Terms) -> tuple[Available, ...]:
    from packaging.specifiers import SpecifierSet  # heavy, and needed for these alone
    from packaging.version import InvalidVersion, Version

    ran = _pip(room, terms).run("index", "versions", *_PIP, "--", source.location)
    if ran.status != 0:
        raise _pip_missing(ran) or _failure("pip", source, ran)
    found = re.search(r"^Available versions:(.*)$", ran.out.decode("utf-8", "replace"), re.MULTILINE)
    versions = set()
    for word in (found[1] if found else "").split(",")[:_MOST_VERSIONS]:
        try:
            versions.add(Version(word.strip()))
        except InvalidVersion:
            continue
    wanted = SpecifierSet(source.selector)
    fitting = sorted((v for v in versions if not v.is_prerelease and v in wanted), reverse=True)
    return tuple(_exactly(source, str(v), f"=={v}") for v in fitting)


def _exactly(source: Source, version: str, selector: str) -> Available:
    text = f"{source.kind}:{source.location}{selector if source.kind == 'pypi' else '@' + selector}"
    return Available(version, evolve(source, text=text, selector=selector))


# npm: the prefix is given, or it would look for a project, and its .npmrc, in every folder above.


def _npm(room: Path, terms: Terms) -> Tool:
    (room / "work").mkdir(exist_ok=True)
    flags = (
        f"--prefix={room / 'work'}",
        f"--cache={room / 'cache'}",
        "--logs-max=0",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        "--no-update-notifier",
        "--no-workspaces",
        "--fetch-retries=0",
        "--loglevel=error",
        "--no-color",
        "--json",
    )
    env = environment("npm_config_", "NPM_CONFIG_", "NPM_TOKEN", LC_ALL="C.UTF-8", TMPDIR=os.fspath(room))
    return Tool([find_tool("npm"), *flags], room, env, terms, terms.limits.download_bytes * _ROOM)


def _bring_npm(source: Source, room: Path, brought: Path, terms: Terms) -> str:
    wanted = f"{source.location}@{source.selector or 'latest'}"
    ran = _npm(room, terms).run("pack", f"--pack-destination={brought}", "--", wanted)
    if ran.status != 0:
        raise _failure("npm", source, _told(ran))
    answer = _answer(ran)
    first = (
        answer[0]
        if isinstance(answer, list) and answer
        else next(iter(answer.values()), None)
        if isinstance(answer, dict)
        else None
    )
    version = first.get("version") if isinstance(first, dict) else None
    if not isinstance(version, str):
        raise LifecycleError("fetch-failed", "npm did not say which version it brought")
    return clean(version, 100)


def _told(ran: Ran) -> Ran:
    """Npm says what went wrong in its answer, if it is asked for JSON."""
    answer = _answer(ran)
    error = answer.get("error") if isinstance(answer, dict) else None
    summary = error.get("summary") if isinstance(error, dict) else None
    return evolve(ran, said=clean(summary, 300)) if isinstance(summary, str) and summary else ran


def _answer(ran: Ran) -> Any:
    try:
        return json.loads(ran.out or b"null")
    except (ValueError, RecursionError):
        return None


def _npm_versions(source: Source, room: Path, terms: Terms) -> tuple[Available, ...]:
    from ...npm_range import parse

    ran = _npm(room, terms).run("view", "--", source.location, "versions", answer=8 << 20)
    if ran.status != 0:
        raise _failure("npm", source, _told(ran))
    answer = _answer(ran)
    listed = [answer] if isinstance(answer, str) else answer if isinstance(answer, list) else []
    wanted = parse(source.selector) if source.selector else None
    if source.selector and wanted is None:
        return ()  # a tag: what it points at is for the registry to say
    found = {
        (int(m[1]), int(m[2]), int(m[3])): m[0]
        for v in listed[:_MOST_VERSIONS]
        if isinstance(v, str) and (m := _RELEASE.fullmatch(v))
    }
    fitting = [v for v in sorted(found, reverse=True) if wanted is None or wanted.contains(v)]
    return tuple(_exactly(source, found[v], found[v]) for v in fitting)

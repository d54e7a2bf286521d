"""What a user may write as a source, and what it means (spec 30, Sources; reference, section 3.1).

A spec is read once, into a value; every fault is found before anything is fetched. What goes into a ledger is
`Source.text`, which never holds a credential and means the same from any folder.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from attrs import field, frozen

from ...errors import LifecycleError, UsageError
from ...text import clean, quoted
from .urls import bare, is_loopback_name, split

__all__ = ["ARCHIVES", "Available", "Source", "parse_source"]

ARCHIVES = (".tgz", ".tar.gz", ".zip")
_MOST = 2048
_REF = re.compile(r"[0-9A-Za-z][0-9A-Za-z._/+-]{0,199}")
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_NPM = re.compile(r"(@[a-z0-9~-][a-z0-9._~-]*/)?[A-Za-z0-9~-][A-Za-z0-9._~-]*")
_NPM_SELECTOR = re.compile(r"[0-9A-Za-z*^~][0-9A-Za-z.+*^~-]*")
_PYPI = re.compile(r"([A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?)\s*([=<>!~].*)?")


@frozen
class Source:
    """One source. `text` is the spec as it is recorded; `location` is what is fetched and may hold credentials.

    kind      location                      selector
    folder    the absolute path             –
    git       the address                   the ref; `ref_kind` is tag, branch, sha, "" (any) or head (none given)
    archive   the address                   –
    pypi      the project's name            a version specifier, or nothing
    npm       the package's name            a range or tag, or nothing
    """

    kind: str
    text: str
    location: str = field(repr=False)
    selector: str = ""
    ref_kind: str = ""
    typed: str = field(default="", repr=False, eq=False)

    @property
    def is_remote(self) -> bool:
        """Whether fetching it leaves this machine's own files."""
        return self.kind != "folder"

    @property
    def is_exact(self) -> bool:
        """Whether it names one version only, so that there is nothing newer to look for."""
        if self.kind == "git":
            return self.ref_kind in ("tag", "sha")
        if self.kind == "npm":
            return re.fullmatch(r"\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?(\+[0-9A-Za-z.-]+)?", self.selector) is not None
        return self.kind == "pypi" and self.selector.startswith("==") and not set(self.selector) & set(",*")


@frozen
class Available:
    """A version that a source could give, and the exact source of it."""

    version: str
    source: Source


def parse_source(text: str, *, base: Path) -> Source:
    """The source that *text* means for somebody in the folder *base*.

    Raises `UsageError` for what is no source, `LifecycleError` (`source-unsupported`) for one of a kind that
    this host does not fetch.
    """
    spec = text.strip()
    if not spec:
        raise UsageError("the source is empty; give a folder, a git repository, an archive, pypi:NAME or npm:NAME")
    if len(spec) > _MOST or not spec.isprintable():
        raise UsageError(f"the source is longer than {_MOST} characters or holds unprintable ones")
    scheme = spec.partition(":")[0].lower()
    if spec in (".", "..", "~") or spec.startswith(("./", "../", "/", "~/")):
        return _folder(spec, spec, base)
    if scheme == "file" and ":" in spec:
        return _folder(_path_of(spec[5:]), spec, base)
    reader = _READERS.get(scheme) if ":" in spec else None
    if reader is None:
        raise _unknown(spec, base)
    return reader(spec)


def _unknown(spec: str, base: Path) -> Exception:
    scp = re.fullmatch(r"([A-Za-z0-9._-]+@)?([A-Za-z0-9.-]+):(?!//)(\S+)", spec)
    if scp is not None and "/" in scp[3] + "/":
        remedy = f"git+ssh://{scp[1] or ''}{scp[2]}/{scp[3].lstrip('/')}"
        return UsageError(f"a git repository is named by its address; write {remedy}")
    if "://" not in spec and os.path.isdir(os.path.join(base, spec)):  # a bare name is never a folder by accident
        return UsageError(f"a folder is named by a path; write ./{clean(spec, 100)}")
    shown = quoted(spec if "@" not in spec else spec.partition(":")[0])
    return UsageError(f"{shown} is no source; give ./FOLDER, git+https://…, https://….tgz, pypi:NAME or npm:NAME")


def _path_of(rest: str) -> str:
    """The path in what follows `file:`."""
    if rest.startswith("//"):
        host, slash, path = rest[2:].partition("/")
        if host.lower() not in ("", "localhost") or not slash:
            raise UsageError("a file: address names a folder of this machine; write file:///FOLDER")
        rest = slash + path
    path = unquote(rest, errors="surrogateescape")
    if not path or "\0" in path or not path.isprintable():
        raise UsageError("the file: address holds no usable path")
    return path


def _folder(path: str, typed: str, base: Path) -> Source:
    where = os.path.join(base, os.path.expanduser(path))
    if not os.path.isabs(where):
        raise UsageError(f"the home in {quoted(path)} is not known; give an absolute path")
    head, tail = os.path.split(where.rstrip("/") or "/")
    # The last component stays as typed: a link there is refused when the folder is opened.
    full = os.path.realpath(where) if tail in ("", ".", "..") else os.path.join(os.path.realpath(head), tail)
    return Source("folder", full, full, typed=typed)


def _git(spec: str) -> Source:
    url, hash_mark, ref = spec[4:].partition("#")
    if spec[:4].lower() != "git+":
        url, hash_mark, ref = spec.partition("#")
    parts = split(url)
    if parts.scheme not in ("https", "ssh", "http", "file"):
        raise UsageError(f"git over {quoted(parts.scheme)} is not secure; write git+https://… or git+ssh://…")
    if parts.scheme == "http" and not is_loopback_name(parts.hostname):
        raise UsageError(f"http is not secure; write git+https://{parts.netloc.rpartition('@')[2]}{parts.path}")
    if parts.query or not parts.path.strip("/") or (parts.scheme == "file" and parts.netloc):
        raise UsageError("the address of a git repository is a host and a path, without parameters")
    if parts.username is not None and parts.username.startswith("-"):
        raise UsageError("the user in the address begins with a dash, which ssh would take for an option")
    ref_kind, name = _ref(ref, given=bool(hash_mark))
    shown = "git+" + bare(url, keep_user=parts.scheme == "ssh")
    return Source("git", shown + (f"#{ref}" if ref else ""), url, name, ref_kind)


def _ref(ref: str, *, given: bool) -> tuple[str, str]:
    if not ref and not given:
        return "head", ""
    kind, mark, name = ref.partition(":")
    if not mark:
        kind, name = "", ref
    if kind not in ("", "tag", "branch", "sha"):
        raise UsageError(f"{quoted(kind)} is no kind of ref; write #tag:NAME, #branch:NAME, #sha:COMMIT or #NAME")
    if kind == "sha" and _COMMIT.fullmatch(name) is None:
        raise UsageError("a commit is named by all of its 40 (or 64) lower-case digits")
    if _REF.fullmatch(name) is None or ".." in name or "//" in name or name.endswith((".lock", ".", "/")):
        raise UsageError(f"{quoted(name)} is no name of a tag, branch or commit")
    return ("sha", name) if _COMMIT.fullmatch(name) and kind == "" else (kind, name)


def _https(spec: str) -> Source:
    url, hash_mark, _ = spec.partition("#")
    parts = split(url)
    if parts.scheme == "http" and not is_loopback_name(parts.hostname):
        raise UsageError(f"http is not secure; write https://{parts.netloc.rpartition('@')[2]}{parts.path}")
    path = parts.path.lower()
    if path.endswith(ARCHIVES):
        if hash_mark:
            raise UsageError("an archive has no refs; pin it with --integrity sha512-…")
        return Source("archive", bare(url), url)
    if path.endswith(".git") or hash_mark:
        return _git(spec)
    remedy = f"git+{bare(url)} is the repository there; an archive's address ends in {', '.join(ARCHIVES)}"
    raise UsageError(f"it is not clear what lies at {clean(bare(url), 200)}: {clean(remedy, 300)}")


def _npm(spec: str) -> Source:
    name, mark, selector = spec[4:].partition("@") if spec[4:5] != "@" else _scoped(spec[4:])
    if _NPM.fullmatch(name) is None or len(name) > 214 or _is_file_name(name):
        raise UsageError(f"{quoted(name)} is no name of an npm package; write npm:NAME or npm:@SCOPE/NAME@RANGE")
    if mark and (_NPM_SELECTOR.fullmatch(selector) is None or len(selector) > 128 or _is_file_name(selector)):
        raise UsageError(f"{quoted(selector)} is no version, range or tag; write npm:{name}@1.2.3 or npm:{name}@^1.2")
    return Source("npm", f"npm:{name}{mark}{selector}", name, selector)


def _scoped(rest: str) -> tuple[str, str, str]:
    name, mark, selector = rest[1:].partition("@")
    return "@" + name, mark, selector


def _is_file_name(text: str) -> bool:
    """What npm would take for an archive in the working folder."""
    return text.lower().endswith((".tgz", ".tar.gz", ".tar"))


def _pypi(spec: str) -> Source:
    found = _PYPI.fullmatch(spec[5:].strip())
    if found is None or len(found[1]) > 128:
        raise UsageError(f"{quoted(spec[5:])} is no name of a Python project; write pypi:NAME or pypi:NAME==1.2")
    from packaging.specifiers import InvalidSpecifier, SpecifierSet  # heavy, and needed for these alone

    try:
        wanted = str(SpecifierSet(found[2] or ""))
    except InvalidSpecifier:
        raise UsageError(f"{quoted(found[2])} is no version specifier; write pypi:{found[1]}==1.2") from None
    if "===" in wanted:
        raise UsageError("=== compares text, not versions; write ==")
    return Source("pypi", f"pypi:{found[1]}{wanted}", found[1], wanted)


def _oci(spec: str) -> Source:
    raise LifecycleError(
        "source-unsupported",
        "oci:// is not supported: this host fetches folders, git repositories, archives, wheels and npm packages",
    )


_READERS = {
    "npm": _npm,
    "pypi": _pypi,
    "oci": _oci,
    "https": _https,
    "http": _https,
    "git+https": _git,
    "git+http": _git,
    "git+ssh": _git,
    "git+file": _git,
}

"""Where overlays may lie and how far each place can be trusted (spec 10, Roots).

Scope is decided by what can be proven about folders (canonical path, device and inode), never by how a
path is spelled, and every doubt ends in the more restrictive scope. Nothing in the tree moves the served
project or the home: no environment file, no configuration, no claim of a `.git` file; git is never run.
"""

from __future__ import annotations

import errno
import os
import stat as st
from collections.abc import Iterator, Mapping

from attrs import evolve, frozen

from ..errors import UsageError
from ..model.scope import Scope
from ..product import Product
from .files import Files

__all__ = ["Canonical", "Roots", "absolute", "find_roots", "os_home"]

_ABSENT = (errno.ENOENT, errno.ENOTDIR)


@frozen
class Canonical:
    """What is known of a path: `state` is `there`, `absent` (provably) or `unknown` (cannot be proven)."""

    given: str
    state: str
    path: str = ""
    place: tuple[int, int] | None = None
    why: str = ""

    @property
    def there(self) -> bool:
        return self.state == "there"


@frozen
class Roots:
    """The answer of `find_roots`; every field is evidence that `explain` and `doctor` print.

    `served` is None where there is no project. `store_refusal` says why the consent store beside this
    home is not used, None when it is.
    """

    home: Canonical
    global_root: Canonical
    global_scope: Scope
    global_why: str
    served: Canonical | None
    project_root: Canonical | None
    one_folder: bool
    store: Canonical
    store_refusal: str | None
    notes: tuple[str, ...] = ()

    @property
    def served_path(self) -> str | None:
        """The canonical served project, or its spelled path where it cannot be canonicalised."""
        return None if self.served is None else (self.served.path or self.served.given)

    def alone(self) -> Roots:
        """The home's own root, as it is seen from outside every project: what an overlay for all of them can lean on."""
        why = "asked for without a project"
        return evolve(
            self, served=None, project_root=None, one_folder=False, global_scope=Scope.GLOBAL, global_why=why, notes=()
        )

    @property
    def home_path(self) -> str:
        return self.home.path or self.home.given


def absolute(path: str | os.PathLike[str] | None) -> str:
    """*path*, by default the current folder, as an absolute one; also where the current folder was removed.

    Raises `UsageError` for what is no path.
    """
    try:
        given: object = "" if path is None else os.fspath(path)
    except TypeError:
        raise UsageError(f"a path must be text, not {type(path).__name__}") from None
    if not isinstance(given, str) or "\0" in given:
        raise UsageError("a path must be text without NUL")
    return os.path.normpath(os.path.join(_here(), given)) if not os.path.isabs(given) else os.path.normpath(given)


def _here() -> str:
    try:
        return os.getcwd()
    except OSError:  # the folder was removed under our feet; the shell still knows its name
        named = os.environ.get("PWD", "")
        return named if os.path.isabs(named) else "/"


def os_home(env: Mapping[str, str]) -> str:
    """`$HOME`, else the password database, else the root folder."""
    home = env.get("HOME", "")
    if os.path.isabs(home):
        return home
    try:
        import pwd  # only where there is no usable $HOME

        return pwd.getpwuid(os.getuid()).pw_dir
    except (ImportError, KeyError):
        return "/"


def look(files: Files, path: str) -> Canonical:
    """Canonicalise *path*; an error other than a plain absence leaves its place unproven."""
    try:
        real = files.realpath(path)
        info = files.stat(real)
    except OSError as error:
        name = errno.errorcode.get(error.errno or 0, type(error).__name__)
        return Canonical(path, "absent" if error.errno in _ABSENT else "unknown", why=name)
    except ValueError:
        return Canonical(path, "absent", why="not a path")
    return Canonical(path, "there", real, (info.st_dev, info.st_ino))


def _ancestors(path: str) -> Iterator[str]:
    while True:
        yield path
        parent = os.path.dirname(path)
        if parent == path:
            return
        path = parent


def _marked(files: Files, folder: str, markers: tuple[str, ...]) -> bool:
    for marker in markers:
        try:
            mode = files.stat(os.path.join(folder, marker.rstrip("/")), follow=marker.endswith("/")).st_mode
        except (OSError, ValueError):
            continue
        if st.S_ISDIR(mode) or not marker.endswith("/"):
            return True
    return False


def find_served(files: Files, cwd: str, user_home: str, markers: tuple[str, ...]) -> str | None:
    """The nearest marked ancestor of *cwd*, itself first; the user's home counts only when it is *cwd*."""
    start = look(files, cwd)
    base = start.path if start.there else absolute(cwd)
    home = look(files, user_home)
    for folder in _ancestors(base):
        if folder != base and home.there and folder == home.path:
            continue
        if _marked(files, folder, markers):
            return folder
    return None


def _inside(files: Files, inner: Canonical, outer: Canonical) -> bool:
    """Whether *inner* is *outer* or lies below it, by canonical path or by identity of an ancestor."""
    if not (inner.there and outer.there):
        return False
    if inner.path == outer.path or inner.path.startswith(outer.path.rstrip("/") + "/"):
        return True
    return any(look(files, folder).place == outer.place for folder in _ancestors(inner.path))


def _same(one: Canonical, other: Canonical | None) -> bool:
    return other is not None and one.there and other.there and (one.path == other.path or one.place == other.place)


def find_roots(
    files: Files, product: Product, *, cwd: str, home: str | None = None, env: Mapping[str, str] | None = None
) -> Roots:
    """Find both roots and judge how they relate. *home* wins over the home variable, that over the OS home."""
    env = os.environ if env is None else env
    user_home = os_home(env)
    named = env.get(product.home_variable, "")
    spelled = home if home is not None else (named if os.path.isabs(named) else user_home)
    spelled = absolute(spelled)
    at_home = look(files, spelled)
    global_root = look(files, os.path.join(spelled, product.folder, "capabilities"))
    store = _store_place(files, os.path.join(spelled, product.folder))
    into = _linked_into(files, store, at_home, product)
    served_path = find_served(files, cwd, user_home, product.project_markers)
    if served_path is None:
        why = "there is no served project"
        refusal = _unproven(store) or into
        return Roots(at_home, global_root, Scope.GLOBAL, why, None, None, False, store, refusal)
    served = look(files, served_path)
    project_root = look(files, os.path.join(served_path, product.folder, "capabilities"))
    scope, why = _global_scope(files, at_home, global_root, served, project_root)
    own_home = _same(at_home, served) and spelled == absolute(user_home)
    return Roots(
        at_home,
        global_root,
        scope,
        why,
        served,
        project_root,
        _same(global_root, project_root),
        store,
        _store_refusal(files, store, served, own_home=own_home) or into,
        _link_note(files, product, served_path, global_root, project_root),
    )


def _store_place(files: Files, folder: str) -> Canonical:
    """The place of the dot folder that holds the store, or of the nearest folder in which it would be created."""
    for path in _ancestors(folder):
        found = look(files, path)
        if found.state != "absent":
            return found
        if _is_link(files, path):
            return Canonical(path, "unknown", why="a link to nowhere")
    return look(files, "/")


def _is_link(files: Files, path: str) -> bool:
    try:
        return st.S_ISLNK(files.stat(path, follow=False).st_mode)
    except (OSError, ValueError):
        return False


def _global_scope(
    files: Files, home: Canonical, root: Canonical, served: Canonical, project_root: Canonical
) -> tuple[Scope, str]:
    unknown = [c for c in (home, root, served, project_root) if c.state == "unknown"]
    if unknown and project_root.state != "absent":
        return Scope.PROJECT, f"the place of {unknown[0].given} cannot be proven ({unknown[0].why})"
    if _same(home, served):
        return Scope.PROJECT, "the home is the served project"
    if _inside(files, root, served) or _inside(files, home, served):
        return Scope.PROJECT, "the home lies below the served project"
    if _same(root, project_root):
        return Scope.PROJECT, "both roots are one folder"
    return Scope.GLOBAL, "the home lies outside the served project"


def _unproven(store: Canonical) -> str | None:
    if store.state == "unknown":
        return f"the place of {store.given} cannot be proven ({store.why})"
    return None


def _linked_into(files: Files, store: Canonical, home: Canonical, product: Product) -> str | None:
    """Why a dot folder that is a link does not count: it leads into a project, where decisions could be checked in.

    What the home itself lies in does not matter, for a link no more than for a folder.
    """
    if not (store.there and home.there) or store.path in (home.path, os.path.join(home.path, product.folder)):
        return None
    around = set(_ancestors(home.path))
    for folder in _ancestors(store.path):
        if folder not in around and _marked(files, folder, product.project_markers):
            return f"{store.given} is a link into the project {folder}, and decisions must not come with a project"
    return None


def _store_refusal(files: Files, store: Canonical, served: Canonical, *, own_home: bool) -> str | None:
    unproven = _unproven(store)
    if unproven is not None or own_home:
        return unproven
    if not served.there and store.there:
        return f"the place of the served project {served.given} cannot be proven ({served.why})"
    if _inside(files, store, served):
        return f"the consent store below {store.path} lies inside the served project {served.path}"
    return None


def _link_note(
    files: Files, product: Product, served: str, root: Canonical, project_root: Canonical
) -> tuple[str, ...]:
    if not _same(root, project_root):
        return ()
    for link in (os.path.join(served, product.folder), os.path.join(served, product.folder, "capabilities")):
        if _is_link(files, link):
            return (f"{link} is a link to {look(files, link).path}; its overlays are judged as project overlays",)
    return ()

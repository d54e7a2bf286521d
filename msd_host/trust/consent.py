"""The user's decisions, one file each, outside every project (spec 20, Consent store).

A grant is kept under place, id and exact content, a denial under place and id alone; a denial is looked for
first. One file per decision needs no lock and loses no update. Reading never raises, writing raises
`ConsentStoreError`, and both say the same about a store that may not be used. Beside the decisions, `roots`
lists which of them belong to one place; it only ever helps to find a grant, it never makes one.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from attrs import frozen

from ..errors import ConsentStoreError, UsageError
from ..limits import Limits
from ..reading.files import Files
from ..remedies import is_valid_id
from .changes import ABSENT, Changes
from .decisions import DENIALS, GRANTS, ROOTS, ConsentView, Decisions, read_denials
from .hashing import hex_of
from .private import Health, PrivatePlace, closing, error_name
from .records import Denial, Grant, encode_denial, encode_grant, fault_of, key_of, utc_now

__all__ = ["ConsentStore", "ConsentView", "Decisions", "Denial", "Grant", "Records", "utc_now"]


@frozen
class Records:
    """Everything on record, for a person to look at."""

    grants: tuple[Grant, ...] = ()
    denials: tuple[Denial, ...] = ()
    ignored: tuple[str, ...] = ()


class ConsentStore:
    """`usable` is the caller's reason why the store must not be used, such as its place in the served project."""

    def __init__(self, home: str, product_name: str, files: Files, limits: Limits, usable: str | None = None) -> None:
        own = f".{product_name}"
        self.path = os.path.join(home, own, "consent")
        self._folder = f"{own}/consent"
        inner = tuple(f"{self._folder}/{name}" for name in (GRANTS, DENIALS, ROOTS))
        self._place = PrivatePlace(files, home, (own, self._folder, *inner), "consent store")
        self._bundles = f"{own}/capabilities"
        self._files = files
        self._limits = limits
        self._unusable = usable

    def health(self) -> Health:
        """Why the store grants nothing and takes nothing, if so, and the command that changes it, if one can."""
        return self._place.health() if self._unusable is None else Health(self._unusable)

    def problem(self) -> str | None:
        """Why the store grants nothing and takes nothing, or None."""
        return self.health().problem

    @property
    def remedy(self) -> str | None:
        """The command that makes the store usable again, where there is one."""
        return self.health().remedy

    # Reading: never raises.

    def open_view(self, *, details: bool = False) -> ConsentView:
        """The store at this moment; each of its folders is listed once, however many are asked about.

        With *details* its grants hold the disclosure and the file list of then.
        """
        return ConsentView(self._place, self._folder, self._limits, self._unusable, details=details)

    def has_any(self) -> bool:
        """Whether anything at all is on record."""
        with self.open_view() as view:
            return view.has_any

    def decisions(self, root: str, id: str) -> Decisions:
        """What is on record for *id* at the canonical *root*, with details."""
        with self.open_view(details=True) as view:
            return view.decisions(root, id)

    def records_for_root(self, root: str, known: Collection[str] = ()) -> tuple[Grant, ...]:
        """The grants at *root*, without those for the ids in *known*; with details."""
        with self.open_view(details=True) as view:
            return view.grants_at(root, known)

    def records(self) -> Records:
        """Every decision, and a note about everything that is none."""
        grants: list[Grant] = []
        notes: list[str] = []
        with self.open_view(details=True) as view:
            keys, names = view.names()
            for key in keys:
                found, ignored = view.read(key)
                grants.extend(found)
                notes.extend(ignored)
        denials, ignored = read_denials(self._place, self._folder, names, self._limits)
        grants.sort(key=lambda g: (g.root, g.id, g.granted_at, g.content_hash))
        return Records(tuple(grants), denials, (*notes, *ignored))

    # Writing: raises `ConsentStoreError`.

    def grant(self, grant: Grant) -> None:
        """Record *grant* and lift a denial. Raises `UsageError` for a grant that binds nothing.

        What was granted before a denial does not come back with a later grant.
        """
        fault = fault_of(grant)
        if fault is not None:
            raise UsageError(f"no consent can be recorded: {fault}")
        data = encode_grant(grant, self._limits.record_bytes)
        key = key_of(grant.root, grant.id)
        with self._making() as changes:
            denial = changes.denial(key)
            if denial is not None:
                changes.withdraw(key)
            changes.mark(grant.root, key)
            changes.put(key, grant.name, data)
            changes.mark(grant.root, key)  # should `gc` have passed in between
            if denial is not None:
                changes.lift(key, denial)

    def deny(
        self,
        root: str,
        id: str,
        *,
        scope: str = "project",
        denied_at: str = "",
        host_version: str = "",
        how: str = "terminal",
    ) -> None:
        """Say no to *id* at *root*, whatever its content, and withdraw its grants. Saying it twice is once."""
        if not os.path.isabs(root) or not is_valid_id(id):
            raise UsageError("a denial needs an absolute path and a valid id")
        when = denied_at or utc_now()
        denial = Denial(root=root, id=id, scope=scope, denied_at=when, host_version=host_version, how=how)
        key = key_of(root, id)
        with self._making() as changes:
            changes.deny(key, encode_denial(denial))
            changes.withdraw(key)

    def revoke(self, root: str, id: str, content_hash: str | None = None) -> int:
        """Withdraw every grant, or the one for *content_hash*; returns how many records went. A denial stays."""
        key = key_of(root, id)
        with self._changing() as changes:
            if changes is None:
                return 0
            if content_hash is None:
                return changes.withdraw(key)
            return changes.withdraw_one(key, _name_of(content_hash))

    def lift_denial(self, root: str, id: str) -> bool:
        """Take back a denial; what was granted before it stays withdrawn. Returns whether there was one."""
        key = key_of(root, id)
        with self._changing() as changes:
            denial = None if changes is None else changes.denial(key)
            if changes is None or denial is None:
                return False
            changes.withdraw(key)
            changes.lift(key, denial)
            return True

    def gc(
        self, gone: Callable[[str, str], bool] | None = None, stale_after: float = 3600.0
    ) -> tuple[Grant | Denial, ...]:
        """Drop the grants whose bundle is gone, the project denials whose project is, and old leftovers.

        *gone* judges (root, id); by default the bundle's folder must be provably absent. The denial of a
        bundle that may come back to a living project is kept.
        """
        judge = self._is_gone if gone is None else gone
        found = self.records()
        dead = [grant for grant in found.grants if judge(grant.root, grant.id)]
        over = [d for d in found.denials if d.scope == "project" and self._is_absent(d.root)]
        with self._changing() as changes:
            if changes is None:
                return ()
            for key in sorted({key_of(grant.root, grant.id) for grant in dead}):
                changes.withdraw(key)
            for key in [key_of(denial.root, denial.id) for denial in over]:
                seen = changes.denial(key)
                if seen is not None:
                    changes.lift(key, seen)
            changes.tidy(time.time() - stale_after)
        return (*dead, *over)

    def tidy(self, stale_after: float = 3600.0) -> None:
        """Drop what killed processes left longer than *stale_after* seconds ago; where nothing may be written, nothing."""
        if self.problem() is None:
            with self._changing() as changes:
                if changes is not None:
                    changes.tidy(time.time() - stale_after)

    @contextmanager
    def _making(self) -> Iterator[Changes]:
        """The store to write in, made if it is not there."""
        with self._changing(create=True) as changes:
            assert changes is not None
            yield changes

    @contextmanager
    def _changing(self, *, create: bool = False) -> Iterator[Changes | None]:
        """The store to write in, None where there is none; refuses in the words that `problem` uses."""
        problem = self.problem()
        if problem is not None:
            raise ConsentStoreError(problem, remedy=self.remedy)
        try:
            consent, sound = self._place.descend(self._folder, create=create)
        except OSError as error:
            if create or error.errno != errno.ENOENT:
                raise self._failed(error) from error
            yield None
            return
        with closing(self._files, consent):
            if not sound:
                raise ConsentStoreError(f"the consent store {self.path} changed while it was looked at")
            try:
                yield Changes(self._place, consent, self._limits)
            except OSError as error:
                raise self._failed(error) from error

    def _failed(self, error: OSError) -> ConsentStoreError:
        return ConsentStoreError(f"the consent store {self.path} could not be written ({error_name(error)})")

    def _is_gone(self, root: str, id: str) -> bool:
        return self._is_absent(os.path.join(root, self._bundles, id))

    def _is_absent(self, path: str) -> bool:
        try:
            self._files.stat(path, follow=False)
        except OSError as error:
            return error.errno in ABSENT
        return False


def _name_of(content_hash: str) -> str:
    try:
        return f"{hex_of(content_hash)}.json"
    except ValueError:
        raise UsageError("this is not a content hash") from None

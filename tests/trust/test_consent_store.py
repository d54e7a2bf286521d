"""Grants and denials on disk: what binds, what is ignored, who may write (spec 20, Consent store)."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import pickle
import stat
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from msd_host.errors import ConsentStoreError, UsageError
from msd_host.limits import Limits
from msd_host.model.frozen import EMPTY, FrozenDict
from msd_host.reading.files import Files
from msd_host.trust.consent import ConsentStore, Decisions, Grant, utc_now
from msd_host.trust.decisions import ConsentView
from msd_host.trust.hashing import hex_of
from msd_host.trust.records import RecordFault, decode_grant, encode_grant, key_of
from msd_host.trust.snapshot import FileDigest

#: A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

Granting = Callable[..., Grant]
NOTHING = Decisions()


def folder_of(home: Path, grant: Grant) -> Path:
    key = hashlib.sha256(os.fsencode(grant.root) + b"\0" + grant.id.encode()).hexdigest()
    return home / ".msd/consent/grants" / key


def file_of(home: Path, grant: Grant) -> Path:
    return folder_of(home, grant) / f"{hex_of(grant.content_hash)}.json"


def denial_of(home: Path, root: str = "/srv/p", id: str = "demo") -> Path:
    return home / ".msd/consent/denials" / f"{key_of(root, id)}.json"


def with_limits(home: Path, **limits: int) -> ConsentStore:
    return ConsentStore(str(home), "msd", Files(), Limits(**limits))


class TestGrants:
    def test_a_grant_is_found_again(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        given_ = grant(
            disclosure={"surfaces": [{"kind": "gate"}]},
            files=FrozenDict({"a\udcff": FileDigest("00" * 64, 3, True)}),
            how="hash",
        )
        store.grant(given_)
        assert store.decisions("/srv/p", "demo") == Decisions(False, (given_,))
        assert file_of(home, given_).is_file()

    def test_case_74_nothing_at_another_place(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        assert store.decisions("/srv/q", "demo") == NOTHING
        assert store.decisions("/srv/p", "other") == NOTHING
        assert store.decisions("/srv/p demo", "") == NOTHING

    def test_case_75_each_content_has_its_own_grant(
        self, store: ConsentStore, grant: Granting, number: Callable[[int], str]
    ) -> None:
        store.grant(grant(1))
        store.grant(grant(2))
        found = store.decisions("/srv/p", "demo").grants
        assert [g.content_hash for g in found] == [number(2), number(1)]

    def test_granting_twice_is_granting_once_with_the_later_date(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        store.grant(grant(granted_at="2027-01-01T00:00:00Z"))
        assert [g.granted_at for g in store.decisions("/srv/p", "demo").grants] == ["2027-01-01T00:00:00Z"]

    @pytest.mark.parametrize(
        "changes",
        [
            {"content_hash": ""},
            {"content_hash": "sha512-"},
            {"id": "../escape"},
            {"id": "Not-Kebab"},
            {"id": "__proto__"},
            {"id": ""},
            {"root": "relative"},
            {"root": ""},
            {"root": "/a\0b"},
            {"how": "flag"},
            {"schema": 2},
        ],
    )
    def test_case_108_what_binds_nothing_is_not_recorded(
        self, store: ConsentStore, home: Path, grant: Granting, changes: dict[str, Any]
    ) -> None:
        with pytest.raises(UsageError):
            store.grant(grant(**changes))
        assert list(home.iterdir()) == []

    @pytest.mark.parametrize("id", ["", "__proto__", "with space", "../escape", chr(0xDCFF), chr(0xD800), "a\0b", "é"])
    def test_any_id_can_be_asked_about(self, store: ConsentStore, grant: Granting, id: str) -> None:
        store.grant(grant())
        assert store.decisions("/srv/p", id) == NOTHING
        assert store.decisions("/" + id, "demo") == NOTHING

    def test_case_97_two_spellings_of_a_name_are_two_places(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant(root="/Pr\u00fcfung"))
        assert store.decisions("/Pru\u0308fung", "demo") == NOTHING

    @settings(CALM, max_examples=60)
    @given(some.data())
    def test_law_place_id_and_content_bind_and_nothing_else(self, data: Any) -> None:
        """A pair of (root, id) never shares a key with another."""
        texts = some.text(some.characters(blacklist_characters="\0"), max_size=4)
        one, other = (data.draw(some.tuples(texts, texts)) for _ in range(2))
        assert (key_of(*one) == key_of(*other)) is (one == other)

    def test_reading_needs_no_store(self, tmp_path: Path) -> None:
        store = ConsentStore(str(tmp_path / "nowhere"), "msd", Files(), Limits())
        assert store.decisions("/srv/p", "demo") == NOTHING
        assert not store.has_any()
        assert store.problem() is None
        assert store.remedy is None
        assert store.records().grants == store.records_for_root("/srv/p") == ()
        assert store.revoke("/srv/p", "demo") == 0
        assert not store.lift_denial("/srv/p", "demo")
        assert store.gc() == ()
        assert not (tmp_path / "nowhere").exists()

    def test_a_missing_home_is_made(self, tmp_path: Path, grant: Granting) -> None:
        store = ConsentStore(str(tmp_path / "new/home"), "msd", Files(), Limits())
        store.grant(grant())
        assert store.has_any()

    def test_the_home_may_be_a_link(self, tmp_path: Path, home: Path, grant: Granting) -> None:
        (tmp_path / "link").symlink_to(home)
        store = ConsentStore(str(tmp_path / "link"), "msd", Files(), Limits())
        store.grant(grant())
        assert file_of(home, grant()).is_file()
        assert store.has_any()

    def test_modes(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        store.deny("/srv/p", "other")
        for path in (home / ".msd").rglob("*"):
            assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600), path
        assert stat.S_IMODE((home / ".msd").stat().st_mode) == 0o700

    def test_case_11_bytes_are_on_the_disk_before_their_name_is(
        self, store: ConsentStore, grant: Granting, order: list[str]
    ) -> None:
        store.grant(grant(1))
        order.clear()
        store.grant(grant(2))
        assert order == ["file", "rename", "folder"]
        order.clear()
        store.revoke("/srv/p", "demo")
        assert order == ["rename", "folder"]
        order.clear()
        store.deny("/srv/p", "demo")
        assert order[:4] == ["folder", "file", "rename", "folder"]

    def test_other_products_have_their_own_store(self, home: Path, grant: Granting) -> None:
        ConsentStore(str(home), "other", Files(), Limits()).grant(grant())
        assert (home / ".other/consent").is_dir()
        assert not ConsentStore(str(home), "msd", Files(), Limits()).has_any()

    def test_the_list_of_files_gives_way_before_the_record_grows_too_large(self, home: Path, grant: Granting) -> None:
        store = with_limits(home, record_bytes=4000)
        digests = FrozenDict({f"file-{i}": FileDigest("00" * 64, 1, False) for i in range(100)})
        store.grant(grant(files=digests, disclosure={"surfaces": []}))
        (found,) = store.decisions("/srv/p", "demo").grants
        assert found.files == {}
        assert found.disclosure == {"surfaces": ()}
        store.grant(grant(disclosure={"long": "x" * 5000}))
        assert store.decisions("/srv/p", "demo").grants[0].disclosure == {}

    def test_a_record_that_cannot_be_made_small_enough(self, grant: Granting) -> None:
        with pytest.raises(RecordFault):
            encode_grant(grant(), 50)

    def test_utc_now_is_a_second(self) -> None:
        assert abs(time.mktime(time.strptime(utc_now(), "%Y-%m-%dT%H:%M:%SZ")) - time.mktime(time.gmtime())) < 60


class TestDenials:
    def test_a_denial_holds_beside_a_grant(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        kept = file_of(home, grant()).read_bytes()
        store.deny("/srv/p", "demo")
        assert store.decisions("/srv/p", "demo") == Decisions(denied=True)
        folder_of(home, grant()).mkdir(mode=0o700)
        file_of(home, grant()).write_bytes(kept)
        file_of(home, grant()).chmod(0o600)
        found = store.decisions("/srv/p", "demo")
        assert found.denied
        assert found.grants == (grant(),)

    @pytest.mark.parametrize("shape", ["empty", "garbage", "folder", "dangling link", "pipe", "wide open"])
    def test_a_denial_counts_whatever_it_is(self, store: ConsentStore, home: Path, grant: Granting, shape: str) -> None:
        store.deny("/srv/p", "other")
        path = denial_of(home)
        if shape == "folder":
            path.mkdir()
        elif shape == "dangling link":
            path.symlink_to("nowhere")
        elif shape == "pipe":
            os.mkfifo(path)
        else:
            path.write_bytes(b"" if shape == "empty" else b"\xff{")
            path.chmod(0o666)
        assert store.decisions("/srv/p", "demo").denied
        assert len(store.records().ignored) == 1
        store.deny("/srv/p", "demo")
        store.grant(grant())
        assert store.decisions("/srv/p", "demo") == Decisions(False, (grant(),))

    def test_what_was_granted_before_does_not_come_back(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant(1))
        kept = file_of(home, grant(1)).read_bytes()
        store.deny("/srv/p", "demo")
        folder_of(home, grant()).mkdir(mode=0o700)
        file_of(home, grant(1)).write_bytes(kept)
        file_of(home, grant(1)).chmod(0o600)
        store.grant(grant(2))
        assert store.decisions("/srv/p", "demo") == Decisions(False, (grant(2),))

    def test_lifting_grants_nothing(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        store.deny("/srv/p", "demo")
        assert store.lift_denial("/srv/p", "demo")
        assert not store.lift_denial("/srv/p", "demo")
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_denying_twice_keeps_the_first(self, store: ConsentStore) -> None:
        store.deny("/home/u", "demo", scope="global", denied_at="2026-01-01T00:00:00Z", host_version="1")
        store.deny("/home/u", "demo", scope="project")
        (denial,) = store.records().denials
        assert (denial.scope, denial.denied_at, denial.host_version) == (
            "global",
            "2026-01-01T00:00:00Z",
            "1",
        )

    @pytest.mark.parametrize(("root", "id"), [("relative", "demo"), ("/p", "../x"), ("/p", "")])
    def test_a_denial_of_nothing_is_refused(self, store: ConsentStore, root: str, id: str) -> None:
        with pytest.raises(UsageError):
            store.deny(root, id)

    def test_a_denial_that_came_in_between_is_kept(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        """The grant lifts the denial it saw, not the one of somebody who said no meanwhile."""
        seen = []

        def meddle(call: str, what: Any) -> None:
            if call == "stat" and str(what).startswith("denials/"):
                seen.append(what)
                if len(seen) == 2:
                    denial_of(home).unlink()
                    (home / "new").write_text("another no")
                    os.utime(home / "new", (1, 1))
                    os.replace(home / "new", denial_of(home))

        store.deny("/srv/p", "demo")
        ConsentStore(str(home), "msd", spy(meddle), Limits()).grant(grant())
        assert store.decisions("/srv/p", "demo").denied


class TestRevoking:
    def test_all_of_one_capability(self, store: ConsentStore, grant: Granting) -> None:
        for made in (grant(1), grant(2), grant(id="other"), grant(root="/srv/q")):
            store.grant(made)
        assert store.revoke("/srv/p", "demo") == 2
        assert store.revoke("/srv/p", "demo") == 0
        assert store.decisions("/srv/p", "demo") == NOTHING
        assert store.decisions("/srv/p", "other").grants
        assert store.decisions("/srv/q", "demo").grants

    def test_one_content(self, store: ConsentStore, grant: Granting, number: Callable[[int], str]) -> None:
        store.grant(grant(1))
        store.grant(grant(2))
        assert store.revoke("/srv/p", "demo", number(1)) == 1
        assert store.revoke("/srv/p", "demo", number(1)) == 0
        assert store.decisions("/srv/p", "demo").grants == (grant(2),)
        assert store.revoke("/srv/p", "demo", number(2)) == 1
        assert store.revoke("/srv/p", "demo", number(2)) == 0
        with pytest.raises(UsageError):
            store.revoke("/srv/p", "demo", "")

    def test_a_denial_stays(self, store: ConsentStore) -> None:
        store.deny("/srv/p", "demo")
        assert store.revoke("/srv/p", "demo") == 0
        assert store.decisions("/srv/p", "demo").denied

    @pytest.mark.parametrize("whole", [True, False])
    def test_damaged_records_go_too(self, store: ConsentStore, home: Path, grant: Granting, whole: bool) -> None:
        store.grant(grant())
        file_of(home, grant()).unlink()
        file_of(home, grant()).mkdir()
        (file_of(home, grant()) / "inner").write_text("x")
        assert store.revoke("/srv/p", "demo", None if whole else grant().content_hash) == 1
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_nothing_is_left_of_it(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        store.revoke("/srv/p", "demo")
        assert list((home / ".msd/consent/grants").iterdir()) == []


SHAPES: dict[str, bytes] = {
    "empty": b"",
    "not JSON": b"{",
    "deep": b"[" * 100_000,
    "a list": b"[]",
    "not text": b"\xff\xfe\xfd",
    "null": b"null",
}


class TestDamage:
    @pytest.mark.parametrize("shape", SHAPES)
    def test_a_record_of_another_shape_is_ignored_alone_and_kept_aside(
        self, store: ConsentStore, home: Path, grant: Granting, shape: str
    ) -> None:
        store.grant(grant(1))
        store.grant(grant(2))
        file_of(home, grant(1)).write_bytes(SHAPES[shape])
        found = store.decisions("/srv/p", "demo")
        assert found.grants == (grant(2),)
        assert len(found.ignored) == 1
        assert found.ignored == store.records().ignored
        store.grant(grant(1))
        assert set(store.decisions("/srv/p", "demo").grants) == {grant(1), grant(2)}
        assert store.decisions("/srv/p", "demo").ignored == ()
        aside = [p.read_bytes() for p in folder_of(home, grant()).iterdir() if p.name.startswith(".aside-")]
        assert aside == [SHAPES[shape]]

    @pytest.mark.parametrize(
        "name", ["root", "id", "scope", "version", "contentHash", "grantedAt", "how", "hostVersion"]
    )
    @pytest.mark.parametrize("value", [None, 5, [], {}, True])
    def test_every_text_must_be_one(
        self, store: ConsentStore, home: Path, grant: Granting, name: str, value: object
    ) -> None:
        assert not self.accepted(store, home, grant, **{name: value})

    @pytest.mark.parametrize(
        "changes",
        [
            {"schema": 2},
            {"schema": "1"},
            {"schema": True},
            {"schema": None},
            {"root": "/srv/q"},
            {"root": "work/p"},
            {"id": "other"},
            {"how": "forged"},
            {"contentHash": ""},
            {"gates": "plan:pre"},
            {"gates": [1]},
        ],
        ids=str,
    )
    def test_a_record_must_say_what_its_names_say(
        self, store: ConsentStore, home: Path, grant: Granting, changes: dict[str, Any]
    ) -> None:
        assert not self.accepted(store, home, grant, **changes)

    def test_unknown_fields_of_a_record_are_no_fault(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        assert self.accepted(store, home, grant, later="field")

    def accepted(self, store: ConsentStore, home: Path, grant: Granting, **changes: object) -> bool:
        store.grant(grant())
        record = json.loads(file_of(home, grant()).read_text())
        file_of(home, grant()).write_text(json.dumps({**record, **changes}))
        found = store.decisions("/srv/p", "demo")
        assert bool(found.grants) is not bool(found.ignored)
        return bool(found.grants)

    def test_a_record_under_another_hash_is_ignored(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant(1))
        file_of(home, grant(1)).rename(file_of(home, grant(2)))
        assert store.decisions("/srv/p", "demo").grants == ()

    @pytest.mark.parametrize("name", ["x.json", "record", "A" * 128 + ".json", "0" * 128])
    def test_a_record_under_no_hash_is_ignored(
        self, store: ConsentStore, home: Path, grant: Granting, name: str
    ) -> None:
        store.grant(grant())
        file_of(home, grant()).rename(folder_of(home, grant()) / name)
        found = store.decisions("/srv/p", "demo")
        assert found.grants == ()
        assert len(found.ignored) == 1

    @pytest.mark.parametrize("kind", ["folder", "link", "pipe", "too large", "wide open"])
    def test_only_a_regular_private_file_is_a_record(
        self, store: ConsentStore, home: Path, grant: Granting, kind: str
    ) -> None:
        store.grant(grant())
        path = file_of(home, grant())
        if kind == "link":
            path.rename(home / "moved")
            path.symlink_to(home / "moved")
        elif kind == "too large":
            path.write_bytes(path.read_bytes() + b" " * (1 << 20))
        elif kind == "wide open":
            path.chmod(0o622)
        else:
            path.unlink()
            path.mkdir() if kind == "folder" else os.mkfifo(path)
        found = store.decisions("/srv/p", "demo")
        assert found.grants == ()
        assert len(found.ignored) == 1
        store.grant(grant())
        assert store.decisions("/srv/p", "demo") == Decisions(False, (grant(),))

    @pytest.mark.parametrize("kind", ["file", "link", "wide open"])
    def test_a_folder_that_is_none_is_kept_aside(
        self, store: ConsentStore, home: Path, grant: Granting, kind: str
    ) -> None:
        store.grant(grant())
        path = folder_of(home, grant())
        if kind == "wide open":
            path.chmod(0o777)
        else:
            path.rename(home / "moved")
            path.write_text("x") if kind == "file" else path.symlink_to(home / "moved")
        found = store.decisions("/srv/p", "demo")
        assert found.grants == ()
        assert len(found.ignored) == 1
        store.grant(grant(2))
        assert store.decisions("/srv/p", "demo") == Decisions(False, (grant(2),))
        assert [p.name for p in path.parent.iterdir() if p.name.startswith(".aside-")]

    @settings(CALM, max_examples=200)
    @given(some.binary(max_size=200))
    def test_law_no_bytes_make_reading_raise(self, data: bytes) -> None:
        with pytest.raises(RecordFault):
            decode_grant(data)

    @pytest.mark.parametrize(
        "details",
        [
            b"5",
            b"null",
            b"{",
            b"[]",
            b"{}",
            b'{"disclosure":[],"files":[]}',
            b'{"disclosure":{},"files":{"a":1}}',
            b'{"disclosure":{},"files":{"a":{"sha512":1,"size":1,"executable":true}}}',
            b'{"disclosure":{},"files":{"a":{"sha512":"","size":-1,"executable":true}}}',
            b'{"disclosure":{},"files":{"a":{"sha512":"","size":true,"executable":true}}}',
            b'{"disclosure":{},"files":{"a":{"sha512":"","size":1,"executable":1}}}',
            b'{"disclosure":' + b"[" * 100_000 + b"}",
        ],
    )
    def test_damaged_details_decide_nothing_either_way(
        self, store: ConsentStore, home: Path, grant: Granting, details: bytes
    ) -> None:
        store.grant(grant(disclosure={"surfaces": []}, files=FrozenDict({"a": FileDigest("00", 1, False)})))
        path = file_of(home, grant())
        head = path.read_bytes().partition(b',\n"details":')[0]
        path.write_bytes(head + b',\n"details":' + details + (b"\n}}\n" if details == b"{" else b"}\n"))
        found = store.decisions("/srv/p", "demo")
        with store.open_view() as view:
            brief = view.decisions("/srv/p", "demo")
        assert bool(found.grants) is bool(brief.grants)
        assert found.ignored == brief.ignored
        assert all((g.disclosure, g.files) == (EMPTY, EMPTY) for g in found.grants)

    @pytest.mark.parametrize("depth", [100, 330, 600, 900, 5000])
    def test_deep_details_are_no_traceback(self, store: ConsentStore, home: Path, grant: Granting, depth: int) -> None:
        store.grant(grant())
        path = file_of(home, grant())
        deep = b'{"a":' * depth + b"0" + b"}" * depth
        path.write_bytes(path.read_bytes().replace(b'"disclosure":{}', b'"disclosure":' + deep))
        (found,) = store.decisions("/srv/p", "demo").grants
        assert found.content_hash == grant().content_hash

    def test_details_are_read_where_they_are_asked_for(self, store: ConsentStore, grant: Granting) -> None:
        full = grant(disclosure={"surfaces": []}, files=FrozenDict({"a": FileDigest("00", 1, False)}))
        store.grant(full)
        with store.open_view() as view:
            assert view.decisions("/srv/p", "demo").grants == (grant(),)
            assert view.grants_at("/srv/p") == (grant(),)
        with store.open_view(details=True) as view:
            assert view.decisions("/srv/p", "demo").grants == (full,)
        assert store.records_for_root("/srv/p") == store.records().grants == (full,)

    def test_a_record_in_another_layout_is_the_same_record(
        self, store: ConsentStore, home: Path, grant: Granting
    ) -> None:
        full = grant(disclosure={"surfaces": []}, files=FrozenDict({"a": FileDigest("00", 1, False)}))
        store.grant(full)
        path = file_of(home, grant())
        path.write_text(json.dumps(json.loads(path.read_text()), indent=2, sort_keys=True))
        assert store.decisions("/srv/p", "demo").grants == (full,)

    @pytest.mark.parametrize("cut", [1, 2, 3, 20, 200])
    def test_a_record_that_is_cut_short_is_none(
        self, store: ConsentStore, home: Path, grant: Granting, cut: int
    ) -> None:
        store.grant(grant(disclosure={"surfaces": []}))
        path = file_of(home, grant())
        path.write_bytes(path.read_bytes()[:-cut])
        assert store.decisions("/srv/p", "demo").grants == ()

    def test_a_record_that_comes_in_pieces(self, store: ConsentStore, home: Path, grant: Granting, spy: Any) -> None:
        class Piecemeal(spy):  # type: ignore[misc]
            def read(self, fd: int, size: int) -> bytes:
                return os.read(fd, min(size, 7))

        store.grant(grant())
        piecemeal = ConsentStore(str(home), "msd", Piecemeal(), Limits())
        assert piecemeal.decisions("/srv/p", "demo").grants == (grant(),)

    def test_a_pipe_among_the_records_does_not_hang(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        os.mkfifo(folder_of(home, grant()) / "pipe.json")
        assert store.decisions("/srv/p", "demo").grants == (grant(),)


FOLDERS = [".msd", ".msd/consent", ".msd/consent/grants", ".msd/consent/denials", ".msd/consent/roots"]


class TestHealth:
    @pytest.fixture(autouse=True)
    def _filled(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        store.deny("/srv/p", "other")

    def refuses(self, store: ConsentStore, grant: Granting) -> str:
        """Nothing granted, nothing written, one message; a no still holds."""
        problem = store.problem()
        assert problem
        with store.open_view() as view:
            assert view.problem == problem
            assert view.decisions("/srv/p", "demo").grants == ()
            assert view.grants_at("/srv/p") == ()
        for write in (
            lambda: store.grant(grant(2)),
            lambda: store.deny("/srv/p", "demo"),
            lambda: store.revoke("/srv/p", "demo"),
            lambda: store.lift_denial("/srv/p", "other"),
            store.gc,
        ):
            with pytest.raises(ConsentStoreError) as caught:
                write()
            assert caught.value.message == problem
            assert caught.value.remedy == store.remedy
        return problem

    @pytest.mark.parametrize("folder", FOLDERS)
    @pytest.mark.parametrize("mode", [0o770, 0o702, 0o777, 0o1777])
    def test_others_may_write(self, store: ConsentStore, home: Path, grant: Granting, folder: str, mode: int) -> None:
        (home / folder).chmod(mode)
        assert f"{home / folder} can be written by others" in self.refuses(store, grant)
        assert store.decisions("/srv/p", "other").denied
        assert store.remedy is not None
        assert os.system(store.remedy) == 0
        assert store.problem() is None
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    def test_one_remedy_covers_every_folder(self, store: ConsentStore, home: Path) -> None:
        for folder in FOLDERS:
            (home / folder).chmod(0o777)
        assert store.remedy is not None
        assert os.system(store.remedy) == 0
        assert store.problem() is None

    def test_the_remedy_survives_a_home_with_a_strange_name(self, tmp_path: Path, grant: Granting) -> None:
        home = tmp_path / "it's $HOME"
        store = ConsentStore(str(home), "msd", Files(), Limits())
        store.grant(grant())
        (home / ".msd").chmod(0o777)
        assert store.remedy is not None
        assert os.system(store.remedy) == 0
        assert store.problem() is None

    @pytest.mark.parametrize("mode", [0o755, 0o711, 0o750])
    def test_others_may_look(self, store: ConsentStore, home: Path, grant: Granting, mode: int) -> None:
        (home / ".msd").chmod(mode)
        assert store.problem() is None
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    @pytest.mark.parametrize("folder", FOLDERS)
    def test_it_belongs_to_somebody_else(self, store: ConsentStore, home: Path, grant: Granting, folder: str) -> None:
        try:
            os.chown(home / folder, 12345, -1)
        except PermissionError:
            pytest.skip("only root gives folders away")
        assert "belongs to user 12345" in self.refuses(store, grant)
        assert store.remedy is None

    def test_a_record_belongs_to_somebody_else(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        try:
            os.chown(file_of(home, grant()), 12345, -1)
        except PermissionError:
            pytest.skip("only root gives files away")
        assert store.decisions("/srv/p", "demo").grants == ()

    @pytest.fixture
    def linked(self, home: Path, tmp_path: Path) -> Path:
        """The dot folder is a link through a link to where settings are kept."""
        kept = tmp_path / "settings" / "msd"
        kept.parent.mkdir()
        (home / ".msd").rename(kept)
        (home / "kept").symlink_to(os.path.relpath(kept.parent, home))
        (home / ".msd").symlink_to("kept/./../settings/msd")
        return kept

    def test_the_dot_folder_may_be_a_link_of_the_users_own(
        self, store: ConsentStore, home: Path, linked: Path, grant: Granting
    ) -> None:
        assert store.problem() is None
        assert store.decisions("/srv/p", "demo").grants == (grant(),)
        store.grant(grant(2))
        assert len(store.decisions("/srv/p", "demo").grants) == 2
        assert store.decisions("/srv/p", "other").denied
        assert file_of(home, grant(2)).name in {p.name for p in linked.rglob("*.json")}

    def test_the_way_may_lead_through_folders_that_only_let_pass(
        self, home: Path, linked: Path, grant: Granting, spy: Any
    ) -> None:
        def refuse(call: str, what: Any) -> None:
            if call == "open_folder" and what in ("settings", "/"):
                raise PermissionError(errno.EACCES, "may be passed, not listed")

        store = ConsentStore(str(home), "msd", spy(refuse), Limits())
        assert store.problem() is None
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    @pytest.mark.parametrize("mode", [0o775, 0o777])
    @pytest.mark.parametrize("where", [".", ".."])
    def test_but_not_through_what_others_may_change(
        self, store: ConsentStore, linked: Path, grant: Granting, where: str, mode: int
    ) -> None:
        (linked / where).resolve().chmod(mode)
        assert "can be written by others" in self.refuses(store, grant)
        assert store.decisions("/srv/p", "other").denied
        assert os.system(store.remedy or "false") == 0
        assert store.problem() is None

    @pytest.mark.parametrize("where", ["target", "above", "link", "second link"])
    def test_nor_through_what_others_own(
        self, store: ConsentStore, home: Path, linked: Path, grant: Granting, where: str
    ) -> None:
        step = {"target": linked, "above": linked.parent, "link": home / ".msd", "second link": home / "kept"}[where]
        try:
            os.chown(step, 12345, -1, follow_symlinks=False)
        except PermissionError:
            pytest.skip("only root gives things away")
        assert "belongs to user 12345" in self.refuses(store, grant)
        assert store.decisions("/srv/p", "other").denied
        assert store.remedy is None

    @pytest.mark.parametrize("target", ["nowhere", ".msd", "file", "\udcff"])
    def test_nor_to_nowhere(self, store: ConsentStore, home: Path, linked: Path, grant: Granting, target: str) -> None:
        (home / "file").write_text("")
        (home / ".msd").unlink()
        (home / ".msd").symlink_to(target)
        assert "cannot be followed" in (store.problem() or "")
        assert store.decisions("/srv/p", "demo") == NOTHING
        with pytest.raises(ConsentStoreError):
            store.grant(grant(2))

    def test_a_link_that_is_turned_at_any_moment_lends_nothing_from_where_others_may_write(
        self, home: Path, linked: Path, grant: Granting, spy: Any
    ) -> None:
        bad = ConsentStore(str(home / "bad"), "msd", Files(), Limits())
        bad.grant(grant(3))
        (home / "bad" / ".msd").chmod(0o777)
        seen = set()
        for moment in range(1, 40):
            left = [moment]

            def turn(call: str, what: Any, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] == 0:
                    (home / ".msd").unlink()
                    (home / ".msd").symlink_to("bad/.msd")

            seen.add(ConsentStore(str(home), "msd", spy(turn), Limits()).decisions("/srv/p", "demo").grants)
            (home / ".msd").unlink()
            (home / ".msd").symlink_to(linked)
        assert seen == {(), (grant(),)}

    @pytest.mark.parametrize("folder", FOLDERS[1:])
    def test_a_link(self, store: ConsentStore, home: Path, grant: Granting, folder: str) -> None:
        (home / folder).rename(home / "moved")
        (home / folder).symlink_to(home / "moved")
        assert "is a symbolic link" in self.refuses(store, grant)
        assert store.remedy is None

    @pytest.mark.parametrize("folder", FOLDERS)
    def test_a_file(self, store: ConsentStore, home: Path, grant: Granting, folder: str) -> None:
        (home / folder).rename(home / "moved")
        (home / folder).write_text("x")
        assert "is not a folder" in self.refuses(store, grant)

    @pytest.mark.parametrize("call", ["open_folder", "entries", "fstat", "open_file", "read"])
    @pytest.mark.parametrize("code", [errno.EACCES, errno.EIO, errno.ELOOP, errno.ENOTDIR, errno.EMFILE])
    def test_no_error_of_the_system_raises_or_grants(
        self, home: Path, grant: Granting, spy: Any, call: str, code: int
    ) -> None:
        for moment in range(12):
            count = 0

            def fail(name: str, what: Any, moment: int = moment) -> None:
                nonlocal count
                count += name == call
                if name == call and count > moment:
                    raise OSError(code, "simulated")

            store = ConsentStore(str(home), "msd", spy(fail), Limits())
            found = store.decisions("/srv/p", "demo")
            assert found.grants in ((), (grant(),))
            assert not found.denied
            if not moment:
                assert found.grants == ()

    def test_denials_that_cannot_be_listed_are_never_a_yes(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        """Who can't see the noes gives no yes."""

        def fail(name: str, what: Any) -> None:
            if name == "open_folder" and what == "denials":
                raise OSError(errno.EIO, "simulated")

        with ConsentStore(str(home), "msd", spy(fail), Limits()).open_view() as view:
            assert "EIO" in str(view.problem)
            assert view.decisions("/srv/p", "demo") == NOTHING

    @pytest.mark.parametrize("code", [errno.EACCES, errno.EIO])
    def test_a_store_that_cannot_be_looked_at(self, home: Path, grant: Granting, spy: Any, code: int) -> None:
        def fail(name: str, what: Any) -> None:
            if name == "stat" and str(what).endswith("consent"):
                raise OSError(code, "simulated")

        store = ConsentStore(str(home), "msd", spy(fail), Limits())
        with pytest.raises(ConsentStoreError, match="cannot be looked at"):
            store.grant(grant(2))

    @pytest.mark.parametrize("call", ["open", "write", "fsync", "rename", "mkdir"])
    @pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EIO, errno.EDQUOT])
    def test_a_failed_write_says_so_and_leaves_nothing(
        self,
        store: ConsentStore,
        home: Path,
        grant: Granting,
        monkeypatch: pytest.MonkeyPatch,
        call: str,
        code: int,
    ) -> None:
        before = sorted(home.rglob("*"))
        real = getattr(os, call)

        def fail(*args: Any, **kwargs: Any) -> Any:
            if call == "open" and not args[1] & os.O_CREAT:
                return real(*args, **kwargs)
            raise OSError(code, "simulated")

        with monkeypatch.context() as patch:
            patch.setattr(os, call, fail)
            with pytest.raises(ConsentStoreError) as caught:
                store.grant(grant(id="third"))
        assert errno.errorcode[code] in caught.value.message
        assert caught.value.exit_code == 7
        assert store.decisions("/srv/p", "third") == NOTHING
        left = [p for p in sorted(home.rglob("*")) if p not in before]
        assert all(p.is_dir() or p.parent.parent.name == "roots" for p in left)

    def test_a_file_system_that_cannot_sync_folders_will_do(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.fsync

        def fsync(fd: int) -> None:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise OSError(errno.EINVAL, "simulated")
            real(fd)

        monkeypatch.setattr(os, "fsync", fsync)
        store.grant(grant(2))
        assert len(store.decisions("/srv/p", "demo").grants) == 2


class TestCase80UnusableStores:
    def test_read_and_write_say_the_same(self, home: Path, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        store.deny("/srv/p", "other")
        reason = "the store lies inside the served project"
        unusable = ConsentStore(str(home), "msd", Files(), Limits(), usable=reason)
        assert unusable.problem() == reason
        assert unusable.remedy is None
        assert unusable.decisions("/srv/p", "demo") == NOTHING
        assert unusable.decisions("/srv/p", "other") == NOTHING
        assert not unusable.has_any()
        assert unusable.records().grants == ()
        with pytest.raises(ConsentStoreError, match=reason):
            unusable.grant(grant(2))
        with pytest.raises(ConsentStoreError, match=reason):
            unusable.revoke("/srv/p", "demo")
        assert store.decisions("/srv/p", "demo").grants == (grant(),)


class TestViews:
    def test_case_84_a_view_is_one_moment_and_the_next_sees_a_revocation(
        self, store: ConsentStore, grant: Granting
    ) -> None:
        store.grant(grant())
        with store.open_view() as view:
            assert view.decisions("/srv/p", "demo").grants == (grant(),)
            store.revoke("/srv/p", "demo")
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_what_is_revoked_after_the_listing_is_not_granted(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        with store.open_view() as view:
            store.revoke("/srv/p", "demo")
            assert view.decisions("/srv/p", "demo") == NOTHING

    def test_each_folder_is_listed_once_however_many_ask(
        self, store: ConsentStore, home: Path, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        store.deny("/srv/p", "other")
        files = spy()
        with ConsentStore(str(home), "msd", files, Limits()).open_view() as view:
            before = len(files.calls)
            assert len([c for c in files.calls if c[0] == "entries"]) == 2
            for number in range(1000):
                assert view.decisions("/srv/p", f"none-{number}") == NOTHING
            assert len(files.calls) == before
            view.decisions("/srv/p", "demo")
            read = len(files.calls)
            view.decisions("/srv/p", "demo")
            assert len(files.calls) == read

    def test_an_absent_store_costs_two_calls(self, home: Path, spy: Any) -> None:
        files = spy()
        assert not ConsentStore(str(home), "msd", files, Limits()).has_any()
        assert len(files.calls) == 2

    def test_a_closed_view_grants_nothing_and_still_denies(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        store.deny("/srv/p", "other")
        view = store.open_view()
        assert isinstance(view, ConsentView)
        assert view.has_any
        view.close()
        view.close()
        assert view.decisions("/srv/p", "demo") == NOTHING
        assert view.decisions("/srv/p", "other").denied
        assert view.grants_at("/srv/p") == ()
        assert view.read("anything") == ((), ())

    def test_no_descriptor_is_left_open(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        before = set(os.listdir("/dev/fd"))
        store.grant(grant())
        store.deny("/srv/p", "other")
        store.records()
        (home / ".msd/consent/grants").chmod(0o777)
        store.decisions("/srv/p", "demo")
        with pytest.raises(ConsentStoreError):
            store.revoke("/srv/p", "demo")
        assert set(os.listdir("/dev/fd")) == before

    def test_the_grants_of_one_root(self, store: ConsentStore, grant: Granting) -> None:
        for made in (grant(1), grant(2), grant(id="a", gates=("x",)), grant(id="z"), grant(root="/srv/q")):
            store.grant(made)
        found = store.records_for_root("/srv/p")
        assert [(g.id, g.content_hash) for g in found] == [
            ("a", grant(1).content_hash),
            ("demo", grant(1).content_hash),
            ("demo", grant(2).content_hash),
            ("z", grant(1).content_hash),
        ]
        assert found[0].gates == ("x",)
        assert [g.id for g in store.records_for_root("/srv/p", {"demo", "z"})] == ["a"]
        assert store.records_for_root("/elsewhere") == ()

    def test_only_grants_of_that_root_are_read(
        self, store: ConsentStore, home: Path, grant: Granting, spy: Any
    ) -> None:
        for number in range(8):
            store.grant(grant(root=f"/srv/{number}"))
        files = spy()
        other = ConsentStore(str(home), "msd", files, Limits())
        assert len(other.records_for_root("/srv/3")) == 1
        assert len([call for call, _ in files.calls if call == "open_file"]) == 1

    def test_a_forged_mark_makes_no_grant(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        mark = next((home / ".msd/consent/roots").iterdir())
        (mark / key_of("/srv/q", "demo")).write_text("")
        mark.rename(mark.with_name(hashlib.sha256(b"/srv/q").hexdigest()))
        assert store.records_for_root("/srv/q") == ()

    def test_everything_at_once(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant(root="/srv/q"))
        store.grant(grant())
        store.deny("/srv/q", "z")
        store.deny("/srv/p", "z")
        records = store.records()
        assert [g.root for g in records.grants] == ["/srv/p", "/srv/q"]
        assert [d.root for d in records.denials] == ["/srv/p", "/srv/q"]
        assert records.ignored == ()
        assert pickle.loads(pickle.dumps(records)) == records


class TestSweeping:
    def live(self, tmp_path: Path, id: str = "demo") -> str:
        root = tmp_path / "project"
        (root / ".msd/capabilities" / id).mkdir(parents=True)
        return str(root)

    def test_a_gone_bundle_loses_its_grants(self, store: ConsentStore, tmp_path: Path, grant: Granting) -> None:
        root = self.live(tmp_path)
        kept, gone, elsewhere = grant(root=root), grant(root=root, id="gone"), grant(root="/no/such/place")
        for made in (kept, gone, elsewhere):
            store.grant(made)
        assert set(store.gc()) == {gone, elsewhere}
        assert store.records().grants == (kept,)
        assert store.records_for_root(root) == (kept,)

    def test_a_place_that_cannot_be_looked_at_is_not_gone(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        def fail(name: str, what: Any) -> None:
            if name == "stat" and str(what).startswith("/srv/p"):
                raise OSError(errno.EIO, "simulated")

        store.grant(grant())
        assert ConsentStore(str(home), "msd", spy(fail), Limits()).gc() == ()

    def test_denials_outlive_their_bundle_but_not_their_project(self, store: ConsentStore, tmp_path: Path) -> None:
        root = self.live(tmp_path)
        store.deny(root, "gone")
        store.deny("/no/such/place", "demo")
        store.deny("/no/such/home", "demo", scope="global")
        assert [d.root for d in store.gc()] == ["/no/such/place"]
        assert {d.root for d in store.records().denials} == {root, "/no/such/home"}

    def test_the_caller_may_judge(self, store: ConsentStore, grant: Granting) -> None:
        store.grant(grant())
        assert store.gc(gone=lambda root, id: False) == ()
        assert store.gc(gone=lambda root, id: id == "demo") == (grant(),)

    def test_old_leftovers_go_and_young_ones_stay(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        consent = home / ".msd/consent"
        places = [consent / "grants", consent / "denials", folder_of(home, grant())]
        (consent / "denials").mkdir(mode=0o700)
        for place in places:
            for name in (".tmp-old", ".tmp-young", ".aside-old"):
                (place / name).write_text("x")
        (consent / "grants/.gone-old").mkdir()
        (consent / "grants/.gone-old/file").write_text("x")
        for path in [*consent.rglob(".tmp-old"), *consent.rglob(".aside-old"), consent / "grants/.gone-old"]:
            os.utime(path, (1, 1))
        store.gc(gone=lambda root, id: False)
        assert {p.name for p in consent.rglob(".*")} == {".tmp-young", ".aside-old"}
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    def test_marks_that_point_nowhere_go(self, store: ConsentStore, home: Path, grant: Granting) -> None:
        store.grant(grant())
        store.grant(grant(id="other"))
        store.revoke("/srv/p", "other")
        store.grant(grant(root="/srv/q"))
        store.revoke("/srv/q", "demo")
        roots = home / ".msd/consent/roots"
        assert len(list(roots.iterdir())) == 2
        store.gc(gone=lambda root, id: False)
        assert [p.name for p in roots.rglob("*") if p.is_file()] == [key_of("/srv/p", "demo")]
        assert len(list(roots.iterdir())) == 1
        (roots / "a-file").write_text("x")
        (home / ".msd/consent/grants/a-file").write_text("x")
        store.gc(gone=lambda root, id: False)

    def test_a_grant_during_the_sweep_keeps_its_mark(
        self, store: ConsentStore, home: Path, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        store.revoke("/srv/p", "demo")
        done = []

        def meddle(name: str, what: Any) -> None:
            if name == "stat" and str(what).startswith("grants/") and len(done) < 2:
                done.append(what)
                if len(done) == 2:
                    folder_of(home, grant()).mkdir(mode=0o700)

        ConsentStore(str(home), "msd", spy(meddle), Limits()).gc(gone=lambda root, id: False)
        assert (next((home / ".msd/consent/roots").iterdir()) / key_of("/srv/p", "demo")).exists()

    def test_someone_who_withdraws_for_ever_is_an_error_and_no_hang(
        self, store: ConsentStore, home: Path, grant: Granting, spy: Any
    ) -> None:
        def meddle(name: str, what: Any) -> None:
            if name == "stat" and str(what) == f"{key_of('/srv/p', 'demo')}/{file_of(home, grant()).name}":
                file_of(home, grant()).unlink()

        with pytest.raises(ConsentStoreError, match="keeps removing"):
            ConsentStore(str(home), "msd", spy(meddle), Limits()).grant(grant())


class TestMeanwhile:
    """What others do between two of our calls is no error, and never a yes."""

    def at(self, home: Path, spy: Any, call: str, what: str, act: Callable[[], object]) -> ConsentStore:
        """A store before whose first *call* about *what* something happens."""
        done: list[str] = []

        def meddle(name: str, about: Any) -> None:
            if name == call and str(about).endswith(what) and not done:
                done.append(name)
                act()

        return ConsentStore(str(home), "msd", spy(meddle), Limits())

    def fail(self, code: int) -> Callable[[], object]:
        def act() -> object:
            raise OSError(code, "simulated")

        return act

    def test_a_record_goes_between_listing_and_reading(
        self, store: ConsentStore, home: Path, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        path = file_of(home, grant())
        assert self.at(home, spy, "open_file", path.name, path.unlink).decisions("/srv/p", "demo") == NOTHING

    def test_a_denial_goes_between_listing_and_reading(self, store: ConsentStore, home: Path, spy: Any) -> None:
        store.deny("/srv/p", "demo")
        records = self.at(home, spy, "open_file", ".json", denial_of(home).unlink).records()
        assert (records.denials, records.ignored) == ((), ())

    def test_the_denials_go_before_they_are_read(self, store: ConsentStore, home: Path, spy: Any) -> None:
        store.deny("/srv/p", "demo")
        count: list[str] = []

        def meddle(name: str, what: Any) -> None:
            if name == "open_folder" and what == "denials":
                count.append(name)
                if len(count) == 2:
                    denial_of(home).parent.rename(home / "moved")

        assert ConsentStore(str(home), "msd", spy(meddle), Limits()).records().denials == ()

    def test_the_store_opens_up_between_the_look_and_the_write(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        late = self.at(home, spy, "open_folder", "consent", lambda: (home / ".msd/consent").chmod(0o777))
        with pytest.raises(ConsentStoreError, match="changed while it was looked at"):
            late.grant(grant(2))

    def test_the_store_opens_up_and_closes_while_it_is_read(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        consent = home / ".msd/consent"
        consent.chmod(0o777)
        late = self.at(home, spy, "stat", ".msd", lambda: consent.chmod(0o700))
        with late.open_view() as view:
            assert view.problem is not None
            assert "can be written by others" in view.problem
            assert view.decisions("/srv/p", "demo") == NOTHING

    @pytest.mark.parametrize("write", ["revoke", "lift_denial"])
    def test_a_store_that_cannot_be_opened_is_said(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any, write: str
    ) -> None:
        store.grant(grant())
        broken = self.at(home, spy, "open_folder", "consent", self.fail(errno.EIO))
        with pytest.raises(ConsentStoreError, match="EIO"):
            getattr(broken, write)("/srv/p", "demo")

    def test_a_denial_that_cannot_be_looked_for_stops_a_grant(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        broken = self.at(home, spy, "stat", denial_of(home).name, self.fail(errno.EIO))
        with pytest.raises(ConsentStoreError, match="EIO"):
            broken.grant(grant())
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_a_record_that_cannot_be_looked_at_is_not_revoked(
        self, home: Path, store: ConsentStore, grant: Granting, spy: Any
    ) -> None:
        store.grant(grant())
        broken = self.at(home, spy, "stat", file_of(home, grant()).name, self.fail(errno.EIO))
        with pytest.raises(ConsentStoreError, match="EIO"):
            broken.revoke("/srv/p", "demo", grant().content_hash)
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    @pytest.mark.parametrize("code", [errno.EIO, errno.EROFS])
    def test_a_record_that_cannot_be_removed(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch, code: int
    ) -> None:
        store.grant(grant())
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", lambda *args, **kwargs: self.fail(code)())
            with pytest.raises(ConsentStoreError, match=errno.errorcode[code]):
                store.revoke("/srv/p", "demo", grant().content_hash)
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    def test_a_folder_that_cannot_be_synced_is_no_success(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.fsync

        def fsync(fd: int) -> None:
            if stat.S_ISDIR(os.fstat(fd).st_mode):
                raise OSError(errno.EIO, "simulated")
            real(fd)

        store.grant(grant())
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            with pytest.raises(ConsentStoreError, match="EIO"):
                store.grant(grant(2))
        assert store.decisions("/srv/p", "demo").grants in ((grant(),), (grant(2), grant()))

    def test_a_failing_disk_does_not_keep_a_withdrawn_grant(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.grant(grant())
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", lambda *args, **kwargs: self.fail(errno.EIO)())
            assert store.revoke("/srv/p", "demo") == 1
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_grants_that_cannot_be_deleted_are_withdrawn_all_the_same(
        self, store: ConsentStore, home: Path, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        store.grant(grant())
        with monkeypatch.context() as patch:
            patch.setattr(os, "rmdir", lambda *args, **kwargs: self.fail(errno.EBUSY)())
            assert store.revoke("/srv/p", "demo") == 1
        assert store.decisions("/srv/p", "demo") == NOTHING
        assert list((home / ".msd/consent/grants").glob(".gone-*"))
        store.gc(gone=lambda root, id: False, stale_after=-1)
        assert not list((home / ".msd/consent/grants").glob(".gone-*"))

    def test_a_file_in_place_of_the_grants_of_one_id_is_withdrawn_too(
        self, store: ConsentStore, home: Path, grant: Granting
    ) -> None:
        store.grant(grant(id="other"))
        folder_of(home, grant()).write_text("x")
        assert store.revoke("/srv/p", "demo") == 0
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_two_take_back_one_thing(
        self, store: ConsentStore, home: Path, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.unlink

        def twice(*args: Any, **kwargs: Any) -> None:
            real(*args, **kwargs)
            real(*args, **kwargs)

        store.grant(grant())
        with monkeypatch.context() as patch:
            patch.setattr(os, "unlink", twice)
            assert store.revoke("/srv/p", "demo", grant().content_hash) == 1
        assert store.decisions("/srv/p", "demo") == NOTHING

    def test_a_denial_that_is_lifted_while_it_is_swept(self, store: ConsentStore, home: Path, spy: Any) -> None:
        store.deny("/no/such/place", "demo")
        path = denial_of(home, "/no/such/place")
        found = self.at(home, spy, "stat", path.name, path.unlink).gc()
        assert [d.root for d in found] == ["/no/such/place"]
        assert store.records().denials == ()

    def test_a_folder_that_somebody_else_makes_first(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.mkdir

        def twice(*args: Any, **kwargs: Any) -> None:
            real(*args, **kwargs)
            real(*args, **kwargs)

        monkeypatch.setattr(os, "mkdir", twice)
        store.grant(grant())
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

    def test_a_write_in_small_pieces(
        self, store: ConsentStore, grant: Granting, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        real = os.write
        monkeypatch.setattr(os, "write", lambda fd, data: real(fd, bytes(data)[:7]))
        store.grant(grant())
        assert store.decisions("/srv/p", "demo").grants == (grant(),)

"""The content hash: its published vectors, and that no two bundles share one (spec 20, Content hash)."""

from __future__ import annotations

import hashlib
import sys
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from msd_host.digests import sha256_hex, sha512_hex
from msd_host.trust.hashing import (
    Entry,
    bundle_hash,
    from_hex,
    hex_of,
    is_content_hash,
    path_bytes,
)
from msd_host.trust.snapshot import Snapshot

#: A busy machine is no fault of the code.
CALM = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])

EMPTY_FOLDER = "sha512-G3QJzPDVo006d+qr+p/idCdlW+kpcSfulSKqG/QEbU+UWYNngWnLGnNI7crEfvDZ4skkEw5bzF8NlJN4UsQvGw=="
SMALL_BUNDLE = "sha512-wEuRr9yDBoFmysqEo2hGZyh/Bj+Cjhy8+7Z/qKoqYTAYm3JLpEpd8KHea3FqA5mI+rAt6HTkutQ7mQuQH3+MGQ=="

NAMES = some.sampled_from([b"a", b"b", b"a\0b", b"a/b", b"\xff", b"\xfe", b"ab", b"z" * 300])
ENTRIES = some.dictionaries(NAMES, some.tuples(some.none() | some.binary(max_size=6), some.booleans()), max_size=5)


def entries(bundle: dict[bytes, tuple[bytes | None, bool]]) -> list[Entry]:
    return [(name, data, executable and data is not None) for name, (data, executable) in bundle.items()]


def stream(bundle: dict[bytes, tuple[bytes | None, bool]]) -> bytes:
    """The framing of the specification once more, spelled out."""
    out = len(bundle).to_bytes(8, "big")
    for name, data, executable in sorted(entries(bundle), key=lambda entry: entry[0]):
        tag = b"\x02" if data is None else b"\x03" if executable else b"\x01"
        out += tag + len(name).to_bytes(4, "big") + name
        if data is not None:
            out += len(data).to_bytes(8, "big") + data
    return out


def test_vector_of_an_empty_folder(bundle: Callable[..., Path], take: Callable[..., Snapshot]) -> None:
    assert bundle_hash([]) == EMPTY_FOLDER == take(bundle({})).content_hash


def test_vector_of_a_small_bundle(bundle: Callable[..., Path], take: Callable[..., Snapshot]) -> None:
    folder = bundle({"capability.json": "{}", "hooks/a.js": "x", "empty": None})
    assert take(folder).content_hash == SMALL_BUNDLE


@settings(CALM)
@given(ENTRIES)
def test_the_hash_is_that_of_the_framed_stream(one: dict[bytes, tuple[bytes | None, bool]]) -> None:
    expected = "sha512-" + b64encode(hashlib.sha512(stream(one)).digest()).decode()
    assert bundle_hash(entries(one)) == expected


@settings(CALM)
@given(ENTRIES, ENTRIES)
def test_law_of_injectivity(
    one: dict[bytes, tuple[bytes | None, bool]], other: dict[bytes, tuple[bytes | None, bool]]
) -> None:
    same = sorted(entries(one), key=repr) == sorted(entries(other), key=repr)
    assert (bundle_hash(entries(one)) == bundle_hash(entries(other))) is same


@settings(CALM)
@given(ENTRIES, some.randoms())
def test_law_of_order(one: dict[bytes, tuple[bytes | None, bool]], random: object) -> None:
    shuffled = entries(one)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert bundle_hash(shuffled) == bundle_hash(entries(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": b"x\0b\0data"}, {"a": b"x", "b": b"data"}),
        ({"a": b"\xff"}, {"a": b"\xfe"}),
        ({"a": b""}, {"a": b"", "empty": None}),
        ({"a": None}, {"a": b""}),
        ({"a/b": b""}, {"a": None, "b": b""}),
        ({"a": b"x"}, {"a*": b"x"}),
    ],
    ids=["boundaries", "invalid utf-8", "empty folder", "kind", "nesting", "execute bit"],
)
def test_case_4_different_bundles_differ(
    bundle: Callable[..., Path], take: Callable[..., Snapshot], one: dict[str, bytes], other: dict[str, bytes]
) -> None:
    assert take(bundle(one, "one")).content_hash != take(bundle(other, "other")).content_hash


def test_case_4_names_that_differ_in_invalid_bytes_differ(
    bundle: Callable[..., Path], take: Callable[..., Snapshot]
) -> None:
    try:
        one, other = bundle({"\udcff": b""}, "one"), bundle({"\udcfe": b""}, "other")
    except OSError:
        pytest.skip("this file system refuses names that are not UTF-8")
    assert take(one).content_hash != take(other).content_hash
    assert list(take(one).files) == ["\udcff"]


def test_case_4_creation_order_does_not_matter(bundle: Callable[..., Path], take: Callable[..., Snapshot]) -> None:
    names = ["b", "a/x", "a-x", "a/b/c", "Z", "é"]
    one = bundle(dict.fromkeys(names, b"x"), "one")
    other = bundle(dict.fromkeys(reversed(names), b"x"), "other")
    assert take(one).content_hash == take(other).content_hash


@pytest.mark.parametrize("bit", [0o100, 0o010, 0o001])
def test_any_execute_bit_counts_and_no_other(
    bundle: Callable[..., Path], take: Callable[..., Snapshot], bit: int
) -> None:
    folder = bundle({"a": b"x"})
    (folder / "a").chmod(0o600)
    plain = take(folder)
    (folder / "a").chmod(0o600 | bit)
    executable = take(folder)
    (folder / "a").chmod(0o644)
    assert take(folder).content_hash == plain.content_hash != executable.content_hash
    assert executable.files["a"].executable
    assert not plain.files["a"].executable


@settings(CALM)
@given(some.binary(min_size=64, max_size=64))
def test_the_file_name_of_a_hash_goes_both_ways(digest: bytes) -> None:
    content_hash = "sha512-" + b64encode(digest).decode()
    assert is_content_hash(content_hash)
    assert hex_of(content_hash) == digest.hex()
    assert from_hex(digest.hex()) == content_hash


@pytest.mark.parametrize(
    "text",
    [
        "",
        "sha512-",
        None,
        5,
        EMPTY_FOLDER.upper(),
        EMPTY_FOLDER[:-1],
        EMPTY_FOLDER + "=",
        EMPTY_FOLDER + "\n",
        " " + EMPTY_FOLDER,
        EMPTY_FOLDER.replace("sha512", "sha256"),
        "sha512-" + b64encode(b"x" * 63).decode(),
        EMPTY_FOLDER.replace("Gw==", "Gx=="),  # the same bytes, other padding bits
        "sha512-é",
    ],
)
def test_case_4_nothing_else_is_a_content_hash(text: object) -> None:
    assert not is_content_hash(text)


@pytest.mark.parametrize("text", ["", "ab", "z" * 128, "A" * 128, "0" * 127, "0" * 130, " " + "0" * 128])
def test_nothing_else_names_a_content_hash(text: str) -> None:
    with pytest.raises(ValueError):
        from_hex(text)


def test_nothing_but_a_content_hash_has_a_name() -> None:
    with pytest.raises(ValueError, match="not a content hash"):
        hex_of("sha512-")


@pytest.mark.parametrize("loaded", [True, False])
def test_every_implementation_agrees(loaded: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not loaded:
        monkeypatch.delitem(sys.modules, "hashlib")
    assert sha512_hex(b"abc") == hashlib.sha512(b"abc").hexdigest()
    assert sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()
    assert bundle_hash([]) == EMPTY_FOLDER


def test_an_interpreter_without_its_own_digests_uses_openssl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "hashlib")
    for name in ("_sha2", "_sha256", "_sha512"):
        monkeypatch.setitem(sys.modules, name, None)
    assert sha256_hex(b"abc") == hashlib.sha256(b"abc").hexdigest()


@pytest.mark.parametrize("path", ["a", "é", chr(0xDCFF), chr(0xD800), "a\0b"])
def test_every_text_has_path_bytes(path: str) -> None:
    assert isinstance(path_bytes(path), bytes)

"""Strict JSON: what is read, what is refused, and where the fault is said to be."""

from __future__ import annotations

import inspect
import json
import math
import pickle
import sys
from typing import Any

import pytest
from attrs import evolve
from hypothesis import example, given, settings
from hypothesis import strategies as st

from msd_host.limits import Limits
from msd_host.model.frozen import FrozenDict, freeze
from msd_host.reading.jsontext import JsonFault, decode
from msd_host.reading.positions import Scanner, locate, place, shown
from tests.strategies import encode, json_values, manifests, paths_in, value_at

LIMITS = Limits()
relaxed = settings(deadline=None, max_examples=150)


def faults(data: bytes, limits: Limits = LIMITS) -> list[tuple[str, str, int, int]]:
    with pytest.raises(JsonFault) as caught:
        decode(data, limits)
    return [(fault.message, fault.path, fault.line, fault.column) for fault in caught.value.faults]


@relaxed
@given(json_values, st.sampled_from([None, 2]), st.booleans(), st.booleans())
def test_any_json_value_is_read_as_its_frozen_twin(
    value: Any, indent: int | None, ascii_only: bool, mark: bool
) -> None:
    data = encode(value, indent=indent, ascii_only=ascii_only)
    read = decode(b"\xef\xbb\xbf" + data if mark else data, LIMITS)
    assert read == freeze(value)
    assert all(type(part) is not list and type(part) is not dict for part in _parts(read))


def _parts(value: Any) -> list[Any]:
    inner = list(value.values()) if isinstance(value, dict) else list(value) if isinstance(value, tuple) else []
    return [value, *(part for item in inner for part in _parts(item))]


_PIECES = st.sampled_from(
    [
        "{",
        "}",
        "[",
        "]",
        '"a"',
        '"b"',
        ":",
        ",",
        "1",
        "-0.5e3",
        "1e999",
        "NaN",
        "true",
        "null",
        " ",
        "\n",
        '"\\ud800"',
    ]
    + [
        '"\\u0000"',
        "9223372036854775808",
        '"',
        "\\",
        "é",
        "\x00",
        "01",
        "Infinity",
        '{"a":1}',
        "[[]]",
        '"\\\\"',
        "x",
    ]
)


def _strictly(text: str) -> bool:
    """Whether the interpreter's own parser, told to be strict, takes *text*."""

    def pairs(found: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(found)) < len(found):
            raise ValueError
        return dict(found)

    def never(_: str) -> None:
        raise ValueError

    try:
        value = json.loads(text, object_pairs_hook=pairs, parse_constant=never)
    except ValueError:
        return False
    return all(_is_sound(value_at(value, path)) for path in paths_in(value))


def _is_sound(value: Any) -> bool:
    words = [value] if isinstance(value, str) else list(value) if isinstance(value, dict) else []
    if any("\0" in word or any("\ud800" <= c <= "\udfff" for c in word) for word in words):
        return False
    if isinstance(value, float):
        return math.isfinite(value)
    return not isinstance(value, int) or -(2**63) <= value < 2**63


@settings(deadline=None, max_examples=400)
@given(st.lists(_PIECES, max_size=14).map("".join))
@example('{"a":1,"a":2}')
@example("")
def test_what_is_read_is_exactly_strict_json(text: str) -> None:
    data = text.encode()
    try:
        decode(data, LIMITS)
    except JsonFault as fault:
        assert not _strictly(text)
        lines = text.split("\n")
        for one in fault.faults:
            assert 1 <= one.line <= len(lines) and 1 <= one.column <= len(lines[one.line - 1]) + 1
    else:
        assert _strictly(text)


@relaxed
@given(st.binary(max_size=60))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    try:
        decode(data, LIMITS)
    except JsonFault as fault:
        assert fault.faults and fault.message and fault.line >= 1 and fault.column >= 1


REFUSED: list[tuple[bytes, tuple[str, str, int, int]]] = [
    (b"", ("the text is empty", "$", 1, 1)),
    (b" \n ", ("the text is empty", "$", 2, 2)),
    (b"\xef\xbb\xbf", ("the text is empty", "$", 1, 1)),
    (b"\xef\xbb\xbf\xef\xbb\xbf{}", ("a value is missing here", "$", 1, 1)),
    (b'{"a": "\xc3\xa9\n\xff"}', ("the text is not UTF-8", "$", 2, 1)),
    (b'["\xed\xa0\x80"]', ("the text is not UTF-8", "$", 1, 3)),
    ("{}".encode("utf-16"), ("the text is not UTF-8", "$", 1, 1)),
    (b"{} x", ("there is more text after the end of the value", "$", 1, 4)),
    (b"[1, 01]", ('a "," or "]" is missing here', "$", 1, 6)),
    (b'{"a" 1}', ('a ":" is missing here', "$", 1, 6)),
    (b"{a: 1}", ("a key in double quotes is missing here", "$", 1, 2)),
    (b'{"a": 1,}', ('a "," stands before "}"', "$", 1, 9)),
    (b"[1,]", ('a "," stands before "]"', "$", 1, 4)),
    (b'{"a": [1, ', ("the text ends too early", "$.a", 1, 11)),
    (b'["abc', ("a string is not closed", "$", 1, 2)),
    (b'["a\nb"]', ("a control character stands in a string as it is", "$", 1, 4)),
    (b'["\x00"]', ("a control character stands in a string as it is", "$", 1, 3)),
    (b'["\\x41"]', ("an escape in a string is not one of JSON's", "$", 1, 3)),
    (b'["\\u12g4"]', ("an escape in a string is not one of JSON's", "$", 1, 4)),
    (b'{"a": 1, "b": {"a": 1}, "a": 2}', ('the key "a" is there twice', "$.a", 1, 25)),
    (b'[{"x y": 1,\n "x y": 2}]', ('the key "x y" is there twice', '$[0]["x y"]', 2, 2)),
    (b"[NaN]", ("NaN is not JSON", "$[0]", 1, 2)),
    (b"-Infinity", ("-Infinity is not JSON", "$", 1, 1)),
    (b'{"a": 1e400}', ("a number is too large", "$.a", 1, 7)),
    (b"[9223372036854775808]", ("an integer does not fit 64 bits", "$[0]", 1, 2)),
    (b"[-9223372036854775809]", ("an integer does not fit 64 bits", "$[0]", 1, 2)),
    (b"1" * 100_000, ("an integer does not fit 64 bits", "$", 1, 1)),
    (b'["a", "\\ud800"]', ("a string holds one half of a surrogate pair", "$[1]", 1, 7)),
    (b'{"\\uDFFFx": 1}', ("a string holds one half of a surrogate pair", '$["x"]', 1, 2)),
    (b'{"a": "\\u0000"}', ("a string holds the character NUL", "$.a", 1, 7)),
    (b"\x1b[31m{}", ("a value is missing here", "$", 1, 1)),
]


@pytest.mark.parametrize(("data", "expected"), REFUSED, ids=[repr(data[:16]) for data, _ in REFUSED])
def test_what_json_does_not_allow_is_refused_with_its_place(data: bytes, expected: tuple[str, str, int, int]) -> None:
    assert faults(data) == [expected]


@pytest.mark.parametrize(
    "text",
    [
        "[9223372036854775807, -9223372036854775808]",
        '"\\ud83d\\ude00"',
        '"\\\\ud800 \\\\u0000"',
        "-0",
        "1.5e-7",
        "[]",
    ],
)
def test_what_json_allows_at_its_edges_is_read(text: str) -> None:
    assert decode(text.encode(), LIMITS) == freeze(json.loads(text))


def test_every_fault_of_one_text_is_told() -> None:
    text = b'{"a": 1, "a": NaN,\n "b": [1e999, "\\u0000"], "b": 99999999999999999999,\n "c": }'
    assert [(message, path, line) for message, path, line, _ in faults(text)] == [
        ('the key "a" is there twice', "$.a", 1),
        ("NaN is not JSON", "$.a", 1),
        ("a number is too large", "$.b[0]", 2),
        ("a string holds the character NUL", "$.b[1]", 2),
        ('the key "b" is there twice', "$.b", 2),
        ("an integer does not fit 64 bits", "$.b", 2),
        ("a value is missing here", "$", 3),
    ]


def test_no_more_than_a_hundred_faults_are_kept() -> None:
    assert len(faults(b"[" + b"NaN," * 5000 + b"1]")) == 100


def test_a_fault_far_into_a_long_text_is_still_a_fault() -> None:
    assert faults(b"[" + b"1," * 60_000 + b"NaN]") == [("NaN is not JSON", "$", 1, 1)]
    assert faults(b"[" + b"1," * 60_000 + b"]")[0][:2] == ("the text is not JSON here", "$")


@pytest.mark.parametrize("opening", ["[", '{"a":', '[{"a":'])
def test_nesting_is_bounded(opening: str) -> None:
    levels = opening.count("[") + opening.count("{")
    closing = opening.replace('"a":', "").translate(str.maketrans("[{", "]}"))[::-1]
    fits = LIMITS.json_depth // levels
    decode((opening * fits + "1" + closing * fits).encode(), LIMITS)
    for times in (fits + 1, 5000):
        (fault,) = faults((opening * times + "1" + closing * times).encode())
        assert fault[0] == "nested more than 64 levels deep"
        assert fault[2:] == (1, len(opening) * fits + 1)


@pytest.mark.parametrize("data", [b"[" * 900_000, b'{"a":' * 200_000, b"]" * 900_000, b"[]" * 400_000])
def test_brackets_without_end_are_refused_at_once(data: bytes) -> None:
    assert faults(data)


def test_brackets_inside_strings_nest_nothing() -> None:
    words = ["[" * 100, '"]' * 50, "\\[" * 100, '\\"{' * 90, "\\"]
    assert decode(encode([words]), LIMITS) == (tuple(words),)
    hiding = ('["]",' * 70) + "1" + "]" * 70  # closing brackets in strings do not hide the nesting
    assert faults(hiding.encode())[0][0] == "nested more than 64 levels deep"


def test_strings_are_bounded_and_so_are_keys() -> None:
    limit = LIMITS.string_chars
    assert decode(encode(["é" * limit]), LIMITS) == ("é" * limit,)
    assert faults(encode({"a": ["x" * (limit + 1)]})) == [
        (f"a string has {limit + 1} characters; the limit is {limit}", "$.a[0]", 1, 8)
    ]
    assert faults(encode({"k" * (limit + 1): 1}))[0][0].startswith("a string has")


def test_an_embedder_may_tighten_the_limits() -> None:
    tight = evolve(LIMITS, json_depth=2, string_chars=3)
    assert decode(b'[["abc"]]', tight) == (("abc",),)
    assert faults(b'[[["a"]]]', tight)[0][0] == "nested more than 2 levels deep"
    assert faults(b'["abcd"]', tight)[0][0] == "a string has 4 characters; the limit is 3"


def test_a_nearly_full_stack_is_a_fault_and_no_traceback() -> None:
    def dive(levels: int) -> object:
        if levels:
            return dive(levels - 1)
        try:
            return decode(b"[" * 60 + b"]" * 60, LIMITS)
        except JsonFault as fault:
            return fault

    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(len(inspect.stack(0)) + 100)
        results = [dive(levels) for levels in range(0, 85, 5)]
    finally:
        sys.setrecursionlimit(before)
    assert all(isinstance(result, (tuple, JsonFault)) for result in results)


def test_a_fault_says_itself_and_travels_between_processes() -> None:
    with pytest.raises(JsonFault) as caught:
        decode(b'{"a": 1, "a": 2}', LIMITS)
    fault = caught.value
    assert str(fault) == 'the key "a" is there twice (line 1, column 10)'
    again = pickle.loads(pickle.dumps(fault))
    assert (again.faults, str(again)) == (fault.faults, str(fault))


def test_the_values_cannot_be_changed() -> None:
    value = decode(b'{"a": {"b": [1]}}', LIMITS)
    assert isinstance(value, FrozenDict)
    with pytest.raises(TypeError):
        value["a"] = 1
    with pytest.raises(TypeError):
        value["a"]["b"] = 1


@settings(deadline=None, max_examples=40)
@given(manifests(), st.sampled_from([None, 0, 3]), st.booleans())
def test_every_value_is_found_where_it_stands(manifest: Any, indent: int | None, ascii_only: bool) -> None:
    text = encode(manifest, indent=indent, ascii_only=ascii_only).decode()
    starts = [0, *(i + 1 for i, char in enumerate(text) if char == "\n")]
    for path, (line, column) in locate(text, paths_in(manifest)).items():
        found, _ = json.JSONDecoder().raw_decode(text, starts[line - 1] + column - 1)
        assert found == value_at(manifest, path)


def test_what_is_not_there_is_placed_at_what_should_hold_it() -> None:
    text = '{"a": [1,\r\n  {"b": 2}]}'
    asked: list[tuple[str | int, ...]] = [("a", 1, "c"), ("a", 7), ("z", "y"), ("a", 1, "b", "deep")]
    assert locate(text, asked) == {asked[0]: (2, 3), asked[1]: (1, 7), asked[2]: (1, 1), asked[3]: (2, 9)}


def test_places_beyond_what_is_looked_at_are_left_out() -> None:
    text = "[" + "1," * 60_000 + "{}]"
    assert locate(text, [(3,), (60_000, "a")]) == {(3,): (1, 8)}


def test_paths_are_shown_without_what_a_terminal_would_obey() -> None:
    assert shown(()) == "$"
    assert shown(("steps", 0, "on-error")) == "$.steps[0].on-error"
    assert shown(("a.b", "\x1b[31m\u202e", 'q"')) == """$["a.b"]["[31m"]["q'"]"""
    assert len(shown(("k" * 64,) * 40)) == 200


@relaxed
@given(json_values)
def test_the_scanner_sees_what_the_parser_sees(value: Any) -> None:
    scanner = Scanner(encode(value).decode())
    seen = [mark.path for mark in scanner if mark.kind not in ("key", "repeated")]
    assert scanner.stop is None
    assert seen == list(paths_in(value))


def test_places_count_from_one() -> None:
    assert [place("ab\ncd", n) for n in (0, 1, 3, 5)] == [(1, 1), (1, 2), (2, 1), (2, 3)]

"""The manifest codec: the reference's section 9 row by row, then what holds for every document."""

from __future__ import annotations

import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from msd_host.limits import Limits
from msd_host.model.codes import SkipCode
from msd_host.model.frozen import freeze
from msd_host.reading.codec import Codec, Decoded, Grammar, salvage_points
from msd_host.text import clean
from tests.manifest_rows import BASES, CAPABILITY_PROBE, FEATURE, ROWS, SPAWN, changed
from tests.shared import REFERENCE, needs_shared
from tests.strategies import POINTS, encode, json_values, manifests, mutated, paths_in, replaced, value_at

CODEC = Codec(Grammar(frozenset(POINTS), "msd-", "msd"), Limits())
INVALID = SkipCode.MANIFEST_INVALID


def decode(value: Any, folder: str | None = "acme", codec: Codec = CODEC) -> Decoded:
    return codec.decode(encode(value), folder)


def paths(decoded: Decoded) -> list[str]:
    assert (decoded.capability is None) == bool(decoded.faults)
    return sorted({fault.path for fault in decoded.faults})


def messages(decoded: Decoded) -> str:
    return " / ".join(fault.message for fault in decoded.faults)


@pytest.mark.parametrize(("base", "changes", "expected"), ROWS)
def test_reference_row(base: str, changes: dict[str, Any], expected: list[str]) -> None:
    decoded = decode(changed(base, changes))
    assert paths(decoded) == expected, decoded.faults
    assert all(fault.code is INVALID for fault in decoded.faults)
    assert decoded.raw == freeze(changed(base, changes))


@pytest.mark.parametrize("base", BASES)
def test_the_whole_manifests_are_valid(base: str) -> None:
    decoded = decode(BASES[base])
    assert (decoded.faults, decoded.diagnostics) == ((), ())
    assert decoded.capability is not None and decoded.capability.raw == freeze(BASES[base])


@pytest.mark.parametrize("text", ["null", "[]", "5", "true", '"x"'])
def test_v1_a_manifest_is_an_object(text: str) -> None:
    (fault,) = CODEC.decode(text.encode(), "acme").faults
    assert (fault.code, fault.path, fault.line, fault.column) == (INVALID, "$", 1, 1)
    assert fault.message.startswith("must be an object, not ")


@pytest.mark.parametrize("id", ["a-", "a--b", "a" * 64, "a"])
def test_v3_odd_ids_that_fit_the_grammar(id: str) -> None:
    assert not decode({**FEATURE, "id": id}, id).faults


def test_v4_an_id_that_is_not_the_folders_has_a_code_of_its_own() -> None:
    (fault,) = decode(FEATURE, "other").faults
    assert (fault.code, fault.path) == (SkipCode.ID_MISMATCH, "$.id")
    assert '"acme"' in fault.message and '"other"' in fault.message
    assert not decode(FEATURE, None).faults
    codes = [fault.code for fault in decode(changed("feature", {"tier": 5}), "other").faults]
    assert codes == [SkipCode.ID_MISMATCH, INVALID]
    assert [f.code for f in decode(changed("feature", {"id": "Foo"}), "other").faults] == [INVALID]


def test_v5_an_unknown_role_is_told_what_roles_there_are() -> None:
    decoded = decode(changed("feature", {"role": "wat"}))
    assert messages(decoded) == 'must be "feature", "runtime" or "reviewer", not "wat"'
    assert decoded.diagnostics == ()


def test_v20_an_unknown_field_is_kept_and_noted() -> None:
    decoded = decode({**FEATURE, "newer": {"x": 1}, "author": 5})
    assert decoded.capability is not None and decoded.capability.raw["newer"] == {"x": 1}
    (note,) = decoded.diagnostics
    assert (note.id, note.code, note.path) == ("acme", "unknown-field", "$.newer")


def test_v22_line_ends_do_not_matter() -> None:
    text = json.dumps(FEATURE, indent=2)
    crlf = CODEC.decode(text.replace("\n", "\r\n").encode(), "acme")
    assert crlf == CODEC.decode(text.encode(), "acme") and crlf.capability is not None


@pytest.mark.parametrize("data", [b"", b" ", b"{", b'{"id": "acme", "id": "acme"}', b"\xff", b"[NaN]"])
def test_v23_a_text_that_is_no_json_is_a_fault(data: bytes) -> None:
    decoded = CODEC.decode(data, "acme")
    assert (decoded.capability, decoded.raw) == (None, None)
    assert [fault.code for fault in decoded.faults] == [INVALID]
    assert all(fault.details == {"json": True} and fault.line == 1 for fault in decoded.faults)


RESERVED = ["con", "prn", "aux", "nul", "com0", "com9", "lpt1", "constructor", "prototype"]


@pytest.mark.parametrize("name", RESERVED)
def test_reserved_names_are_nobodys(name: str) -> None:
    (fault,) = decode({**FEATURE, "id": name}, name).faults
    assert (fault.code, fault.path) == (SkipCode.RESERVED_ID, "$.id")
    for word in (name, name.upper(), f"{name}.txt"):
        assert paths(decode(changed("feature", {"skills": ["acme-plan", word]}))) == ["$.skills[1]"]
        assert paths(decode(changed("feature", {"agents": [word, "acme-agent"]}))) == ["$.agents[0]"]
    assert paths(decode(changed("feature", {"commands[0].module": f"{name}.py"}))) == ["$.commands[0].module"]
    family = decode(changed("feature", {"commands[0].family": name, "steps[2].ref.command": f"{name} x"}))
    assert paths(family) == ["$.commands[0].family"]
    nearly = f"{name}x"
    assert not decode(changed("feature", {"id": nearly, "skills": ["acme-plan", nearly]}), nearly).faults


@pytest.mark.parametrize(("path", "word"), [("skills", "a"), ("agents", "A.b_c-9")])
def test_stems_are_64_characters_at_most(path: str, word: str) -> None:
    own = FEATURE[path]
    fits = word + "x" * (64 - len(word))
    assert not decode(changed("feature", {path: [*own, fits]})).faults
    assert paths(decode(changed("feature", {path: [*own, fits + "x"]}))) == [f"$.{path}[{len(own)}]"]


def test_a_config_key_has_eight_segments_at_most() -> None:
    for key in ("a", "a.b.c.d.e.f.g.h", "a_b-9.c"):
        config = {**FEATURE["config"], key: FEATURE["config"]["on"]}
        assert not decode(changed("feature", {"config": config})).faults


def test_f38_gate_points_are_salvaged_from_a_manifest_that_is_refused() -> None:
    decoded = decode(changed("feature", {"gates": [{"point": "execute:wave:post"}]}))
    assert decoded.capability is None
    assert salvage_points(decoded.raw, POINTS) == ("execute:wave:post",)


def test_salvage_is_in_the_loops_order_and_names_each_point_once() -> None:
    gates = [{"point": p} for p in ("ship:pre", "nowhere", "plan:pre", "ship:pre")]
    raw: dict[str, Any] = {"gates": [*gates, None, "x", [], {"point": 5}, {"point": ["plan:post"]}, {}]}
    assert salvage_points(raw, POINTS) == salvage_points(freeze(raw), POINTS) == ("plan:pre", "ship:pre")


@given(json_values, json_values)
def test_salvage_takes_any_json_value(whole: Any, gates: Any) -> None:
    for value in (whole, {"gates": whole}, {"gates": [{"point": whole}]}, {"gates": gates}):
        assert set(salvage_points(freeze(value), POINTS)) <= set(POINTS)


def test_l5_an_unknown_field_of_a_lane_is_noted_with_the_known_ones() -> None:
    decoded = decode({**BASES["reviewer"], "reviewer": {**SPAWN, "timeoutfloorms": 5}})
    assert decoded.capability is not None
    (note,) = decoded.diagnostics
    assert note.path == "$.reviewer.timeoutfloorms"
    assert 'did you mean "timeoutFloorMs"?' in note.message and "reviewsSection" in note.message


def test_l6_the_fault_of_a_probe_names_what_is_known() -> None:
    decoded = decode(changed("reviewer", {"reviewer.probe": {**CAPABILITY_PROBE, "x": 1}}))
    assert "kind, binary, needle, timeoutMs" in messages(decoded)


UNKNOWN_AT = [
    ("feature", "runtimeCompat.x"),
    ("feature", "config.on.x"),
    ("feature", "steps[1].x"),
    ("feature", "steps[0].ref.x"),
    ("feature", "steps[0].fragment.x"),
    ("feature", "contributions[0].x"),
    ("feature", "gates[2].x"),
    ("feature", "gates[0].check.x"),
    ("feature", "commands[0].x"),
    ("feature", "hooks[0].x"),
    ("feature", "mcpServers.tool.x"),
    ("feature", "mcpServers.far.x"),
    ("feature", "provenance.x"),
    ("runtime", "runtime.x"),
    ("runtime", "runtime.configHome.skillsHome.x"),
    ("runtime", "runtime.artifactLayout.local[0].x"),
    ("runtime", "runtime.hostIntegration.dispatch.x"),
    ("runtime", "reviewer.x"),
    ("http", "reviewer.invoke.x"),
]


@pytest.mark.parametrize(("base", "path"), UNKNOWN_AT)
def test_an_unknown_field_is_accepted_kept_and_noted_at_any_depth(base: str, path: str) -> None:
    value = changed(base, {path: {"deep": [1]}})
    decoded = decode(value)
    assert decoded.capability is not None and decoded.capability.raw == freeze(value)
    assert [(note.code, note.path) for note in decoded.diagnostics] == [("unknown-field", f"$.{path}")]


def test_an_unknown_converter_is_accepted_and_noted() -> None:
    path = "runtime.artifactLayout.local[0].converter"
    decoded = decode(changed("runtime", {path: "convertToSomethingNew"}))
    assert decoded.capability is not None
    assert [(n.id, n.code, n.path) for n in decoded.diagnostics] == [("acme", "unknown-converter", f"$.{path}")]
    assert '"convertToSomethingNew"' in decoded.diagnostics[0].message


def test_notes_of_one_thread_never_reach_another() -> None:
    codec = Codec(CODEC.grammar, CODEC.limits)

    def notes(number: int) -> list[str]:
        return [note.path for note in decode({**FEATURE, f"x{number}": 1}, "acme", codec).diagnostics]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(notes, range(200))) == [[f"$.x{number}"] for number in range(200)]


def test_every_fault_is_found_at_once_each_with_its_place() -> None:
    text = """{
  "id": "acme", "role": "feature", "version": "1.2", "title": "T",
  "description": "D", "tier": "full", "requires": [],
  "runtimeCompat": {"supported": ["*"], "unsupported": []},
  "skills": ["a"], "agents": [], "config": {},
  "steps": [
    {"point": "plan:prx", "ref": {"skill": "b"},
     "produces": [], "consumes": "x"}
  ],
  "contributions": [],
  "gates": [{"point": "plan:pre", "check": {"agentVerdict": "v"}, "blocking": true, "onError": "skip"}]
}"""
    found = [(f.path, f.line, f.column) for f in CODEC.decode(text.encode(), "acme").faults]
    assert found == [
        ("$.version", 2, 47),
        ("$.steps[0].point", 7, 15),
        ("$.steps[0].consumes", 8, 34),
        ("$.steps[0].onError", 7, 5),
        ("$.gates[0].blocking", 11, 79),
        ("$.steps[0].ref.skill", 7, 44),
    ]
    assert 'did you mean "plan:pre"?' in messages(CODEC.decode(text.encode(), "acme"))


def test_a_byte_order_mark_moves_no_column() -> None:
    plain = CODEC.decode(b'{"id": 5}', "acme").faults
    assert CODEC.decode(b"\xef\xbb\xbf" + b'{"id": 5}', "acme").faults == plain
    assert (plain[0].path, plain[0].line, plain[0].column) == ("$.id", 1, 8)


def test_what_came_from_outside_is_cleaned_and_cut_in_messages() -> None:
    evil = "\x1b[31m`\u202e\u200b\u2028" + "x" * 5000
    for changes in ({"tier": evil}, {"id": evil}, {"steps[0].ref.skill": evil}, {"steps[0].point": evil}):
        (fault,) = decode(changed("feature", changes)).faults
        assert fault.message == clean(fault.message) and len(fault.message) <= 300
    (note,) = decode({**FEATURE, evil: 1}).diagnostics
    assert (note.path, note.message) == (clean(note.path), clean(note.message))


def test_a_bad_key_does_not_hide_a_bad_value() -> None:
    faults = decode(changed("feature", {"config": {**FEATURE["config"], "Bad": 5}})).faults
    assert [fault.path for fault in faults] == ["$.config.Bad", "$.config.Bad"]
    assert "must be a config key" in faults[0].message
    assert faults[1].message == "must be an object, not a number"


def test_a_hundred_faults_of_one_document_are_kept() -> None:
    step = {"point": "x"}
    assert len(decode(changed("feature", {"steps": [step] * 400})).faults) == 100
    assert len(decode(changed("feature", {"requires": [5] * 400, "skills": [5] * 400})).faults) == 100
    assert len(decode({**FEATURE, **{f"x{i}": 1 for i in range(400)}}).diagnostics) == 100


def test_long_lists_are_looked_at_in_time_proportional_to_them() -> None:
    names = [f"s{i}" for i in range(40_000)]
    step = {**FEATURE["steps"][0], "ref": {"skill": "nobody"}}
    decoded = decode(changed("feature", {"skills": names, "steps": [step] * 2000}))
    assert len(decoded.faults) == 100


# What a value is replaced with to be of another JSON type. A number for text, a string for a number, and so on.
OTHER_TYPES: dict[type, list[Any]] = {
    str: [7, True, [], {}],
    bool: [0, 1, "true", "false", []],
    int: ["5", True, [], {}],
    list: ["abc", {}, {"0": "a"}, 5, True],
    dict: [[], "x", 5, False],
}
TYPED = [
    (base, path)
    for base in BASES
    for path in paths_in(BASES[base])
    if value_at(BASES[base], path) is not None and path[-2:] != ("predicate", "command")
    if path[-1:] not in (("defaultHost",), ("fallbackModel",))
]


@pytest.mark.parametrize(("base", "path"), TYPED, ids=[f"{b}-{'.'.join(map(str, p))}" for b, p in TYPED])
def test_nothing_is_ever_taken_for_another_type(base: str, path: tuple[str | int, ...]) -> None:
    value = value_at(BASES[base], path)
    for other in OTHER_TYPES[type(value)]:
        assert decode(replaced(BASES[base], path, other)).faults, other


SAMPLES: list[Any] = [None, True, -1, 1.5, "", "msd-x", [], {}, [None], [{}], {"a": 1}]


@pytest.mark.parametrize("base", BASES)
def test_every_json_value_in_every_position_is_decoded_or_refused(base: str) -> None:
    for path in paths_in(BASES[base]):
        for sample in SAMPLES:
            _assert_sound(replaced(BASES[base], path, sample))


def _assert_sound(value: Any) -> None:
    data = encode(value)
    decoded = CODEC.decode(data, "acme")
    assert decoded.raw == freeze(value)
    if decoded.capability is not None:
        assert not decoded.faults and decoded.capability.raw == freeze(value)
    else:
        assert decoded.faults
    for fault in decoded.faults:
        assert fault.message and len(fault.message) <= 300 and fault.message == clean(fault.message)
        assert fault.path.startswith("$") and fault.line == 1 and 1 <= (fault.column or 0) <= len(data)


@settings(deadline=None, max_examples=80)
@given(st.binary(max_size=80), st.none() | st.text(max_size=5))
def test_any_bytes_are_decoded_or_refused(data: bytes, folder: str | None) -> None:
    decoded = CODEC.decode(data, folder)
    assert decoded.faults and decoded.capability is None


@settings(deadline=None, max_examples=80)
@given(json_values)
def test_any_json_is_decoded_or_refused(value: Any) -> None:
    _assert_sound(value)
    for role in ("feature", "runtime", "reviewer"):
        _assert_sound({"role": role, "id": "acme", role: value, "steps": [value], "config": {"k": value}})


@settings(deadline=None, max_examples=80)
@given(mutated())
def test_any_mutated_manifest_is_decoded_or_refused(value: Any) -> None:
    _assert_sound(value)
    assert CODEC.decode(encode(value), "acme") == CODEC.decode(encode(value), "acme")


@settings(deadline=None, max_examples=60)
@given(manifests(), st.sampled_from([None, 1]), st.booleans())
def test_a_valid_manifest_comes_through_as_it_is(value: Any, indent: int | None, ascii_only: bool) -> None:
    decoded = CODEC.decode(encode(value, indent=indent, ascii_only=ascii_only), value["id"])
    assert (decoded.faults, decoded.diagnostics) == ((), ())
    assert decoded.capability is not None and decoded.capability.raw == decoded.raw == freeze(value)
    assert list(decoded.capability.raw) == list(value)


def test_the_grammar_names_points_prefix_and_product() -> None:
    other = Codec(Grammar(frozenset(["start", "end"]), "acme-", "acme"), Limits())
    hook = {"point": "start", "check": {"query": "q"}, "blocking": False, "onError": "skip"}
    value = {**FEATURE, "skills": ["x-plan"], "contributions": [], "steps": [], "gates": [hook]}
    assert not decode({**value, "engines": {"msd": 5, "acme": "*"}}, "acme", other).faults
    assert paths(decode({**value, "engines": {"acme": 5}}, "acme", other)) == ["$.engines.acme"]
    step = {**FEATURE["steps"][0], "point": "end", "ref": {"skill": "acme-plan"}}
    assert paths(decode({**value, "skills": ["acme-plan"], "steps": [step]}, "acme", other)) == ["$.steps[0].ref.skill"]
    assert paths(decode({**value, "gates": [{**hook, "point": "plan:pre"}]}, "acme", other)) == ["$.gates[0].point"]


def test_a_nearly_full_stack_is_a_fault_and_no_traceback() -> None:
    deep: Any = {"kind": "none", "env": []}
    for _ in range(50):
        deep = {"kind": "dot-home", "name": "x", "env": [], "skillsHome": deep}
    value = changed("runtime", {"runtime.configHome": deep})
    assert decode(value).faults == ()
    before = sys.getrecursionlimit()
    try:
        sys.setrecursionlimit(150)
        decoded = decode(value)
    finally:
        sys.setrecursionlimit(before)
    assert decoded.capability is None and len(decoded.faults) == 1


IMPORTS = """
import sys
from msd_host.limits import Limits
from msd_host.reading.codec import Codec, Grammar
codec = Codec(Grammar(frozenset(["plan:pre"]), "msd-", "msd"), Limits())
codec.decode(b"no json", "acme")
seen = [name for name in ("cattrs", "msd_host.reading.schema_feature") if name in sys.modules]
codec.decode(b'{"role": "feature"}', "acme")
print(seen, "cattrs" in sys.modules, "msd_host.reading.schema_runtime" in sys.modules)
"""


def test_what_is_not_needed_is_not_imported() -> None:
    root = Path(__file__).resolve().parent.parent
    done = subprocess.run([sys.executable, "-c", IMPORTS], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[0] == "[] True False"


@needs_shared
def test_the_reference_manifests_decode_without_a_word() -> None:
    found = sorted((REFERENCE / "capabilities").glob("*/capability.json"))
    assert len(found) == 44
    for path in found:
        decoded = CODEC.decode(path.read_bytes(), path.parent.name)
        assert (decoded.faults, decoded.diagnostics) == ((), ()), path.parent.name
        assert decoded.capability is not None
        assert decoded.capability.raw == freeze(json.loads(path.read_text("utf-8")))

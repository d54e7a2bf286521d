"""`schema`: what it accepts and refuses is what the codec does, as far as JSON Schema can say it (spec 60)."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from attrs import fields, has
from hypothesis import given
from hypothesis import strategies as st

from msd_host.limits import Limits
from msd_host.model.fault import Fault
from msd_host.msd import LOOP, MSD
from msd_host.reading import schema_envelope, schema_feature, schema_reviewer, schema_runtime
from msd_host.reading.codec import Codec, Decoded, Grammar
from msd_host.reading.json_schema import DIALECT, REFUSED, manifest_schema
from msd_host.reading.json_schema_prose import PROSE
from msd_host.reading.json_schema_rules import RULES, VARIANTS
from msd_host.reading.schema import json_name
from msd_host.reading.schema_words import WORDS
from tests.cli import msd
from tests.manifest_rows import BASES, ROWS, changed
from tests.planted import World
from tests.shared import REFERENCE, needs_shared
from tests.strategies import any_text, encode, manifests, mutated

jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is not installed (dependency group test)")

GRAMMAR = Grammar(frozenset(LOOP.points), "msd-", "msd")
CODEC = Codec(GRAMMAR, Limits())
SCHEMA = manifest_schema(GRAMMAR, LOOP.points, title="A manifest", id="urn:test")
SHAPES = {
    shape
    for module in (schema_envelope, schema_feature, schema_reviewer, schema_runtime)
    for shape in vars(module).values()
    if isinstance(shape, type) and shape.__module__ == module.__name__
}

#: What refers to another part of the document by name; JSON Schema has no word for it.
BEYOND = [
    (r"\.steps\[\d+\]\.ref\.(skill|agent)", "is not one of its own"),
    (r"\.steps\[\d+\]\.ref\.skill", "must not begin with"),
    (r"\.steps\[\d+\]\.ref\.command", "must begin with one of its own"),
    (r"\.contributions\[\d+\]\.configValues", "is not one of its own config keys"),
    (r"\.activationKey", "is not one of its own config keys"),
    (r"\.config", "must be one of"),
]


@cache
def validator() -> Any:
    return jsonschema.Draft202012Validator(SCHEMA)


def is_beyond(fault: Fault) -> bool:
    return any(re.search(path, fault.path) and words in fault.message for path, words in BEYOND)


def whole(value: Any) -> Any:
    """*value* without floats that are whole numbers, which JSON Schema takes for integers and the codec does not."""
    if isinstance(value, float) and value.is_integer():
        return 0.5
    if isinstance(value, dict):
        return {k: whole(v) for k, v in value.items()}
    return [whole(v) for v in value] if isinstance(value, list) else value


def agree(document: Any) -> Decoded | None:
    """Hold both against *document*; None where the bytes are not our JSON to begin with."""
    decoded = CODEC.decode(encode(document), None)
    if any(fault.details.get("json") for fault in decoded.faults):
        return None
    accepted = validator().is_valid(document)
    shape = [fault for fault in decoded.faults if not is_beyond(fault)]
    errors = [e.message[:200] for e in validator().iter_errors(document)]
    assert accepted == (not shape), (shape, errors, document)
    return decoded


def test_it_is_a_schema_itself_and_every_reference_leads_somewhere() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == DIALECT
    named = set(re.findall(r'"#/\$defs/(\w+)"', json.dumps(SCHEMA)))
    assert named <= set(SCHEMA["$defs"]) and named == set(SCHEMA["$defs"])


@pytest.mark.parametrize("base", BASES)
def test_whole_manifests(base: str) -> None:
    decoded = agree(BASES[base])
    assert decoded is not None and decoded.capability is not None


@pytest.mark.parametrize(("base", "changes", "expected"), ROWS)
def test_each_row_of_the_reference(base: str, changes: dict[str, Any], expected: list[str]) -> None:
    agree(whole(changed(base, changes)))


@given(manifests())
def test_law_what_is_valid_is_accepted(made: Any) -> None:
    decoded = agree(whole(made))
    assert decoded is None or decoded.capability is not None or all(map(is_beyond, decoded.faults))


@given(mutated())
def test_law_the_schema_and_the_codec_agree(made: Any) -> None:
    agree(whole(made))


@given(st.sampled_from(sorted(WORDS, key=str)), any_text | st.from_regex(r"[a-zA-Z0-9._/\\:$-]{0,12}\n?"))
def test_law_words_agree(kind: Any, text: str) -> None:
    from msd_host.reading.schema import Wrong
    from msd_host.reading.schema_leaves import word

    try:
        word(WORDS[kind])(text, kind)
        accepted = True
    except Wrong:
        accepted = False
    used = SCHEMA["$defs"].get(kind.__name__)
    assert used is None or jsonschema.Draft202012Validator(used).is_valid(text) == accepted


@pytest.mark.parametrize("name", ["con", "COM1.txt", "__proto__", "a.constructor", "../x", "a/-b", "a:b", "x", "com11"])
def test_refusals_agree_on_what_they_are_for(name: str) -> None:
    for refused, pattern in REFUSED.items():
        assert refused(name) == bool(re.search(pattern, name)), (refused, name)


def test_every_rule_of_a_shape_is_written_down() -> None:
    """A new `rule` or `pick` in the shape's classes fails here until the schema says it too."""
    beyond = {schema_feature.Feature, schema_runtime.Runtime, schema_reviewer.Reviewer}  # fields elsewhere, references
    beyond |= {schema_runtime.LocalArtifact, schema_reviewer.HttpInvoke}  # nothing but fields that belong elsewhere
    ruled = {s for s in SHAPES if {"rule", "rule_in"} & set(vars(s))}
    assert ruled - beyond == set(RULES)
    assert {s for s in SHAPES if "pick" in vars(s)} == set(VARIANTS)
    assert {w.refused for w in WORDS.values() if w.refused is not None} <= set(REFUSED)


def test_every_field_has_a_description() -> None:
    named = {f"{s.__name__}.{json_name(f.name)}" for s in SHAPES if has(s) for f in fields(s)}
    inherited = {
        f"{s.__name__}.{json_name(f.name)}"
        for s in SHAPES
        if has(s)
        for f in fields(s)
        if any(f"{b.__name__}.{json_name(f.name)}" in PROSE for b in s.__mro__)
    }
    assert named == inherited
    known = named | {"Envelope.$schema"}
    assert set(PROSE) <= known, set(PROSE) - known


class TestUse:
    def test_the_verb_prints_one_document(self, tmp_path: Path) -> None:
        done = msd(World(tmp_path, MSD), "schema")
        assert done.code == 0 and not done.err
        made = done.json()
        jsonschema.Draft202012Validator.check_schema(made)
        assert made["$id"].startswith("urn:msd:")
        assert jsonschema.Draft202012Validator(made).is_valid(
            BASES["feature"] if "feature" in BASES else next(iter(BASES.values()))
        )

    def test_a_manifest_may_name_its_schema(self, tmp_path: Path) -> None:
        world = World(tmp_path, MSD)
        world.add_global("acme", **{"$schema": "./capability.schema.json"})
        assert world.accepted() == {"acme"}
        overlay = world.load().overlay
        assert overlay is not None and overlay.diagnostics == ()
        done = msd(world, "capability", "check", str(world.global_folder("acme")))
        assert done.code == 0 and "note:" not in done.out

    def test_only_at_the_top(self) -> None:
        base = next(iter(BASES.values()))
        decoded = CODEC.decode(encode({**base, "engines": {"msd": ">=1.0.0", "$schema": "x"}, "$schema": 5}), None)
        assert decoded.faults == () and decoded.diagnostics == ()


@needs_shared
def test_real_manifests_are_accepted() -> None:
    found = sorted(REFERENCE.rglob("capability.json"))
    assert len(found) > 40
    for path in found:
        agree(json.loads(path.read_text(encoding="utf-8")))

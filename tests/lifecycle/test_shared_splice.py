"""Entries in settings texts of many hands: in and out again, whoever else has entries there (spec 30, Shared files)."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from msd_host.lifecycle.shared.entries import Entries
from msd_host.lifecycle.shared.splice import spliced, unspliced

MARK = "_msdCapability"


def entries(id: str) -> Entries:
    group = {"hooks": [{"type": "command", "command": f"msd hook run {id} Stop a.sh"}]}
    return Entries(
        id, (("Stop", group), ("PostToolUse", {**group, "matcher": "é|b"})), ((f"db-{id}", {"command": "msd"}),)
    )


ACME, BETA = entries("acme"), entries("beta")

_names = st.sampled_from(["hooks", "mcpServers", "PostToolUse", "Stop", "db", "é", 'q"{', "a"])
_leaf = st.none() | st.booleans() | st.integers(-9, 9) | st.text('a{}[],:"\\é\n\u2028', max_size=5)
_any = st.recursive(
    _leaf, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_names, inner, max_size=3), max_leaves=8
)
_servers = st.dictionaries(_names, _any, max_size=2)
_events = st.dictionaries(_names, st.lists(_any, max_size=2), max_size=3)
_others = _names.filter(lambda name: name not in ("hooks", "mcpServers"))


@st.composite
def settings(draw: Any) -> str:
    """A sound settings file, however it is written."""
    found: dict[str, Any] = draw(st.dictionaries(_others, _any, max_size=3))
    for key, values in draw(st.permutations([("hooks", _events), ("mcpServers", _servers)])):
        if draw(st.booleans()):
            found[key] = draw(values)
    text = json.dumps(
        found,
        indent=draw(st.sampled_from([None, 0, 2, "\t"])),
        ensure_ascii=draw(st.booleans()),
        separators=draw(st.sampled_from([(",", ":"), (", ", " : "), (" ,", ": ")])),
    )
    text += draw(st.sampled_from(["", "\n", "\n\n", " "]))
    return text.replace("\n", draw(st.sampled_from(["\n", "\r\n"])))


@given(settings())
def test_out_again_gives_the_very_text(text: str) -> None:
    inside, made = spliced(text, ACME, MARK)
    assert json.loads(inside)["hooks"]["Stop"][-1][MARK] == "acme"
    assert unspliced(inside, "acme", MARK, made) == text


@given(settings(), st.booleans())
def test_two_capabilities_leave_in_any_order(text: str, first: bool) -> None:
    """Whoever made a container, it goes with the last entry in it: both records of what was made are looked at."""
    one, made = spliced(text, ACME, MARK)
    both, more = spliced(one, BETA, MARK)
    order = ("acme", "beta") if first else ("beta", "acme")
    every = (*made, *more)
    left = unspliced(both, order[0], MARK, every)
    assert json.loads(left)["hooks"]["Stop"][-1][MARK] == order[1]
    assert unspliced(left, order[1], MARK, every) == text


@given(settings())
def test_what_the_user_writes_meanwhile_stays(text: str) -> None:
    def edited(found: str) -> str:
        return found.replace("{", '{"mine": [1,  2],', 1)

    inside, made = spliced(text, ACME, MARK)
    found = unspliced(edited(inside), "acme", MARK, made)
    assert found == edited(text) if json.loads(text) else json.loads(found) == {"mine": [1, 2]}


def test_what_only_looks_alike_stays() -> None:
    """Law 5: nothing but an entry with the mark of that very id is removed."""
    look_alikes = {
        "hooks": {"Stop": [{"hooks": []}, {MARK: "other"}, "acme"]},
        "mcpServers": {"acme": {}},
        MARK: "acme",
    }
    text = json.dumps(look_alikes)
    assert unspliced(text, "acme", MARK) == text

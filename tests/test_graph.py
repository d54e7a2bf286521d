"""`registry graph`: what is drawn is what is composed, in every format, whatever names say (spec 60)."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from msd_host import MSD
from msd_host.registry.graph import SCOPES, Graph, Node, graph_of, to_dot, to_mermaid
from msd_host.registry.layout import arranged
from msd_host.registry.svg import to_svg
from tests.cli import msd
from tests.planted import World

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = [
    '"]; n9["x',
    "</text><script>alert(1)</script>",
    "a\\",
    'x"]\n  click n0 "javascript:alert(1)"',
    "%%{init: {}}%%",
    "`**bold**`",
    "]]>&amp;&#60;\x00\x1b[31m\u202e\ufffe",
    "end",
    '\\" -> n1; }',
    "é中\U0001f600",
]


@pytest.fixture
def world(tmp_path: Path) -> World:
    world = World(tmp_path, MSD)
    world.add_global("org-rules", requires=["scope-guard"], skills=["org-a", "org-b", "org-c", "org-d"])
    world.add_project("acme", requires=["org-rules", "research"])
    world.grant("acme")
    return world


def hostile(text: str) -> Graph:
    nodes = tuple(Node(text, text, text, text, text, scope, (text, text)) for scope in SCOPES)
    return Graph(nodes, ((0, 1), (1, 2)))


def boxes(svg: str) -> list[tuple[float, float, float, float]]:
    found = []
    for group in ET.fromstring(svg).iter(f"{SVG}g"):
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        found.append(tuple(float(rect.attrib[name]) for name in ("x", "y", "width", "height")))
    return found  # type: ignore[return-value]


def overlap(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    (x, y, w, h), (x2, y2, w2, h2) = one, other
    return x < x2 + w2 and x2 < x + w and y < y2 + h2 and y2 < y + h


def strings_of_dot(text: str) -> list[str]:
    """The quoted strings of a DOT text; fails where one is left open or anything odd stands outside of them."""
    strings = re.findall(r'"((?:[^"\\\n]|\\.)*)"', text)
    outside = re.sub(r'"(?:[^"\\\n]|\\.)*"', "", text)
    assert re.fullmatch(r"[\w\s{}\[\];=,>-]*", outside), outside
    return strings


class TestContent:
    def test_requirements_clusters_and_scopes(self, world: World) -> None:
        graph = graph_of(world.load())
        by_id = {node.id: node for node in graph.nodes}
        assert {by_id["acme"].scope, by_id["org-rules"].scope, by_id["research"].scope} == set(SCOPES)
        assert by_id["org-rules"].cluster == ("org-a", "org-b", "org-c", "org-d")
        named = {(graph.nodes[a].id, graph.nodes[b].id) for a, b in graph.edges}
        assert {("acme", "org-rules"), ("acme", "research"), ("org-rules", "scope-guard")} <= named
        registry = world.load()
        assert named == {(id, r) for id, c in registry.capabilities.items() for r in c.requires}

    def test_what_is_not_composed_is_not_drawn(self, world: World) -> None:
        world.add_project("planted", title="SECRET")
        for form in ("svg", "dot", "mermaid"):
            done = msd(world, "registry", "graph", "--format", form)
            assert done.code == 0 and "planted" not in done.out and "SECRET" not in done.out
            assert "planted (project) skipped" in done.err

    def test_each_format_names_every_capability(self, world: World) -> None:
        graph = graph_of(world.load())
        assert {line.split("<br/>")[0] for line in re.findall(r'n\d+\["([^"]*)"\]', to_mermaid(graph))} == {
            node.id for node in graph.nodes
        }
        labels = {s.split("\\n")[0] for s in strings_of_dot(to_dot(graph))}
        texts = {t.text for t in ET.fromstring(to_svg(graph, "t")).iter(f"{SVG}text")}
        for node in graph.nodes:
            assert node.id in labels and node.id in texts

    def test_json_holds_the_text(self, world: World) -> None:
        answer = msd(world, "registry", "graph", "--json", "--format", "dot").json()
        assert answer["format"] == "dot" and answer["text"].startswith("digraph")

    def test_mermaid_is_the_usual_format(self, world: World) -> None:
        assert msd(world, "registry", "graph").out.startswith("flowchart LR\n")


class TestNames:
    @pytest.mark.parametrize("text", HOSTILE)
    def test_mermaid_keeps_them_in_their_box(self, text: str) -> None:
        for line in to_mermaid(hostile(text)).splitlines():
            assert re.fullmatch(
                r'flowchart LR|  subgraph s\d\["[\w #;.,-]*"\]|  end|  n\d --> n\d|  classDef c\d [\w:#,-]+'
                r'|    n\d\["(?:[A-Za-z0-9 #;.,-]|<br/>)*"\]:::c\d',
                line,
            ), line

    @pytest.mark.parametrize("text", HOSTILE)
    def test_dot_keeps_them_in_their_string(self, text: str) -> None:
        made = to_dot(hostile(text))
        assert made.isascii()
        assert len(strings_of_dot(made)) == len(strings_of_dot(to_dot(hostile("x"))))

    @pytest.mark.parametrize("text", HOSTILE)
    def test_svg_keeps_them_in_their_text(self, text: str) -> None:
        made = to_svg(hostile(text), text)
        assert made.isascii()
        parsed, plain = ET.fromstring(made), ET.fromstring(to_svg(hostile("x"), "x"))
        assert [e.tag for e in parsed.iter()] == [e.tag for e in plain.iter()]

    @pytest.mark.skipif(shutil.which("dot") is None, reason="graphviz is not installed")
    @pytest.mark.parametrize("text", HOSTILE)
    def test_graphviz_itself_reads_it(self, text: str) -> None:
        done = subprocess.run(
            ["dot", "-Tplain"], input=to_dot(hostile(text)), capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, done.stderr
        lines = [line.split()[0] for line in done.stdout.splitlines()]
        assert (lines.count("node"), lines.count("edge")) == (3, 2)


def test_svg_needs_nothing_else(world: World) -> None:
    made = msd(world, "registry", "graph", "--format", "svg").out
    root = ET.fromstring(made)
    assert root.tag == f"{SVG}svg" and "http" not in made.replace("http://www.w3.org/2000/svg", "")
    assert {e.tag.removeprefix(SVG) for e in root.iter()} <= set("svg title style defs marker path rect text g".split())
    assert not any(name.startswith("on") or "href" in name for e in root.iter() for name in e.attrib)
    found = boxes(made)
    width, height = float(root.attrib["width"]), float(root.attrib["height"])
    assert all(x >= 0 and y >= 0 and x + w <= width and y + h <= height for x, y, w, h in found)
    assert not any(overlap(a, b) for i, a in enumerate(found) for b in found[:i])


sizes = st.lists(st.tuples(st.floats(20, 200), st.floats(20, 90)), min_size=1, max_size=14)


@given(sizes, st.lists(st.tuples(st.integers(0, 13), st.integers(0, 13)), max_size=24))
def test_law_boxes_never_overlap_and_requirements_lead_right(
    made: list[tuple[float, float]], pairs: list[tuple[int, int]]
) -> None:
    edges = list(dict.fromkeys((a, b) for a, b in pairs if a < b < len(made)))
    layout = arranged(made, edges)
    rects = [(x, y, w, h) for (x, y), (w, h) in zip(layout.boxes, made)]
    assert not any(overlap(a, b) for i, a in enumerate(rects) for b in rects[:i])
    for (one, other), route in zip(edges, layout.routes):
        ways = [rects[one][0] + rects[one][2], *(x for x, _ in route), rects[other][0]]
        assert ways == sorted(ways)
        for x, y in route:  # it passes columns beside their boxes
            assert not any(bx <= x <= bx + w and by < y < by + h for bx, by, w, h in rects)
    assert all(x + w <= layout.size[0] + 1e-6 and y + h <= layout.size[1] + 1e-6 for x, y, w, h in rects)


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), max_size=12))
def test_law_even_a_circle_is_laid_out(edges: list[tuple[int, int]]) -> None:
    assert len(arranged([(50.0, 30.0)] * 6, edges).boxes) == 6


def test_a_long_chain_and_a_wide_set_come_to_an_end() -> None:
    count = 2000
    nodes = tuple(Node(f"n{i}", "t", "1.0.0", "feature", "full", "global") for i in range(count))
    chain = [(i, i + 1) for i in range(count // 2 - 1)] + [(0, i) for i in range(2, count // 2)]
    made = to_svg(Graph(nodes, tuple(chain)), "long")
    assert len(boxes(made)) == count


def test_nothing_to_draw_is_a_picture_too() -> None:
    empty = Graph((), ())
    assert boxes(to_svg(empty, "nothing")) == []
    assert to_mermaid(empty).startswith("flowchart") and strings_of_dot(to_dot(empty)) == [
        "rounded,filled",
        "sans-serif",
    ]

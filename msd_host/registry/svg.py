"""A graph as one SVG file that needs nothing else: no font, no script, no address (spec 60)."""

from __future__ import annotations

from collections.abc import Iterator

from ..text import clean
from .graph import SCOPES, Graph, Node, graph_of
from .layout import Size, arranged

__all__ = ["graph_of", "to_svg"]

_MARGIN, _HEAD, _LINE, _PAD = 24.0, 44.0, 16.0, 10.0
_LETTER = 6.7  # of the fixed-width font at 11 px, so that a box fits its text in any viewer
_GAP = 18.0
_LEAST_WIDTH = 720.0
_STYLE = (
    "text{font:11px ui-monospace,Menlo,Consolas,monospace;fill:#1b1f27}"
    ".n{font-weight:bold}.d{fill:#4a5160}.b{stroke:#5b6577}.runtime{stroke-dasharray:5 3}"
    ".reviewer{stroke-dasharray:2 2}.e{fill:none;stroke:#5b6577;stroke-width:1.3}"
)
_ARROW = (
    '<defs><marker id="a" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 8 4 0 8z" fill="#5b6577"/></marker></defs>'
)


def to_svg(graph: Graph, title: str) -> str:
    """The picture: tied nodes in columns, the others in rows below, a legend of scopes above."""
    tied = sorted({i for edge in graph.edges for i in edge})
    alone = sorted(set(range(len(graph.nodes))) - set(tied), key=lambda i: (SCOPES.index(graph.nodes[i].scope), i))
    at = {node: place for place, node in enumerate(tied)}
    sizes = [_size(graph.nodes[i]) for i in tied]
    layout = arranged(sizes, [(at[a], at[b]) for a, b in graph.edges])
    body: list[str] = []
    top = _MARGIN + _HEAD
    for (one, other), route in zip(graph.edges, layout.routes):
        start, end = layout.boxes[at[one]], layout.boxes[at[other]]
        (w, h), (_, h2) = sizes[at[one]], sizes[at[other]]
        points = [(start[0] + w, start[1] + h / 2), *route, (end[0], end[1] + h2 / 2)]
        body.append(_curve([(x + _MARGIN, y + top) for x, y in points]))
    for place, i in enumerate(tied):
        x, y = layout.boxes[place]
        body += _box(graph.nodes[i], x + _MARGIN, y + top, sizes[place])
    width = max(layout.size[0], _LEAST_WIDTH)
    bottom = top + (layout.size[1] + 2 * _GAP if tied else 0)
    rows, height = _rows([graph.nodes[i] for i in alone], width, bottom)
    return _document(title, width + 2 * _MARGIN, height + _MARGIN, [*_legend(graph, title), *body, *rows])


def _size(node: Node) -> Size:
    return (max(len(line) for line in node.lines) * _LETTER + 2 * _PAD, len(node.lines) * _LINE + _PAD)


def _rows(nodes: list[Node], width: float, top: float) -> tuple[list[str], float]:
    """(what is written, where it ends) of nodes that are tied to nothing."""
    if not nodes:
        return [], top
    parts = [f'<text x="{_MARGIN:g}" y="{top + 12:g}" class="d">requires nothing, required by nothing</text>']
    column = max(_size(node)[0] for node in nodes) + _GAP
    fit = max(int((width + _GAP) // column), 1)
    line = max(_size(node)[1] for node in nodes) + _GAP
    top += 24
    for place, node in enumerate(nodes):
        parts += _box(node, _MARGIN + place % fit * column, top + place // fit * line, _size(node))
    return parts, top + ((len(nodes) - 1) // fit + 1) * line


def _curve(points: list[tuple[float, float]]) -> str:
    """A line through *points* that leaves and enters each of them level."""
    (x, y), *rest = points
    parts = [f"M{x:.1f} {y:.1f}"]
    for to_x, to_y in rest:
        half = (x + to_x) / 2
        parts.append(f"C{half:.1f} {y:.1f} {half:.1f} {to_y:.1f} {to_x:.1f} {to_y:.1f}")
        x, y = to_x, to_y
    return f'<path class="e" d="{" ".join(parts)}" marker-end="url(#a)"/>'


def _box(node: Node, x: float, y: float, size: Size) -> Iterator[str]:
    role = node.role if node.role in ("runtime", "reviewer") else "feature"
    yield (
        f'<g><title>{_xml(f"{node.title} ({node.scope})")}</title><rect class="b {role}" x="{x:.1f}" y="{y:.1f}"'
        f' width="{size[0]:.1f}" height="{size[1]:.1f}" rx="5" fill="{node.fill}"/>'
    )
    for number, line in enumerate(node.lines):
        kind = "d" if number else "n"
        at = y + _PAD / 2 + _LINE * number + 12
        yield f'<text class="{kind}" x="{x + _PAD:.1f}" y="{at:.1f}">{_xml(line)}</text>'
    yield "</g>"


def _legend(graph: Graph, title: str) -> Iterator[str]:
    yield f'<text class="n" x="{_MARGIN:g}" y="{_MARGIN + 8:g}">{_xml(title)}</text>'
    x = _MARGIN
    for scope in SCOPES:
        members = graph.in_scope(scope)
        if members:
            text = f"{scope} ({len(members)})"
            fill = graph.nodes[members[0]].fill
            yield f'<rect class="b" x="{x:.1f}" y="{_MARGIN + 18:g}" width="12" height="12" rx="2" fill="{fill}"/>'
            yield f'<text class="d" x="{x + 18:.1f}" y="{_MARGIN + 28:g}">{_xml(text)}</text>'
            x += 18 + len(text) * _LETTER + 20
    yield f'<text class="d" x="{x:.1f}" y="{_MARGIN + 28:g}">an arrow leads to what is required; dashed: a runtime or a reviewer</text>'


def _document(title: str, width: float, height: float, parts: list[str]) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}"'
        f' viewBox="0 0 {width:.0f} {height:.0f}" role="img">'
    )
    ground = f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>'
    return "\n".join(
        [head, f"<title>{_xml(title)}</title>", f"<style>{_STYLE}</style>", _ARROW, ground, *parts, "</svg>\n"]
    )


def _xml(text: str) -> str:
    """Text of an element or a value, in ASCII; what XML has no letter for is left out."""
    sound = "".join(c for c in clean(text) if ord(c) not in (0xFFFE, 0xFFFF))
    marked = sound.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;").replace('"', "&quot;")
    return marked.encode("ascii", "xmlcharrefreplace").decode()

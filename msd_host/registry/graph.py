"""A registry as a graph: who requires whom, which skills make up whose cluster, and where each comes from (spec 60).

Text from manifests is data in every format: it is cleaned, and what has a meaning there is written as what it looks like.
"""

from __future__ import annotations

from attrs import frozen

from ..model.registry import Registry
from ..model.scope import Scope
from ..text import clean

__all__ = ["SCOPES", "Graph", "Node", "graph_of", "to_dot", "to_mermaid"]

#: Every scope a node may have, the nearest to the user's project first.
SCOPES = tuple(scope.label for scope in (Scope.PROJECT, Scope.GLOBAL, Scope.FIRST_PARTY))

_FILLS = {"project": "#fde7c8", "global": "#d9f0dc", "first-party": "#e3e9f3"}
_MOST_SKILLS = 3


@frozen
class Node:
    """One capability. `cluster` is what its skills are switched by."""

    id: str
    title: str
    version: str
    role: str
    tier: str
    scope: str
    cluster: tuple[str, ...] = ()

    @property
    def fill(self) -> str:
        return _FILLS.get(self.scope, "#ffffff")

    @property
    def lines(self) -> tuple[str, ...]:
        """What is written into its box."""
        lines = (clean(self.id, 64), clean(f"{self.version}, {self.role}, {self.tier}", 60))
        if not self.cluster:
            return lines
        shown = ", ".join(clean(skill, 24) for skill in self.cluster[:_MOST_SKILLS])
        rest = len(self.cluster) - _MOST_SKILLS
        return (*lines, f"skills: {shown}" + (f", +{rest}" if rest > 0 else ""))


@frozen
class Graph:
    """`edges` lead from who requires to what is required, as places in `nodes`."""

    nodes: tuple[Node, ...]
    edges: tuple[tuple[int, int], ...]

    def in_scope(self, scope: str) -> list[int]:
        """The places of the nodes of *scope*."""
        return [i for i, node in enumerate(self.nodes) if node.scope == scope]


def graph_of(registry: Registry) -> Graph:
    """Every capability of *registry* by id, and every requirement that leads to one of them."""
    accepted = registry.overlay.accepted if registry.overlay is not None else {}
    nodes = tuple(
        Node(
            id,
            c.title,
            c.version,
            c.role,
            c.tier,
            accepted.get(id, Scope.FIRST_PARTY).label,
            registry.clusters.get(id, ()),
        )
        for id, c in sorted(registry.capabilities.items())
    )
    at = {node.id: i for i, node in enumerate(nodes)}
    edges = [(i, at[r]) for i, n in enumerate(nodes) for r in registry.capabilities[n.id].requires if r in at]
    return Graph(nodes, tuple(dict.fromkeys(edges)))


def to_mermaid(graph: Graph) -> str:
    """A Mermaid flowchart, one subgraph a scope."""
    lines = ["flowchart LR"]
    for number, scope in enumerate(SCOPES):
        members = graph.in_scope(scope)
        if members:
            lines.append(f'  subgraph s{number}["{_mermaid(scope)}"]')
            for i in members:
                label = "<br/>".join(_mermaid(line) for line in graph.nodes[i].lines)
                lines.append(f'    n{i}["{label}"]:::c{number}')
            lines.append("  end")
    lines += [f"  n{one} --> n{other}" for one, other in graph.edges]
    lines += [
        f"  classDef c{number} fill:{_FILLS[scope]},stroke:#556,color:#111" for number, scope in enumerate(SCOPES)
    ]
    return "\n".join(lines) + "\n"


def _mermaid(text: str) -> str:
    """Plain letters, digits and blanks as they are, everything else as the code of its character."""
    return "".join(c if (c.isascii() and c.isalnum()) or c in " ,.-" else f"#{ord(c)};" for c in clean(text))


def to_dot(graph: Graph) -> str:
    """A Graphviz digraph, one cluster a scope."""
    lines = [
        "digraph capabilities {",
        "  rankdir=LR;",
        '  node [shape=box, style="rounded,filled", fontname="sans-serif", fontsize=11];',
    ]
    for number, scope in enumerate(SCOPES):
        members = graph.in_scope(scope)
        if members:
            lines.append(f"  subgraph cluster_{number} {{")
            lines.append(f'    label="{_dot(scope)}"; color="#9999aa";')
            for i in members:
                label = "\\n".join(_dot(line) for line in graph.nodes[i].lines)
                tip = _dot(graph.nodes[i].title)
                lines.append(f'    n{i} [label="{label}", tooltip="{tip}", fillcolor="{graph.nodes[i].fill}"];')
            lines.append("  }")
    lines += [f"  n{one} -> n{other};" for one, other in graph.edges]
    return "\n".join([*lines, "}"]) + "\n"


def _dot(text: str) -> str:
    """Inside double quotes, where a backslash begins an escape and an ampersand an entity."""
    escaped = clean(text).replace("\\", "\\\\").replace('"', '\\"').replace("&", "&amp;")
    known = "".join(c if ord(c) < 0x10000 else "\ufffd" for c in escaped)  # its entities end there
    return known.encode("ascii", "xmlcharrefreplace").decode()

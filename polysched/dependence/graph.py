"""The statement graph: which statement must wait for which, as a graph of networkx.

Importing networkx takes a tenth of a second, so nothing that compiles a kernel imports this module.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from polysched.dependence.relations import Dependence


def statement_graph(
    dependences: Iterable[Dependence], statements: Iterable[str] = ()
) -> nx.MultiDiGraph:
    """The statements as nodes, and an edge ``source -> sink`` for each dependence.

    An edge has the attributes ``dependence`` (the record), ``kind`` and ``array`` (text), and
    ``may`` (whether it is conservative, for a subscript depends on data).

    Args:
        statements: names in the order of the nodes; others follow as dependences name them.
    """
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(statements)
    for dependence in dependences:
        graph.add_edge(
            dependence.source.statement,
            dependence.sink.statement,
            dependence=dependence,
            kind=dependence.kind.value,
            array=dependence.array,
            may=dependence.may,
        )
    return graph


def strongly_connected(graph: nx.MultiDiGraph) -> tuple[tuple[str, ...], ...]:
    """The strongly connected components in an order that keeps every dependence between them.

    The statements of one component wait for each other: no distribution of loops parts them all.
    Within a component, and between components that are free, the order is that of the nodes.
    """
    place = {name: position for position, name in enumerate(graph)}
    condensed = nx.condensation(graph)
    members = {
        node: tuple(sorted(names, key=place.__getitem__))
        for node, names in condensed.nodes(data="members")
    }
    order = nx.lexicographical_topological_sort(condensed, key=lambda node: place[members[node][0]])
    return tuple(members[node] for node in order)


def format_components(graph: nx.MultiDiGraph) -> str:
    """The strongly connected components, one a line, in the order of :func:`strongly_connected`.

    ::

        component 1: P
        component 2: there, back (a cycle: each waits for the others)
        component 3: C (waits for itself)
    """
    lines = []
    for number, names in enumerate(strongly_connected(graph), start=1):
        note = ""
        if len(names) > 1:
            note = " (a cycle: each waits for the others)"
        elif graph.has_edge(names[0], names[0]):
            note = " (waits for itself)"
        lines.append(f"component {number}: {', '.join(names)}{note}\n")
    return "".join(lines)


def format_dot(graph: nx.MultiDiGraph) -> str:
    """The graph in Graphviz's language; components of several statements stand in a frame.

    Parallel edges of one kind on one array are drawn once. A dashed edge is a reduction's, free in
    its order.
    """
    lines = ["digraph statements {", "  node [shape=box];"]
    for number, names in enumerate(strongly_connected(graph)):
        nodes = [f"{_quoted(name)};" for name in names]
        if len(names) == 1:
            lines.append(f"  {nodes[0]}")
        else:
            lines += [f"  subgraph cluster_{number} {{", *(f"    {node}" for node in nodes), "  }"]
    edges = (
        (source, sink, _label(data["dependence"]), data["dependence"].reorderable)
        for source, sink, data in graph.edges(data=True)
    )
    for source, sink, label, is_free in dict.fromkeys(edges):
        style = ", style=dashed" if is_free else ""
        lines.append(
            f"  {_quoted(source)} -> {_quoted(sink)} [label={_quoted(label)}{style}];",
        )
    return "\n".join([*lines, "}", ""])


def _label(dependence: Dependence) -> str:
    return f"{'may ' if dependence.may else ''}{dependence.kind.value} {dependence.array}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

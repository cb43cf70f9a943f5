"""Dependence graph of the statements, as a networkx multigraph.

Importing networkx takes 0.1 s. Therefore no module on the path of `compile` imports this one.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from polysched.dependence.relations import Dependence


def statement_graph(
    dependences: Iterable[Dependence], statements: Iterable[str] = ()
) -> nx.MultiDiGraph:
    """Build the graph: a node for each statement, an edge ``source -> sink`` for each dependence.

    An edge has the attributes ``dependence`` (the record), ``kind`` and ``array`` (text), and
    ``may`` (True for a conservative edge: a subscript depends on data).

    Args:
        statements: statement names in node order; nodes for other statements of the dependences
            follow.
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
    """The strongly connected components in topological order.

    Loop distribution cannot separate all statements of one component, because they form dependence
    cycles. Statements within a component, and components without a dependence between them, keep
    the order of the nodes.
    """
    position = {name: number for number, name in enumerate(graph)}
    condensed = nx.condensation(graph)
    members = {
        node: tuple(sorted(names, key=position.__getitem__))
        for node, names in condensed.nodes(data="members")
    }
    order = nx.lexicographical_topological_sort(
        condensed, key=lambda node: position[members[node][0]]
    )
    return tuple(members[node] for node in order)


def format_components(graph: nx.MultiDiGraph) -> str:
    """List the strongly connected components in topological order, one per line.

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
    """Format the graph as Graphviz DOT, each component of several statements as a cluster.

    Parallel edges of one kind on one array are drawn once. A dashed edge is reorderable: it belongs
    to a reduction with ``order="any"``.
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
    for source, sink, label, is_reorderable in dict.fromkeys(edges):
        style = ", style=dashed" if is_reorderable else ""
        lines.append(f"  {_quoted(source)} -> {_quoted(sink)} [label={_quoted(label)}{style}];")
    return "\n".join([*lines, "}", ""])


def _label(dependence: Dependence) -> str:
    return f"{'may ' if dependence.may else ''}{dependence.kind.value} {dependence.array}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'

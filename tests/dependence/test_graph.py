import subprocess
import sys

from networkx import MultiDiGraph

from polysched.dependence.graph import (
    format_components,
    format_dot,
    statement_graph,
    strongly_connected,
)
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.schedule.core.program import initial_program
from tests.support.kernels import blur, jacobi, reductions


def graph_of(kernel: Kernel) -> MultiDiGraph:
    program = initial_program(kernel)
    return statement_graph(program.dependences, program.statements)


def test_an_edge_for_each_dependence() -> None:
    program = initial_program(jacobi())
    graph = statement_graph(program.dependences)
    assert graph.number_of_edges() == len(program.dependences)
    for source, sink, data in graph.edges(data=True):
        found = data["dependence"]
        assert (source, sink) == (found.source.statement, found.sink.statement)
        assert (data["kind"], data["array"]) == (found.kind.value, found.array)


def test_statements_without_dependences_are_nodes_too() -> None:
    assert list(statement_graph((), ("S", "T"))) == ["S", "T"]
    assert strongly_connected(statement_graph((), ("T", "S"))) == (("T",), ("S",))


def test_statements_that_wait_for_each_other_are_one_component() -> None:
    assert strongly_connected(graph_of(jacobi())) == (("there", "back"),)


def test_components_stand_in_an_order_that_keeps_the_dependences() -> None:
    assert strongly_connected(graph_of(blur())) == (("P",), ("C",))
    reversed_nodes = statement_graph(initial_program(blur()).dependences, ("C", "P"))
    assert strongly_connected(reversed_nodes) == (("P",), ("C",))


def test_components_of_a_cycle_between_others() -> None:
    build = KernelBuilder("cycle")
    n = build.parameter("n", minimum=1)
    x, a = build.input("x", i32, (n,)), build.inout("a", i32, (n + 1,))
    b, c = build.inout("b", i32, (n + 1,)), build.output("c", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("first"):
            a[i + 1] = b[i] + x[i]
        with build.statement("last"):
            c[i] = a[i] + 1
        with build.statement("second"):
            b[i + 1] = a[i]
    assert strongly_connected(graph_of(build.kernel())) == (("first", "second"), ("last",))


def test_dot_of_a_cycle() -> None:
    assert format_dot(graph_of(jacobi())).splitlines() == [
        "digraph statements {",
        "  node [shape=box];",
        "  subgraph cluster_0 {",
        '    "there";',
        '    "back";',
        "  }",
        '  "there" -> "there" [label="output b"];',
        '  "there" -> "back" [label="flow b"];',
        '  "there" -> "back" [label="anti a"];',
        '  "back" -> "there" [label="flow a"];',
        '  "back" -> "there" [label="anti b"];',
        '  "back" -> "back" [label="output a"];',
        "}",
    ]


def test_dot_dashes_what_a_free_reduction_leaves_to_chance() -> None:
    lines = format_dot(graph_of(reductions())).splitlines()
    assert '  "zero" -> "add" [label="flow total"];' in lines
    assert '  "add" -> "add" [label="flow total", style=dashed];' in lines


def test_dot_quotes_names() -> None:
    assert '  "a\\"b\\\\c";' in format_dot(statement_graph((), ('a"b\\c',)))


def test_networkx_is_not_loaded_by_what_compiles() -> None:
    program = (
        "import sys, polysched, polysched.lower, polysched.legality.repairs.search; "
        "sys.exit('networkx' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_components_as_text() -> None:
    assert format_components(graph_of(jacobi())) == (
        "component 1: there, back (a cycle: each waits for the others)\n"
    )
    assert format_components(graph_of(blur())) == "component 1: P\ncomponent 2: C\n"
    assert "(waits for itself)" in format_components(graph_of(reductions()))

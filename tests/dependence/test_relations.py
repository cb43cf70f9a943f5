"""Dependences on elements that depend on data: every pair that may touch one element."""

from itertools import combinations, product

import islpy as isl

from polysched.dependence.graph import format_dot, statement_graph
from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence, DependenceKind
from polysched.dependence.values import value_flows
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32, i64
from polysched.ir.expr.functions import cast
from polysched.lower import show
from polysched.schedule.schedule import Schedule
from tests.support.indirect import histogram, permutation, scatter_in_rows, through_a_temporary
from tests.support.kernels import matmul


def _between(kernel: Kernel, source: str, sink: str) -> list[Dependence]:
    return [
        one
        for one in memory_dependences(kernel)
        if (one.source.statement, one.sink.statement) == (source, sink)
    ]


def test_all_pairs_may_meet() -> None:
    (output,) = memory_dependences(permutation())
    assert output.kind is DependenceKind.OUTPUT
    assert output.may
    assert (
        str(output.relation) == "[n] -> { P[i] -> P[i'] : 0 <= i < n and i' > i and 0 <= i' < n }"
    )


def test_affine_subscripts_tell_what_they_can() -> None:
    assert not memory_dependences(scatter_in_rows())


def test_affine_accesses_are_exact() -> None:
    assert not any(one.may for one in memory_dependences(matmul()))


def test_an_exact_end_and_one_that_depends_on_data() -> None:
    (flow,) = _between(through_a_temporary(), "T", "Y")
    assert (flow.kind, flow.may) == (DependenceKind.FLOW, True)


def test_possible_pairs_are_those_that_some_data_makes() -> None:
    """``S: x[p[i] + i % 2] = x[2 * i]``, all index arrays of four values tried."""
    build = KernelBuilder("tried")
    p = build.input("p", i32, (4,), values=(0, 4))
    x = build.inout("x", i32, (7,))
    with build.loops(i=4) as i, build.statement("S"):
        x[cast(p[i], i64) + i % 2] = x[2 * i]
    met: dict[DependenceKind, set[tuple[int, int]]] = {kind: set() for kind in DependenceKind}
    for values in product(range(4), repeat=4):
        writes = [values[i] + i % 2 for i in range(4)]
        reads = [2 * i for i in range(4)]
        for first, second in combinations(range(4), 2):
            for kind, source, sink in (
                (DependenceKind.FLOW, writes, reads),
                (DependenceKind.ANTI, reads, writes),
                (DependenceKind.OUTPUT, writes, writes),
            ):
                if source[first] == sink[second]:
                    met[kind].add((first, second))
    found = {
        one.kind: {(a, b) for a, b in product(range(4), repeat=2) if _holds(one, a, b)}
        for one in memory_dependences(build.kernel())
        if one.source.position < 2 and one.sink.position < 2
    }
    assert found == met


def _holds(dependence: Dependence, source: int, sink: int) -> bool:
    pair = dependence.relation.fix_val(isl.dim_type.in_, 0, isl.Val(source))
    return not pair.fix_val(isl.dim_type.out, 0, isl.Val(sink)).is_empty()


def test_updates_of_a_histogram_are_free_in_their_order() -> None:
    assert {one.reorderable for one in _between(histogram(), "H", "H")} == {True}
    assert {one.reorderable for one in _between(histogram("exact"), "H", "H")} == {False}


def _overwritten(*, surely: bool) -> Kernel:
    """``W: t[j] = 1``, ``X: t[j] = 2`` or ``t[p[j]] = 2``, ``R: y[j] = t[j]``."""
    build = KernelBuilder("overwritten")
    n = build.parameter("n", minimum=1)
    p = build.input("p", i32, (n,), values=(0, n))
    t, y = build.temporary("t", i32, (n,)), build.output("y", i32, (n,))
    with build.loops(j=n) as j, build.statement("W"):
        t[j] = 1
    with build.loops(j=n) as j, build.statement("X"):
        t[j if surely else p[j]] = 2
    with build.loops(j=n) as j, build.statement("R"):
        y[j] = t[j]
    return build.kernel()


def _writers_seen(kernel: Kernel) -> set[str]:
    return {flow.source.statement for flow in value_flows(memory_dependences(kernel))}


def test_a_write_that_may_go_elsewhere_ends_no_value() -> None:
    assert _writers_seen(_overwritten(surely=True)) == {"X"}
    assert _writers_seen(_overwritten(surely=False)) == {"W", "X"}


def test_an_exact_write_ends_values_that_only_may_be_read() -> None:
    build = KernelBuilder("read")
    n = build.parameter("n", minimum=1)
    p = build.input("p", i32, (n,), values=(0, n))
    t, y = build.temporary("t", i32, (n,)), build.output("y", i32, (n,))
    for name in ("W", "X"):
        with build.loops(j=n) as j, build.statement(name):
            t[j] = 1
    with build.loops(j=n) as j, build.statement("R"):
        y[j] = t[p[j]]
    assert _writers_seen(build.kernel()) == {"X"}


def test_printouts_say_may() -> None:
    dependences = memory_dependences(permutation())
    assert "may" in show(Schedule(permutation()), "deps")
    graph = statement_graph(dependences)
    assert [data["may"] for *_, data in graph.edges(data=True)] == [True]
    assert 'label="may output y"' in format_dot(graph)

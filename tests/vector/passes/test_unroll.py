import numpy as np
import pytest

import polysched as ps
from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index, Operand, Parameter, as_expression
from polysched.ir.expr.functions import equal, minimum
from polysched.ir.expr.linear_form import UNBOUNDED, Interval
from polysched.loops.ir.nodes import For, If, LoopNode, walk
from polysched.loops.printers.pseudo import print_loops
from polysched.vector.passes.unroll import expand
from tests.loops.programs import array, assign, load, loop, program

i, j, m = Index("i"), Index("j"), Parameter("m")


def store(at: Operand) -> LoopNode:
    return assign("y", (at,), load("x", at, dtype=i32))


def unrolled(
    lower: Operand, upper: Operand, *body: LoopNode, step: int = 1, values: Interval = UNBOUNDED
) -> For:
    made = loop("i", lower, upper, *body, step=step, kind=LoopKind.UNROLLED)
    return For(**{**made.__dict__, "values": values})


def lines(node: LoopNode, known: dict[str, Interval] | None = None) -> list[str]:
    arrays = [array("x", (64,), Role.INPUT, i32), array("y", (64,), Role.INOUT, i32)]
    made = program(arrays, expand(node, known or {}), context="[m] -> { : m >= 0 }")
    return print_loops(made).split("\n\n")[1].splitlines()


def test_literal_extent() -> None:
    assert lines(unrolled(0, 3, store(i))) == ["y[0] = x[0]", "y[1] = x[1]", "y[2] = x[2]"]


def test_step() -> None:
    assert lines(unrolled(1, 8, store(i), step=3)) == [
        "y[1] = x[1]", "y[4] = x[4]", "y[7] = x[7]",
    ]  # fmt: skip


def test_nothing_is_left_of_loops_and_conditions_around_no_iteration() -> None:
    empty = unrolled(4, 4, store(i))
    assert lines(loop("j", 0, 3, empty)) == []
    assert lines(loop("j", 0, 3, If(j < 2, empty))) == []


def test_nested_loops_and_their_bounds() -> None:
    inner = loop("j", i, 3, store(i + j), kind=LoopKind.UNROLLED)
    assert lines(unrolled(1, 3, inner)) == ["y[2] = x[2]", "y[3] = x[3]", "y[4] = x[4]"]


def test_guards_of_an_extent_with_a_bound() -> None:
    assert lines(unrolled(0, m, store(i)), {"m": (1, 2)}) == [
        "y[0] = x[0]",
        "if 1 < m:",
        "  y[1] = x[1]",
    ]


def test_end_that_is_a_minimum() -> None:
    end = as_expression(4 * j + 2)
    from_j = unrolled(4 * j, minimum(end, m), store(i))
    assert lines(loop("j", 0, m, from_j)) == [
        "for j in 0..m:",
        "  if 4*j < min(4*j + 2, m):",
        "    y[4*j] = x[4*j]",
        "  if 4*j + 1 < min(4*j + 2, m):",
        "    y[4*j + 1] = x[4*j + 1]",
    ]


def test_values_give_the_bound_that_the_ends_do_not() -> None:
    assert lines(unrolled(0, m - 4 * (m // 4), store(i), values=(0, 1))) == [
        "if 0 < m - 4*(m//4):",
        "  y[0] = x[0]",
        "if 1 < m - 4*(m//4):",
        "  y[1] = x[1]",
    ]


def test_values_make_literals_where_the_lower_end_varies() -> None:
    found = lines(loop("j", 0, m, unrolled(j - 4 * (j // 4), 2, store(i), values=(0, 1))))
    assert "    y[1] = x[1]" in found
    assert len(found) == 5


def test_values_of_a_step_are_guarded() -> None:
    made = expand(unrolled(m % 2, 4, store(i), step=2, values=(0, 3)), {})
    assert sum(isinstance(node, If) for node in walk(made)) == 4


def test_nothing_bounds_it() -> None:
    with pytest.raises(LoweringError, match="loop 'i' is unrolled, but no literal bounds"):
        expand(unrolled(0, m, store(i)), {})


def test_conditions_that_become_known() -> None:
    body = If(i < 1, store(i), store(i + 10))
    assert lines(unrolled(0, 2, body)) == ["y[0] = x[0]", "y[11] = x[11]"]


def test_a_bound_that_only_a_minimum_tells_is_found_for_limited_sizes() -> None:
    """It once was lost behind the limit of a size, and 2**57 copies were begun."""
    build = ps.KernelBuilder("blur")
    n = build.parameter("n", minimum=3)
    x = build.input("x", ps.f64, (n, n))
    out = build.output("out", ps.f64, (n, n))
    t = build.temporary("t", ps.f64, (n, n))
    with build.loops(j=(1, n - 1), k=n) as (j, k), build.statement("A"):
        t[j, k] = x[j - 1, k] + x[j + 1, k]
    with build.loops(j=(1, n - 1), k=(1, n - 1)) as (j, k), build.statement("B"):
        out[j, k] = t[j, k - 1] + t[j, k] + t[j, k + 1]
    schedule = (
        ps.Schedule(build.kernel())
        .split("B.j", 4, into=("jo", "ji"))
        .compute_at("t", at="jo")
        .promote("t", at="jo")
        .reorder("A.k", "A.j")
        .unroll("A.j")
    )
    run = schedule.compile()
    for size in (3, 4, 9, 14):
        values = np.random.default_rng(0).random((size, size))
        between = values[:-2] + values[2:]
        wanted = between[:, :-2] + between[:, 1:-1] + between[:, 2:]
        np.testing.assert_allclose(run(values)[1:-1, 1:-1], wanted)


@pytest.mark.parametrize("period", [2, 3])
@pytest.mark.parametrize("factor", [2, 3, 5])
def test_statements_at_other_remainders_of_a_step(period: int, factor: int) -> None:
    """isl has them share a loop, whose variable then is less than a step off for one of them."""
    build = ps.KernelBuilder("remainders")
    n = build.parameter("n", minimum=0)
    y = build.inout("y", i32, [n])
    with build.loops(i=n) as at:
        for remainder in range(period):
            turn = equal(at % period, (remainder + 1) % period)
            with build.where(turn), build.statement(f"S{remainder}"):
                y[at] = remainder + 1
    schedule = ps.Schedule(build.kernel()).split("i", factor, into=("io", "ii")).unroll("ii")
    result = np.zeros(23, np.int32)
    ps.compile(schedule)(result)
    np.testing.assert_array_equal(result, (np.arange(23) - 1) % period + 1)

"""Statements with wrapped or clamped subscripts are split; results stay the same."""

from __future__ import annotations

import random

import pytest

from polysched.ir.core.kernel import Kernel, Statement
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Expression, Operand
from polysched.ir.expr.functions import maximum, minimum, select
from polysched.ir.semantics.points import points
from polysched.simplify.cases import MOST_PARTS, has_cases
from tests.simplify.comparison import same_values
from tests.support.effort import cases


def _wrapped(i: Operand, extent: Operand, by: int) -> Expression:
    moved = i + by
    return select(moved < 0, moved + extent, select(moved >= extent, moved - extent, moved))


def _clamped(i: Operand, extent: Operand, by: int) -> Expression:
    return minimum(maximum(i + by, 0), extent - 1)


def _periodic(rank: int, minimum_extent: int = 1) -> Kernel:
    build = KernelBuilder("periodic")
    extents = [build.parameter(name, minimum=minimum_extent) for name in ("n", "m", "k")[:rank]]
    x, y = build.input("x", "f32", extents), build.output("y", "f32", extents)
    with build.loops(**{f"i{axis}": extent for axis, extent in enumerate(extents)}) as opened:
        indices = opened if isinstance(opened, tuple) else (opened,)
        left = tuple(_wrapped(i, n, -1) for i, n in zip(indices, extents, strict=True))
        right = tuple(_wrapped(i, n, 1) for i, n in zip(indices, extents, strict=True))
        y[indices] = x[left] + 2 * x[indices] - x[right]
    return build.kernel()


def _largest(kernel: Kernel, sizes: dict[str, int]) -> Statement:
    return max(kernel.statements.values(), key=lambda one: len(points(one.domain, sizes)))


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("extent", [1, 2, 3, 9])
def test_the_inside_of_a_periodic_array_has_plain_subscripts(rank: int, extent: int) -> None:
    sizes = dict.fromkeys("nm", extent)
    kernel = same_values(_periodic(rank), sizes)
    assert 1 < len(kernel.statements) <= MOST_PARTS
    assert not has_cases(_largest(kernel, dict.fromkeys("nm", 9)))


def test_too_many_parts_leave_the_statement_whole() -> None:
    kernel = same_values(_periodic(3), dict.fromkeys("nmk", 4))
    assert len(kernel.statements) == 1


def test_dependent_instances_stay_in_one_nest() -> None:
    build = KernelBuilder("dependent")
    n = build.parameter("n", minimum=2)
    x = build.inout("x", "f32", (n,))
    with build.loops(i=n) as i:
        x[i] = x[_wrapped(i, n, -1)] * 0.5
    assert len(same_values(build.kernel()).statements) == 1


@pytest.mark.parametrize("seed", range(cases(12)))
def test_random_subscripts_with_cases(seed: int) -> None:
    draw = random.Random(seed)
    build = KernelBuilder(f"cases_{seed}")
    n, m = build.parameter("n", minimum=3), build.parameter("m", minimum=3)
    x, y = build.input("x", "i32", (n, m)), build.output("y", "i32", (n, m))

    def subscript(i: Operand, extent: Operand) -> Expression:
        by = draw.randint(-2, 2)
        return draw.choice((_wrapped, _clamped))(i, extent, by)

    with build.loops(i=n, j=m) as (i, j):
        reads = [x[subscript(i, n), subscript(j, m)] for _ in range(draw.randint(1, 3))]
        y[i, j] = sum(reads[1:], start=reads[0])
    for extent in (3, 4, 8):
        same_values(build.kernel(), {"n": extent, "m": draw.randint(3, 7)})

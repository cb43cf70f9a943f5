"""Random stages of a computation, recomputed in random tiles."""

from functools import reduce
from random import Random

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Expression
from polysched.legality.check import check
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import cases


def random_stages(random: Random) -> Kernel:
    """Two or three stages over rows and columns, each reading a window of the stages before.

    A first stage has just the elements that the last one reads at any size.
    """
    build = KernelBuilder("random_stages")
    n, m = build.parameter("n", minimum=1), build.parameter("m", minimum=1)
    depth = random.randint(1, 2)
    halo = [(random.randint(0, 2), random.randint(0, 2)) for _ in range(depth)]
    grown = [(0, 0)]
    for rows, columns in halo:
        grown.append((grown[-1][0] + rows, grown[-1][1] + columns))
    x = build.input("x", i32, (n + grown[-1][0], m + grown[-1][1]))
    read = x
    for stage in reversed(range(depth)):
        rows, columns = grown[stage + 1]
        stored = build.temporary(f"t{stage}", i32, (n + rows, m + columns))
        with (
            build.loops(i=n + rows, j=m + columns) as (i, j),
            build.statement(f"P{stage}"),
        ):
            stored[i, j] = 2 * read[i, j] if read is x else _window(read, i, j, halo[stage + 1])
        read = stored
    y = build.output("y", i32, (n, m))
    with build.loops(i=n, j=m) as (i, j), build.statement("C"):
        y[i, j] = _window(read, i, j, halo[0])
    return build.kernel()


def _window(array: ArrayHandle, i: Expression, j: Expression, size: tuple[int, int]) -> Expression:
    rows, columns = size
    loads: list[Expression] = [
        array[i + r, j + c] for r in range(rows + 1) for c in range(columns + 1)
    ]
    return reduce(lambda total, load: 3 * total - load, loads[1:], loads[0])


@pytest.mark.parametrize("seed", range(cases(6)))
def test_random_stages_in_random_tiles(seed: int) -> None:
    random = Random(seed)
    kernel = random_stages(random)
    stages = [name for name in reversed(list(kernel.statements)) if name != "C"]
    factors = (random.choice([1, 2, 5, 8]), random.choice([1, 4, 8]))
    schedule = Schedule(kernel).tile(("C.i", "C.j"), factors)
    outer, inner = random.choice([("io", "jo"), ("jo", "io")])
    schedule = schedule.reorder(outer, inner)
    first_outside = random.randint(0, len(stages))
    for number, stage in enumerate(stages):
        at = inner if number < first_outside else outer
        schedule = schedule.compute_at(stage, at, recompute=True)
    lanes = path(schedule.program.tree, stages[0])[-1].name
    if random.randint(0, 1) and lanes not in (inner, outer):
        schedule = schedule.vectorize(f"{stages[0]}.{lanes}", 4)
    elif random.randint(0, 1):
        schedule = schedule.parallel(random.choice([inner, outer]))
    verdict = check(schedule)
    assert verdict.is_legal, verdict.reason
    sizes = [{"n": random.randint(1, 19), "m": random.randint(1, 19)} for _ in range(3)]
    assert_agrees(schedule, *sizes)
    assert not last_writer_errors(schedule, sizes[0])

import random
from itertools import product

import pytest

from polysched.fuzz.judge.enumeration import (
    Enumeration,
    enumerate_kernel,
    keeps_order,
    runs_two_as_one,
    violated,
)
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.core.tree import executed, path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.semantics.points import evaluate_many
from polysched.ir.semantics.reference import instances
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, seidel
from tests.support.kernels import prefix
from tests.support.random_schedules import random_kernel, random_schedule


def enumerated(kernel: Kernel, largest: int = 4, most: int = 400) -> Enumeration:
    table = enumerate_kernel(kernel, dict.fromkeys(kernel.parameters, (0, largest)), most)
    assert table is not None
    return table


def breaks(schedule: Schedule) -> bool:
    tree = executed(schedule.program.tree)
    return bool(violated(enumerated(schedule.kernel, largest=6), tree).any())


@pytest.mark.parametrize(
    ("schedule", "broken"),
    [
        (Schedule(seidel()), False),
        (Schedule(seidel()).tile(("t", "i"), (2, 2)), True),
        (Schedule(seidel()).skew("i", "t").tile(("t", "i"), (2, 2)), False),
        (Schedule(prefix()).vectorize("i", 2), True),
        (Schedule(prefix()).split("i", 2).unroll("ii"), False),
        (Schedule(prefix()).parallel("i"), True),
        (Schedule(matmul()).reverse("k"), True),
        (Schedule(matmul("any")).reverse("k"), False),
        (Schedule(matmul("any")).vectorize("k", 2), True),
        (Schedule(matmul("any")).parallel("k"), True),
        (Schedule(matmul()).parallel("update.i").parallel("update.j"), False),
        (Schedule(matmul()).vectorize("update.j", 2), False),
        # The lanes read a column to the right before any of them writes.
        (Schedule(copy_shifted(0, -1)).vectorize("j", 2), False),
        (Schedule(copy_shifted(0, -1)).parallel("j"), True),
        (Schedule(copy_shifted(1, -1)).parallel("j"), False),
        (Schedule(copy_shifted(1, -1)).parallel("i"), True),
    ],
)
def test_orders(schedule: Schedule, broken: bool) -> None:
    assert breaks(schedule) == broken


def test_the_first_to_run_as_one_are_seen() -> None:
    schedule = Schedule(seidel())
    tree = executed(schedule.program.tree)
    assert not runs_two_as_one(enumerated(schedule.kernel), tree)
    (outer,) = [loop for loop in path(tree, "S") if loop.name == "t"]
    assert runs_two_as_one(enumerated(schedule.kernel), outer.body)


def conflicts_one_by_one(kernel: Kernel, size: int) -> set[tuple[object, ...]]:
    """The ordered pairs on one element, found as slowly and plainly as can be."""
    touches = []
    for number, (name, instance) in enumerate(instances(kernel, {"N": size, "M": size})):
        statement = kernel.statements[name]
        variables = {"N": size, "M": size} | dict(zip(statement.indices, instance, strict=True))
        for position, access in enumerate(statement.accesses):
            element = tuple(int(evaluate_many(one, variables)) for one in access.subscripts)
            touches.append((number, name, instance, position, (access.array, element)))
    found = set()
    for first, second in product(touches, touches):
        if first[0] < second[0] and first[4] == second[4] and 0 in (first[3], second[3]):
            reduction = kernel.statements[first[1]].reduction
            free = (
                first[1] == second[1]
                and reduction is not None
                and reduction.order is Order.ANY
                and {first[3], second[3]} <= {0, reduction.read}
            )
            together = first[1] == second[1] and second[3] == 0 and not free and first[3] != 0
            found.add((first[1], first[2], second[1], second[2], free, together))
    return found


def test_conflicts_are_those_found_one_by_one() -> None:
    compared = 0
    for seed in range(40):
        kernel = random_kernel(random.Random(seed).randint)
        table = enumerate_kernel(kernel, dict.fromkeys(kernel.parameters, (2, 2)), 60)
        if table is None:
            continue
        pairs = table.conflicts
        listed = {
            (
                *table.instances.at(int(first)),
                *table.instances.at(int(second)),
                bool(free),
                bool(together),
            )
            for first, second, free, together in zip(
                pairs.first, pairs.second, pairs.reorderable, pairs.reads_first, strict=True
            )
        }
        assert listed == conflicts_one_by_one(kernel, 2), seed
        compared += bool(listed)
    assert compared >= 15


def test_faults_of_the_kernel() -> None:
    build = KernelBuilder("faulty")
    size = build.parameter("N")
    t = build.temporary("t", i32, (size,))
    with build.loops(i=(1, size)) as i:
        t[i] = t[i - 1] + 1
    assert enumerated(build.kernel()).is_undefined
    build = KernelBuilder("outside")
    size = build.parameter("N")
    a = build.inout("a", i32, (size,))
    with build.loops(i=size) as i:
        a[i + 1] = 1
    assert enumerated(build.kernel()).is_outside
    table = enumerated(matmul())
    assert not table.is_outside
    assert not table.is_undefined


def test_random_schedules_run_nothing_twice() -> None:
    for seed in range(20):
        integers = random.Random(seed).randint
        kernel = random_kernel(integers)
        table = enumerate_kernel(kernel, dict.fromkeys(kernel.parameters, (0, 3)))
        if table is not None:
            schedule = random_schedule(integers, kernel, buffers=False)
            assert not runs_two_as_one(table, executed(schedule.program.tree))


def test_one_size() -> None:
    tree = executed(Schedule(prefix()).reverse("i").program.tree)
    assert keeps_order(prefix(), tree, {"n": 1})
    assert not keeps_order(prefix(), tree, {"n": 3})
    with pytest.raises(ValueError, match="at {'n': 30} there is too much to enumerate"):
        keeps_order(prefix(), tree, {"n": 30}, most=20)

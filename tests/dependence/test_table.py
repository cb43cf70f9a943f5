"""The dependences that share an answer of isl are those that each pair has on its own."""

from dataclasses import replace
from random import Random

import islpy as isl
import numpy as np
import pytest

from polysched.dependence.equivalence import EquivalenceClasses, distinct, pair_classes
from polysched.dependence.memory import memory_dependences
from polysched.dependence.relations import Dependence, DependenceKind, Reference
from polysched.dependence.table import DependenceTable, representatives, where, with_sink
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f64
from polysched.legality.check import find_violation
from polysched.legality.checks.bounds import undefined_violation
from polysched.legality.checks.order import breaks, demanded, keeps, pairs_of
from polysched.schedule.schedule import Schedule
from tests.support.alike import pairwise_dependences, random_kernel, random_schedule
from tests.support.effort import cases


def key(one: Dependence) -> tuple[object, ...]:
    return (one.kind, one.array, one.source, one.sink, one.reorderable, one.storage, one.may)


def assert_each_pair_is_found(kernel: Kernel) -> None:
    table, direct = memory_dependences(kernel), pairwise_dependences(kernel)
    assert len(table) == len(direct)
    for got, wanted in zip(table, direct, strict=True):
        assert key(got) == key(wanted)
        assert got.relation.is_equal(wanted.relation)
        assert got.relation.get_space().is_equal(wanted.relation.get_space())
        for end in (isl.dim_type.in_, isl.dim_type.out):
            names = [one.relation.get_var_names(end) for one in (got, wanted)]
            assert names[0] == names[1]


@pytest.mark.parametrize("seed", range(cases(8)))
def test_all_pairs_on_their_own(seed: int) -> None:
    assert_each_pair_is_found(random_kernel(Random(seed)))


def test_equal_subscripts_in_different_domains() -> None:
    build = KernelBuilder("domains")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", f64, (n + 8,))
    with build.loops(i=n):
        with build.loops(j=3) as j, build.statement("S"):
            x[j] = 1.0
        with build.loops(j=n + 8) as j, build.statement("T"):
            x[j] = 2.0
    assert_each_pair_is_found(build.kernel())


def test_each_write_that_a_read_may_see() -> None:
    build = KernelBuilder("writers")
    n = build.parameter("n", minimum=1)
    x, y = build.temporary("x", f64, (n + 1,)), build.output("y", f64, (n,))
    with build.statement("first"):
        x[0] = 1.0
    with build.loops(i=n) as i, build.statement("others"):
        x[i + 1] = 2.0
    with build.loops(i=n) as i, build.statement("use"):
        y[i] = x[i]
    kernel = build.kernel()
    found = with_sink(memory_dependences(kernel), Reference("use", 1))
    assert [one.source.statement for one in found] == ["first", "others"]
    assert undefined_violation(Schedule(kernel).program) is None


@pytest.mark.parametrize("seed", range(cases(8)))
def test_the_same_answers_of_any_order(seed: int) -> None:
    random = Random(1000 + seed)
    program = random_schedule(random, random_kernel(random, most=4)).program
    tree = executed(program.tree)
    listed = replace(program, dependences=tuple(program.dependences))
    one_by_one = all(next(breaks(tree, pairs_of(one)), None) is None for one in listed.dependences)
    assert keeps(tree, demanded(program.dependences)) == one_by_one
    assert find_violation(program) == find_violation(listed)
    assert undefined_violation(program) == undefined_violation(listed)


def many(count: int) -> Kernel:
    """Updates of one array, in one loop."""
    build = KernelBuilder("many")
    n = build.parameter("n", minimum=1)
    x = build.inout("x", f64, (n,))
    with build.loops(i=n) as i:
        for number in range(count):
            x[i] = x[i] + float(number)
    return build.kernel()


def test_few_questions_for_many_statements() -> None:
    program = Schedule(many(60)).program
    table = program.dependences
    assert isinstance(table, DependenceTable)
    assert (len(table), len(table.patterns)) == (3 * 60 * 59 // 2, 3)
    assert len(representatives(table, program.tree)) == 3
    assert len(with_sink(table, Reference("x_60", 1))) == 1
    assert len(where(table, lambda one: one.kind is DependenceKind.ANTI)) == 60 * 59 // 2
    assert not where(table, lambda one: one.storage)
    assert table[-1].sink == Reference("x_60", 0)


def test_a_list_of_records_is_taken_as_it_is() -> None:
    program = Schedule(many(3)).program
    records = list(program.dependences)
    assert representatives(records, program.tree) is records
    assert [one.source.statement for one in with_sink(records, Reference("x_3", 1))] == ["x", "x_2"]


def test_the_first_of_each_kind_represents() -> None:
    schedule = Schedule(many(5)).distribute("i", after="x_2")
    found = representatives(schedule.program.dependences, executed(schedule.program.tree))
    ends = {(one.source.statement, one.sink.statement) for one in found}
    assert ends == {("x", "x_2"), ("x", "x_3")}


def in_turn() -> Schedule:
    """Two loops that run alike, each of which carries a dependence."""
    build = KernelBuilder("two")
    x = build.inout("x", f64, (9,))
    for name in ("i", "j"):
        with build.loops(**{name: (1, 9)}) as index:
            x[index] = x[index - 1]
    return Schedule(build.kernel())


@pytest.mark.parametrize("schedule", [in_turn().reverse("j"), in_turn().parallel("j")])
def test_what_breaks_in_one_loop_only(schedule: Schedule) -> None:
    program = schedule.program
    violation = find_violation(program)
    assert violation is not None
    assert violation == find_violation(replace(program, dependences=list(program.dependences)))
    assert violation.loop == "j"


def test_numbers_up_to_names() -> None:
    numbers = EquivalenceClasses()
    first = numbers.up_to_names(isl.Set("[n] -> { S[i] : 0 <= i < n }"))
    assert numbers.up_to_names(isl.Set("[n] -> { T[j] : 0 <= j < n }")) == first
    assert numbers.up_to_names(isl.Set("[m] -> { S[i] : 0 <= i < m }")) != first
    assert numbers.up_to_names(isl.Set("[n] -> { S[i] : 0 <= i <= n }")) != first
    assert numbers.up_to_names(isl.Map("[n] -> { S[i] -> T[j] : 0 <= i < n }")) != first
    one = numbers.up_to_names(isl.PwAff("[n] -> { S[i] -> [(i + n)] }"))
    assert numbers.up_to_names(isl.PwAff("[n] -> { T[j] -> [(j + n)] }")) == one
    assert numbers.up_to_names(isl.PwAff("[n] -> { T[j] -> [(j - n)] }")) != one


@pytest.mark.parametrize("scale", [1, 2**20, 2**40])
def test_distinct_combinations(scale: int) -> None:
    left = np.array([3, 1, 3, 3, 1], np.int64) * scale
    right = np.array([7, 7, 7, -8, 7], np.int64) * scale
    first, which = distinct(left, right)
    assert first[which].tolist() == [0, 1, 0, 3, 1]
    empty = np.zeros(0, np.int64)
    assert [one.tolist() for one in distinct(empty)] == [[], []]


def test_classes_of_pairs() -> None:
    tree = Schedule(many(3)).distribute("i", after="x_2").program.tree
    classes = pair_classes(tree, ("x", "x_2", "x_3"), EquivalenceClasses())
    assert classes[0, 2] == classes[1, 2] != classes[0, 1]
    assert classes[0, 1] != classes[1, 0]
    assert classes[0, 0] == classes[1, 1] == classes[2, 2]
    assert len(np.unique(classes)) == 5

"""Work that the search avoids: bounds before exact costs, and nests that it has met before."""

from itertools import islice
from types import MappingProxyType

import pytest

from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.cost.statement import core_cost, statement_cost
from polysched.autoscheduler.forms.candidate import Situation
from polysched.autoscheduler.forms.nests import loop_value, outer_nests, statement_value, tree_value
from polysched.autoscheduler.recipes.register_tile import (
    _ranked,
    _simple_plans,
    _tiled_plans,
    _weight,
    register_tile,
)
from polysched.ir.core.kernel import Kernel
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule
from tests.support import kernels

MACHINE = PRESETS["skylake-avx512"]
SIZES = MappingProxyType({"m": 700, "n": 800, "k": 900})


def situation(kernel: Kernel, most_cycles: float = float("inf")) -> Situation:
    schedule = Schedule(kernel)
    nest = list(outer_nests(schedule.program.tree))[-1]
    sizes = {name: SIZES.get(name, 1000) for name in kernel.parameters}
    return Situation(schedule, nest, MACHINE, sizes, most_cycles=most_cycles)


@pytest.mark.parametrize("make", [kernels.scale, kernels.jacobi, kernels.seidel])
def test_plans_come_in_the_order_of_their_costs(make: object) -> None:
    """The lazy ranking gives the order of a stable sort by predicted cost."""
    given = situation(make())  # type: ignore[operator]
    name = given.nest.statements[0]
    facts = shared_facts(given.schedule.program, name, given.sizes)
    chain = [loop.name for loop in given.nest.chain]
    simple = list(_simple_plans(chain, 8, facts))
    plans = [*simple, *(tiled for plan in simple for tiled in _tiled_plans(plan, facts))]
    costs = [(statement_cost(plan.facts(facts), MACHINE), plan) for plan in plans]
    expected = sorted(costs, key=lambda pair: pair[0].cycles * _weight(pair[1]))
    assert list(_ranked(given, facts, plans)) == expected
    for plan in plans:
        assert (
            core_cost(plan.facts(facts), MACHINE).cycles
            <= statement_cost(plan.facts(facts), MACHINE).cycles
        )


def test_tiles_that_cannot_gain_are_not_proposed() -> None:
    proposed = list(islice(register_tile(situation(kernels.scale())), 1))
    assert proposed[0].cycles > 0
    assert list(register_tile(situation(kernels.scale(), proposed[0].cycles / 2))) == []
    assert list(register_tile(situation(kernels.scale(), 2 * proposed[0].cycles))) != []


def test_nests_are_compared_by_value() -> None:
    kernel = kernels.jacobi()
    once, again = (Schedule(kernel).split("s", 4).program.tree for _ in range(2))
    other = Schedule(kernel).split("s", 8).program.tree
    assert once is not again
    assert tree_value(once) == tree_value(again)
    assert tree_value(once) != tree_value(other)
    (first, *_), (second, *_) = (list(outer_nests(tree)) for tree in (once, other))
    inner = first.chain[0].statements
    assert loop_value(first.chain[0], inner) != loop_value(second.chain[0], inner)


def test_statements_are_compared_by_value() -> None:
    one, other = (kernels.jacobi.__wrapped__().statements for _ in range(2))  # declared twice
    for name in one:
        assert one[name] is not other[name]
        assert statement_value(one[name]) == statement_value(other[name])
    values = [statement_value(statement) for statement in one.values()]
    assert len(set(values)) == len(values)

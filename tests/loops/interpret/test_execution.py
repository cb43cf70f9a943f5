"""The order in which loops run; what they compute is tested with the interpreter."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant
from polysched.loops.interpret.execution import (
    Around,
    IterationOrder,
    ascending,
    compile_loops,
    descending,
    shuffled,
)
from polysched.loops.ir.nodes import Allocate, Assign
from tests.loops.programs import assign, loop, vector


@dataclass
class Journal:
    """Writes down what happens."""

    lines: list[str] = field(default_factory=list)

    def read(self, array: str, position: tuple[int, ...]) -> int:
        raise AssertionError("no bound or condition reads")

    def assignment(self, node: Assign, around: Around) -> "Entry":
        return Entry(self, node, around)

    def born(self, array: str, variables: Mapping[str, int]) -> None:
        self.lines.append(f"born {array} {sorted(variables.items())}")

    def dies(self, array: str) -> None:
        self.lines.append(f"dies {array}")


@dataclass(frozen=True)
class Entry:
    journal: Journal
    node: Assign
    around: Around

    def at(self, variables: Mapping[str, int]) -> str:
        return " ".join(str(variables[one.variable]) for one in self.around)

    def evaluate(self, variables: Mapping[str, int]) -> str:
        self.journal.lines.append(f"read {self.at(variables)}")
        return self.at(variables)

    def write(self, variables: Mapping[str, int], evaluated: str) -> None:
        assert evaluated == self.at(variables)
        self.journal.lines.append(f"write {evaluated}")


def journal(node, order: IterationOrder = ascending) -> list[str]:
    kept = Journal()
    compile_loops(node, kept, order)({})
    return kept.lines


STORE = assign("y", (0,), Constant(0, i32), instance=())


def writes(kind: LoopKind, order: IterationOrder) -> list[str]:
    lines = journal(loop("i", 0, 2, loop("j", 0, 4, STORE, kind=kind)), order)
    return [line.removeprefix("write ") for line in lines if line.startswith("write")]


def test_only_parallel_loops_take_the_order() -> None:
    upwards = [f"{i} {j}" for i in range(2) for j in range(4)]
    assert writes(LoopKind.SEQUENTIAL, descending) == upwards
    assert writes(LoopKind.UNROLLED, descending) == upwards
    assert writes(LoopKind.VECTOR, descending) == upwards
    assert writes(LoopKind.PARALLEL, ascending) == upwards
    assert writes(LoopKind.PARALLEL, descending) == [
        f"{i} {j}" for i in range(2) for j in reversed(range(4))
    ]


def test_a_shuffled_order_runs_every_iteration_once_and_is_repeatable() -> None:
    orders = {tuple(writes(LoopKind.PARALLEL, shuffled(seed))) for seed in range(20)}
    assert {tuple(sorted(order)) for order in orders} == {
        tuple(f"{i} {j}" for i in range(2) for j in range(4))
    }
    assert len(orders) > 10
    assert writes(LoopKind.PARALLEL, shuffled(7)) == writes(LoopKind.PARALLEL, shuffled(7))


def test_lanes_read_together() -> None:
    assert journal(vector("i", 0, 2, STORE, STORE)) == 2 * [
        "read 0",
        "read 1",
        "write 0",
        "write 1",
    ]


def test_a_buffer_is_born_at_every_entry() -> None:
    assert journal(loop("i", 0, 2, Allocate("b", STORE))) == [
        line
        for i in range(2)
        for line in (f"born b [('i', {i})]", f"read {i}", f"write {i}", "dies b")
    ]


@pytest.mark.parametrize("order", [ascending, descending, shuffled(1)])
def test_orders_of_nothing(order: IterationOrder) -> None:
    assert list(order(range(0))) == []

from dataclasses import replace

import numpy as np
import pytest

from polysched.fuzz.judge import machine as machine_judge
from polysched.fuzz.judge.judgment import Finding, Judgment, Mode
from polysched.fuzz.judge.machine import judge_machine
from polysched.fuzz.judge.subject import Subject
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.traversal import transform
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.schedule.schedule import Schedule
from tests.fuzz.judging import JUDGES
from tests.legality.kernels import matmul
from tests.support.kernels import reductions, scale
from tests.support.strided import plane

LEGAL = Verdict(VerdictKind.LEGAL)


def judged(subject: Subject, schedule: Schedule) -> Judgment:
    return judge_machine(subject, schedule, LEGAL, JUDGES.machine)


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(scale()).vectorize("i", 8),
        Schedule(reductions()).vectorize("i", 4),
        Schedule(matmul("any")).split("k", 4).reorder("ko", "update.i", "update.j", "ki"),
        Schedule(scale(dtype=f32)),
    ],
)
def test_right_results(schedule: Schedule) -> None:
    assert judged(Subject(schedule.kernel), schedule) == Judgment(Mode.MACHINE, VerdictKind.LEGAL)


def changed(kernel: Kernel) -> Kernel:
    """The same kernel but for its constants, each larger by a little."""
    statements = {
        name: replace(
            statement,
            value=transform(
                statement.value,
                lambda node: (
                    replace(node, value=node.value + (1e-3 if node.dtype == f32 else 1))
                    if isinstance(node, Constant)
                    else None
                ),
            ),
        )
        for name, statement in kernel.statements.items()
    }
    return replace(kernel, statements=statements)


@pytest.mark.parametrize("kernel", [scale(), scale(dtype=f32)])
def test_wrong_results_are_seen(kernel: Kernel) -> None:
    found = judged(Subject(kernel), Schedule(changed(kernel)))
    assert found.finding is Finding.WRONG_RESULT
    assert found.detail == "at {'n': 4}: array 'y' differs"


def test_what_nears_an_overflow_is_not_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    subject = Subject(scale(dtype=f32))
    largest = np.finfo(np.float32).max
    near = np.array([largest, 1], np.float32)
    agrees = machine_judge._agrees
    assert agrees(np.array([np.inf, 1], np.float32), near, subject, {"n": 2})
    assert not agrees(np.array([2, 1], np.float32), np.array([1, 1], np.float32), subject, {"n": 2})


def test_writes_into_gaps_are_seen() -> None:
    schedule = Schedule(plane(5, 6, None, (9, 1)))
    subject = Subject(schedule.kernel)
    assert judged(subject, schedule).finding is None
    places = machine_judge._places(subject, {})
    y = places["y"]
    y.array[...] = subject.run({}).results["y"]
    assert machine_judge._wrong(subject, {}, places) == ""
    y.memory[y.start + 6 * y.array.itemsize] = 1
    wanted = "at {}: array 'y' is written outside of its elements"
    assert machine_judge._wrong(subject, {}, places) == wanted


def test_arguments_lie_at_all_offsets() -> None:
    subject = Subject(scale())
    offsets = {
        place.array.ctypes.data % 64
        for size in range(1, 12)
        for place in machine_judge._places(subject, {"n": size}).values()
    }
    assert 0 in offsets
    assert len(offsets) >= 4


def test_floats_that_round_operation_by_operation_are_compared_bit_for_bit() -> None:
    agrees = machine_judge._agrees
    one, other = np.array([1, np.nan], np.float32), np.array([1 + 2**-23, np.nan], np.float32)
    subject = Subject(scale(dtype=f32))
    exact = Subject(replace(subject.kernel, fp_contract=False))
    assert agrees(one, other, subject, {"n": 2})
    assert not agrees(one, other, exact, {"n": 2})
    assert agrees(one, one.copy(), exact, {"n": 2})

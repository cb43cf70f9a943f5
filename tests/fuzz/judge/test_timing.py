import random

import numpy as np

from polysched.fuzz.judge.instances import list_instances
from polysched.fuzz.judge.timing import times
from polysched.ir.core.tree import executed
from polysched.ir.semantics.points import ranks
from polysched.ir.semantics.reference import instances
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import matmul
from tests.support.random_schedules import random_kernel


def test_times_of_an_unchanged_program_are_its_order() -> None:
    for seed in range(10):
        kernel = random_kernel(random.Random(seed).randint)
        listed = list_instances(kernel, dict.fromkeys(kernel.parameters, (3, 3)), 400)
        if listed is None:
            continue
        order = np.argsort(ranks(times(listed, kernel.body).rows), kind="stable")
        expected = list(instances(kernel, {"N": 3, "M": 3}))
        assert [listed.at(int(row)) for row in order] == expected


def test_lanes_are_no_part_of_the_time() -> None:
    schedule = Schedule(matmul()).vectorize("update.j", 2).parallel("update.i")
    listed = list_instances(schedule.kernel, {"N": (3, 3)}, 100)
    assert listed is not None
    found = times(listed, executed(schedule.program.tree))
    updates = slice(9, None)
    assert sorted(set(found.lanes[updates].ravel().tolist())) == [0, 1]
    assert len(np.unique(found.rows[updates], axis=0)) == 3 * 2 * 3
    ((column, below),) = found.parallel
    assert below == {"update"}
    assert sorted(set(found.rows[updates][:, column].tolist())) == [0, 1, 2]


def test_ranks() -> None:
    assert ranks(np.array([[1, 2], [0, 5], [1, 2], [1, 1]])).tolist() == [3, 1, 3, 2]
    assert ranks(np.empty((3, 0), np.int64)).tolist() == [0, 0, 0]

"""Random kernels, random schedules: what the checker accepts computes what was declared."""

from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from polysched.errors import LoweringError
from polysched.ir.expr.dtypes import bf16, f16, f32, i32, i64
from polysched.legality.check import check
from polysched.loops.generate import generate_loops
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees
from tests.support.effort import cases
from tests.support.strategies import random_kernels, random_schedules

QUOTA = 1_000_000
"""Operations of isl for one question: what takes longer is left out, to bound the time."""


def _takes_not_long(schedule: Schedule) -> bool:
    try:
        generate_loops(schedule.program, quota=QUOTA)
    except LoweringError as error:
        if "operations it was given" in str(error):
            return False
        raise
    return True


@settings(
    max_examples=cases(12),
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
)
@given(
    random_schedules(st.sampled_from([i32, i64, f32, bf16, f16]).flatmap(random_kernels), steps=6)
)
def test_accepted_means_equal(schedule: Schedule) -> None:
    assume(check(schedule, quota=QUOTA).is_legal)
    assume(_takes_not_long(schedule))
    parametric = [{"n": n} for n in (0, 1, 5, 9)]
    assert_agrees(schedule, *(parametric if schedule.kernel.parameters else [{}]))

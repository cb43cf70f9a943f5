"""The checker against judges that know nothing of it, on random schedules, both ways."""

import random
from collections import Counter

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polysched.legality.verdict import VerdictKind
from tests.legality.fuzz import describe, is_wrong, judge_by_enumeration, judge_by_running
from tests.legality.random_programs import Integers

thorough = settings(
    max_examples=250,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def drawn(data: st.DataObject) -> Integers:
    def integers(low: int, high: int) -> int:
        return data.draw(st.integers(low, high))

    return integers


@thorough
@given(st.data())
def test_the_verdict_on_order_is_that_of_enumeration(data: st.DataObject) -> None:
    judged = judge_by_enumeration(drawn(data))
    assert not is_wrong(judged), describe(judged)


@thorough
@given(st.data())
def test_what_is_accepted_computes_the_right_results(data: st.DataObject) -> None:
    judged = judge_by_running(drawn(data))
    assert not is_wrong(judged), describe(judged)


def test_legal_and_illegal_schedules_are_met_and_small_ones_are_never_unknown() -> None:
    verdicts = Counter(
        judge_by_enumeration(random.Random(seed).randint).verdict for seed in range(60)
    )
    assert verdicts[VerdictKind.UNKNOWN] == 0
    assert verdicts[VerdictKind.LEGAL] >= 10
    assert verdicts[VerdictKind.ILLEGAL] >= 10

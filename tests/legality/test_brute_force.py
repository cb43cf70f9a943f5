"""The checker against judges that know nothing of it, on random kernels and schedules, both ways."""

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from polysched.legality.verdict import VerdictKind
from tests.legality.fuzz import describe, judge_by_enumeration, judge_by_running
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
    expected = VerdictKind.LEGAL if judged.really_legal else VerdictKind.ILLEGAL
    assert judged.verdict is expected, describe(judged)


@thorough
@given(st.data())
def test_what_is_accepted_computes_the_right_results(data: st.DataObject) -> None:
    judged = judge_by_running(drawn(data))
    assert judged.verdict is not VerdictKind.UNKNOWN, describe(judged)
    if judged.verdict is VerdictKind.LEGAL:
        assert judged.really_legal, describe(judged)

"""Where sums start anew, and whether they wait for those before."""

from __future__ import annotations

from polysched.autoscheduler.cost.program import shared_facts
from polysched.autoscheduler.facts.statement import StatementFacts
from polysched.frontends.scop import parse_c
from polysched.schedule.schedule import Schedule

SOURCE = """
void sums(int n, const double A[n][n], double x[restrict n], double y[restrict n])
{{
    for (int i = 0; i < n; i++) {{
        double s = {start};
        for (int k = 0; k < i; k++) s += A[i][k] * x[{term}];
        {end}
    }}
}}
"""


def facts(start: str = "0", term: str = "k", end: str = "y[i] = s;") -> StatementFacts:
    source = SOURCE.format(start=start, term=term, end=end)
    return shared_facts(Schedule(parse_c(source).kernel).program, "s_2", {"n": 100})


def test_a_sum_starts_anew_where_its_target_is_overwritten() -> None:
    assert facts().target.born_in == {"i"}


def test_a_sum_of_elements_that_nothing_writes_does_not_wait() -> None:
    assert facts().waits_in == frozenset()


def test_a_sum_waits_for_an_element_that_it_reads_first() -> None:
    assert facts(end="x[i] = s;").waits_in == frozenset()
    assert facts(end="x[i] = s;", term="i - 1 - k").waits_in == {"i"}


def test_a_sum_waits_for_an_element_that_is_written_again_and_again() -> None:
    assert facts(end="x[0] = s;").waits_in == {"i"}


def test_a_vector_with_the_element_that_was_stored_last_stalls() -> None:
    for end, stalls in (("x[i] = s;", {"i"}), ("y[i] = s;", set())):
        source = SOURCE.format(start="1", term="k", end=end)
        kernel = parse_c(source).with_fast_math().kernel
        program = Schedule(kernel).vectorize_reduction("s_2", "k", 8).program
        assert shared_facts(program, "s_2", {"n": 100}).stalls_in == stalls

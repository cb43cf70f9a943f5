"""Whole iterations on lanes, with their short loops written out."""

from __future__ import annotations

from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.autoscheduler.forms.candidate import Proposal, Situation
from polysched.autoscheduler.forms.nests import outer_nests
from polysched.autoscheduler.recipes.written_out import written_out
from polysched.frontends.scop import parse_c
from polysched.legality.check import check
from polysched.lower import show
from polysched.machine.presets import PRESETS
from polysched.schedule.primitives.unroll import Unroll
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule
from tests.support.differential import assert_agrees

POLYNOMIAL = """
void f(int n, const double c[restrict 5], const double x[restrict n], double y[restrict n])
{
    for (int i = 1; i < n; i++) {
        double value = c[4];
        for (int k = 3; k >= 0; k--)
            value = value * x[i] + c[k];
        y[i] = value;
    }
}
"""


def proposals(text: str) -> tuple[Schedule, list[Proposal]]:
    schedule = Schedule(parse_c(text).kernel)
    (nest,) = outer_nests(schedule.program.tree)
    sizes = model_sizes(schedule.kernel, None)
    return schedule, list(written_out(Situation(schedule, nest, MACHINE, sizes)))


MACHINE = PRESETS["skylake-avx512"]


def test_two_vectors_first_then_one() -> None:
    schedule, found = proposals(POLYNOMIAL)
    assert [one.reason.split(" run ")[0] for one in found] == [
        "2 vectors of 8 lanes",
        "one vector of 8 lanes",
    ]
    for proposal in found:
        changed = schedule
        for step in proposal.steps:
            changed = changed.then(step)
        assert check(changed).is_legal
        assert_agrees(changed, {"n": 2}, {"n": 37})


def test_the_short_loop_is_unrolled_and_the_lanes_run_around_it() -> None:
    _, (first, _) = proposals(POLYNOMIAL)
    assert Unroll("value_2.k") in first.steps
    assert any(isinstance(one, Vectorize) and one.loop == "value.ii" for one in first.steps)


def test_long_and_unknown_loops_are_not_written_out() -> None:
    assert (
        proposals(POLYNOMIAL.replace("[restrict 5]", "[restrict 99]").replace("3;", "97;"))[1] == []
    )
    unknown = """
    void f(int n, int m, const double x[restrict m], double y[restrict n])
    {
        for (int i = 0; i < n; i++) {
            y[i] = 0;
            for (int k = 0; k < m; k++)
                y[i] += x[k];
        }
    }
    """
    assert proposals(unknown)[1] == []


def test_nothing_is_proposed_for_a_single_statement() -> None:
    text = """
    void f(int n, const double x[restrict n], double y[restrict n])
    {
        for (int i = 0; i < n; i++)
            y[i] = 2 * x[i];
    }
    """
    assert proposals(text)[1] == []


def test_sums_of_a_few_terms_are_not_distributed() -> None:
    schedule, _ = proposals(POLYNOMIAL)
    found = optimize_schedule(schedule, MACHINE)
    (decision,) = found.decisions
    assert "run whole iterations of i" in decision.reason
    assert found.after.costs["value_2"].bound == "arithmetic"


def test_rows_of_half_a_vector_get_lanes_of_their_own() -> None:
    """Rows that share vectors need shuffles; a register of half the width needs none."""
    schedule, found = proposals("""
    void f(int n, const float a[restrict n][8][8], const float b[restrict n][8][8],
           float c[restrict n][8][8])
    {
        for (int m = 0; m < n; m++)
            for (int i = 0; i < 8; i++)
                for (int j = 0; j < 8; j++) {
                    float sum = 0;
                    for (int k = 0; k < 8; k++)
                        sum += a[m][i][k] * b[m][k][j];
                    c[m][i][j] = sum;
                }
    }
    """)
    reasons = [one.reason for one in found]
    assert any("2 vectors of 8 lanes run whole iterations of j" in one for one in reasons)
    assert not any(
        "share vectors" in one or "16 lanes run whole iterations of j" in one for one in reasons
    )
    changed = schedule
    for step in found[0].steps:
        changed = changed.then(step)
    assert check(changed).is_legal
    assert_agrees(changed, {"n": 1}, {"n": 3})


def test_rows_of_half_a_vector_share_vectors_of_256_bits() -> None:
    """Shuffles within halves of 128 bits are single instructions of one cycle."""
    text = """
    void f(int n, const float a[restrict n][4][4], const float b[restrict 4][4],
           float c[restrict n][4][4])
    {
        for (int v = 0; v < n; v++)
            for (int i = 0; i < 4; i++)
                for (int j = 0; j < 4; j++) {
                    c[v][i][j] = 0;
                    for (int k = 0; k < 4; k++)
                        c[v][i][j] += a[v][i][k] * b[k][j];
                }
    }
    """
    found = optimize_schedule(Schedule(parse_c(text).kernel), PRESETS["haswell-avx2"])
    assert "rows of 4 share vectors" in found.decisions[-1].reason
    assert "maskmov" not in show(found.schedule, "asm", machine="haswell-avx2")
    assert_agrees(found.schedule, {"n": 1}, {"n": 7}, machine="haswell-avx2")

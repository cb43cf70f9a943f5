"""Statements inside loops: what the loops around enforce, and what it implies, is left out."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from polysched.loops.scan.inequalities import AffineExpr, System
from polysched.loops.scan.runs import Run, without


def run(*inequalities: AffineExpr, box: dict[int, tuple[int, int]]) -> Run:
    return Run("S", System(inequalities, box))


def below(end: int, *terms: tuple[int, int]) -> AffineExpr:
    """``sum of terms < end``."""
    return AffineExpr(tuple((variable, -factor) for variable, factor in terms), end - 1)


def test_what_loops_enforce_is_left_out() -> None:
    one, other = below(9, (0, 2)), below(5, (1, 3))
    kept = without(run(one, other, box={0: (0, 9), 1: (0, 9)}), frozenset({one}))
    assert kept.system.inequalities == (other,)


def test_what_follows_from_what_loops_enforce_is_left_out() -> None:
    """A block of 18 in tiles of 4, of which 4 blocks a thread begin at the thread's first."""
    begins = AffineExpr(((0, -4), (1, 1)), 0)
    block = run(
        AffineExpr(((0, -72), (1, 18), (2, 4), (3, 1)), 0),
        AffineExpr(((0, 72), (1, -18), (2, -4), (3, -1)), 71),
        below(18, (2, 4), (3, 1)),
        box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)},
    )
    ends = AffineExpr(((0, 4), (1, -1)), 3)
    kept = without(block, frozenset({begins, ends}))
    assert kept.system.inequalities == (below(18, (2, 4), (3, 1)),)


def test_what_does_not_follow_is_kept() -> None:
    """With blocks of 17 the first tile may begin before the block."""
    late = AffineExpr(((0, -72), (1, 17), (2, 4), (3, 1)), 0)
    block = run(late, box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)})
    kept = without(block, frozenset({AffineExpr(((0, -4), (1, 1)), 0)}))
    assert kept.system.inequalities == (late,)


def test_a_demand_of_more_is_kept() -> None:
    """A thread's last block is one short: 17 of its 18."""
    shorter, whole = (
        AffineExpr(((0, 72), (1, -18), (2, -4), (3, -1)), 70),
        below(18, (2, 4), (3, 1)),
    )
    block = run(shorter, whole, box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)})
    kept = without(block, frozenset({AffineExpr(((0, 4), (1, -1)), 3)}))
    assert kept.system.inequalities == (shorter, whole)


FACTORS = st.integers(-3, 3).filter(bool)
SUMS = st.builds(
    lambda factors, constant: AffineExpr(tuple(sorted(factors.items())), constant),
    st.dictionaries(st.integers(0, 2), FACTORS, max_size=3),
    st.integers(-6, 6),
)


@given(st.lists(SUMS, max_size=3), st.lists(st.tuples(st.integers(1, 3), SUMS), max_size=3))
def test_nothing_is_left_out_that_says_more(
    enforced: list[AffineExpr], multiples: list[tuple[int, AffineExpr]]
) -> None:
    """Inequalities that are likely to follow: multiples of the enforced ones and something else."""
    inequalities = [one for _, one in multiples]
    inequalities += [
        one.plus(known, factor) for known, (factor, one) in zip(enforced, multiples, strict=False)
    ]
    box = {0: (-1, 2), 1: (0, 3), 2: (-2, 1)}
    whole = run(*inequalities, box=box)
    kept = without(whole, frozenset(enforced)).system.inequalities
    for point in product(*(range(low, high + 1) for low, high in box.values())):
        at = {depth: (value, value) for depth, value in enumerate(point)}
        if all(one.least(at) >= 0 for one in (*enforced, *kept)):
            assert all(one.least(at) >= 0 for one in inequalities)

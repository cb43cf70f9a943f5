"""Where loops are cut: at the outermost one that can tell whether fixed loops are whole."""

from itertools import product

from hypothesis import given
from hypothesis import strategies as st

from polysched.loops.scan.full_ranges import Run, hull, parts, with_value, without
from polysched.loops.scan.inequalities import AffineExpr, System, not_negative


def run(*inequalities: AffineExpr, fixed: set[int], box: dict[int, tuple[int, int]]) -> Run:
    return Run("S", System(inequalities, box), frozenset(fixed))


def below(end: int, *terms: tuple[int, int]) -> AffineExpr:
    """``sum of terms < end``."""
    return AffineExpr(tuple((variable, -factor) for variable, factor in terms), end - 1)


def ranges(runs: list[Run], depth: int = 0) -> list[tuple[int, int]] | None:
    cut = parts(runs, depth)
    return None if cut is None else [hull(part.runs, depth) for part in cut]


def test_the_last_iteration_is_partial() -> None:
    tail = run(below(10, (0, 4), (1, 1)), fixed={1}, box={0: (0, 2), 1: (0, 3)})
    assert ranges([tail]) == [(0, 1), (2, 2)]
    whole, last = parts([tail], 0) or ()
    assert whole.runs[0].system.inequalities == ()
    assert last.runs[0].system.box == {0: (2, 2), 1: (0, 1)}


def test_the_first_iteration_is_partial() -> None:
    head = run(AffineExpr(((0, 4), (1, 1)), -2), fixed={1}, box={0: (0, 2), 1: (0, 3)})
    assert ranges([head]) == [(0, 0), (1, 2)]


def test_a_loop_that_is_not_fixed_is_no_reason_to_cut() -> None:
    tail = run(below(10, (0, 4), (1, 1)), fixed=set(), box={0: (0, 2), 1: (0, 3)})
    assert ranges([tail]) == [(0, 2)]


def test_an_outer_loop_that_cannot_tell_is_not_cut() -> None:
    """In the last block, 16 of 26, two tiles of four are full and one is not."""
    block = run(
        below(26, (0, 16), (1, 4), (2, 1)), fixed={2}, box={0: (0, 1), 1: (0, 3), 2: (0, 3)}
    )
    assert ranges([block]) == [(0, 1)]
    last = with_value(block, 0, AffineExpr((), 1))
    assert last is not None
    assert ranges([last], 1) == [(0, 1), (2, 2)]


def test_an_outer_loop_that_can_tell_is_cut() -> None:
    """In the last block, 16 of 18, no tile of four is full."""
    block = run(
        below(18, (0, 16), (1, 4), (2, 1)), fixed={2}, box={0: (0, 1), 1: (0, 3), 2: (0, 3)}
    )
    assert ranges([block]) == [(0, 0), (1, 1)]


def test_two_demands_on_one_fixed_loop_are_seen_together() -> None:
    """The vectors of a block of 19 are whole and not, whatever the block is."""
    block = run(
        below(19, (1, 16), (2, 1)),
        below(190, (0, 19), (1, 16), (2, 1)),
        fixed={2},
        box={0: (0, 9), 1: (0, 1), 2: (0, 15)},
    )
    assert ranges([block]) == [(0, 9)]


def test_the_cut_depends_on_the_loop_around() -> None:
    box = {0: (0, 1), 1: (0, 3), 2: (0, 3)}
    inner = run(below(26, (0, 16), (1, 4), (2, 1)), fixed={2}, box=box)
    whole, rest = parts([inner], 1) or ()
    assert whole.conditions == (below(23, (0, 16), (1, 4)),)
    assert whole.runs[0].system.inequalities == (not_negative(whole.conditions[0]),)
    assert rest.conditions == (below(23, (0, 16), (1, 4)).negated().plus(-1),)


def test_the_whole_part_is_whole_for_all_statements() -> None:
    first = run(below(10, (0, 4), (1, 1)), fixed={1}, box={0: (0, 2), 1: (0, 3)})
    second = run(below(7, (0, 4), (1, 1)), fixed={1}, box={0: (0, 1), 1: (0, 3)})
    assert ranges([first, second]) == [(0, 0), (1, 2)]


def test_cuts_at_several_places_that_depend_on_loops_around() -> None:
    box = {0: (0, 1), 1: (0, 3), 2: (0, 3)}
    first = run(below(26, (0, 16), (1, 4), (2, 1)), fixed={2}, box=box)
    second = run(below(19, (0, 11), (1, 4), (2, 1)), fixed={2}, box=box)
    assert ranges([first, second], 1) is None


def test_no_iteration_is_whole() -> None:
    never = run(below(3, (0, 4), (1, 1)), fixed={1}, box={0: (0, 0), 1: (0, 3)})
    assert ranges([never]) == [(0, 0)]


def test_what_loops_enforce_is_left_out() -> None:
    one, other = below(9, (0, 2)), below(5, (1, 3))
    kept = without(run(one, other, fixed=set(), box={0: (0, 9), 1: (0, 9)}), frozenset({one}))
    assert kept.system.inequalities == (other,)


def test_what_follows_from_what_loops_enforce_is_left_out() -> None:
    """A block of 18 in tiles of 4, of which 4 blocks a thread begin at the thread's first."""
    begins = AffineExpr(((0, -4), (1, 1)), 0)
    block = run(
        AffineExpr(((0, -72), (1, 18), (2, 4), (3, 1)), 0),
        AffineExpr(((0, 72), (1, -18), (2, -4), (3, -1)), 71),
        below(18, (2, 4), (3, 1)),
        fixed={3},
        box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)},
    )
    ends = AffineExpr(((0, 4), (1, -1)), 3)
    kept = without(block, frozenset({begins, ends}))
    assert kept.system.inequalities == (below(18, (2, 4), (3, 1)),)


def test_what_does_not_follow_is_kept() -> None:
    """With blocks of 17 the first tile may begin before the block."""
    late = AffineExpr(((0, -72), (1, 17), (2, 4), (3, 1)), 0)
    block = run(late, fixed={3}, box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)})
    kept = without(block, frozenset({AffineExpr(((0, -4), (1, 1)), 0)}))
    assert kept.system.inequalities == (late,)


def test_a_demand_of_more_is_kept() -> None:
    """A thread's last block is one short: 17 of its 18."""
    shorter, whole = (
        AffineExpr(((0, 72), (1, -18), (2, -4), (3, -1)), 70),
        below(18, (2, 4), (3, 1)),
    )
    block = run(shorter, whole, fixed={3}, box={0: (0, 1), 1: (0, 7), 2: (0, 4), 3: (0, 3)})
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
        one.with_times(factor, known)
        for known, (factor, one) in zip(enforced, multiples, strict=False)
    ]
    box = {0: (-1, 2), 1: (0, 3), 2: (-2, 1)}
    whole = run(*inequalities, fixed={2}, box=box)
    kept = without(whole, frozenset(enforced)).system.inequalities
    for point in product(*(range(low, high + 1) for low, high in box.values())):
        at = {depth: (value, value) for depth, value in enumerate(point)}
        if all(one.least(at) >= 0 for one in (*enforced, *kept)):
            assert all(one.least(at) >= 0 for one in inequalities)

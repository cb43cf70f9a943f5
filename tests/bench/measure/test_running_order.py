from collections import Counter
from itertools import pairwise

import pytest

from polysched.bench.measure.running_order import running_order
from polysched.errors import BenchError


def cycle(contestants: int) -> list[tuple[int, ...]]:
    length = contestants if contestants % 2 == 0 else 2 * contestants
    return [running_order(contestants, round_number) for round_number in range(length)]


@pytest.mark.parametrize("contestants", range(1, 10))
@pytest.mark.parametrize("round_number", [0, 1, 7, 100])
def test_everyone_runs_once_in_a_round(contestants: int, round_number: int) -> None:
    assert sorted(running_order(contestants, round_number)) == list(range(contestants))


@pytest.mark.parametrize("contestants", range(2, 10))
def test_everyone_follows_everyone_else_equally_often(contestants: int) -> None:
    followers = Counter(pair for order in cycle(contestants) for pair in pairwise(order))
    assert len(followers) == contestants * (contestants - 1)
    assert len(set(followers.values())) == 1


@pytest.mark.parametrize("contestants", range(1, 10))
def test_everyone_runs_in_every_position_equally_often(contestants: int) -> None:
    places = Counter(place for order in cycle(contestants) for place in enumerate(order))
    assert len(places) == contestants**2
    assert len(set(places.values())) == 1


def test_nobody_runs() -> None:
    assert running_order(0, 3) == ()


@pytest.mark.parametrize(("contestants", "round_number"), [(-1, 0), (2, -1)])
def test_negative_counts_are_refused(contestants: int, round_number: int) -> None:
    expected = f"got {contestants} contestants and round {round_number}"
    with pytest.raises(BenchError, match=expected):
        running_order(contestants, round_number)

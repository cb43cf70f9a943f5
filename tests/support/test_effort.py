from itertools import combinations

import pytest

from tests.support.effort import EFFORT, covering


@pytest.mark.skipif(EFFORT > 1, reason="more effort tries the whole product")
@pytest.mark.parametrize(("together", "most"), [(1, 4), (2, 16), (3, 24)])
def test_every_combination_of_some_axes_occurs(together: int, most: int) -> None:
    axes = {"a": "xyz", "b": [0, 1], "c": (4, 5, 6, 7)}
    names, rows = covering(together, **axes).args
    assert names == ("a", "b", "c")
    assert len(rows) <= most
    for chosen in combinations(range(3), together):
        count = 1
        for at in chosen:
            count *= len(axes[names[at]])
        assert len({tuple(row[at] for at in chosen) for row in rows}) == count


@pytest.mark.skipif(EFFORT > 1, reason="more effort tries the whole product")
def test_an_axis_of_several_arguments_and_a_short_axis_that_is_shared() -> None:
    names, rows = covering(1, c="xy", **{"a, b": [(1, 2), (3, 4), (5, 6), (7, 8)]}).args
    assert names == ("c", "a", "b")
    assert sorted(row[1:] for row in rows) == [(1, 2), (3, 4), (5, 6), (7, 8)]
    assert sorted(row[0] for row in rows) == ["x", "x", "y", "y"]

"""Random texts of contractions: numpy's result, or an error of polysched's own."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import PolyschedError
from polysched.frontends.einsum.call import einsum
from tests.support.effort import cases


@settings(max_examples=cases(100))
@given(st.text("iij.,-> a1", max_size=12), st.lists(st.integers(0, 3), min_size=1, max_size=3))
def test_numpy_agrees_or_it_is_refused(text: str, dimensions: list[int]) -> None:
    arrays = [np.arange(2.0**count).reshape((2,) * count) for count in dimensions]
    try:
        expected = np.einsum(text, *arrays)
    except (ValueError, TypeError):
        expected = None
    try:
        found = einsum(text, *arrays)
    except PolyschedError:
        return
    assert expected is not None
    np.testing.assert_array_equal(found, expected)

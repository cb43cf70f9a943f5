"""Arrays in other shapes are views or copies where numpy makes these."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from tests.frontends.python.same_results import require_same_results

pytestmark = pytest.mark.usefixtures("as_written")


def written_row(a):
    row = a.ravel()
    row[0] = 50
    return a.sum(), row.sum()


def changed_base(a):
    row = a.reshape(-1)
    a[:] = 0
    return row.sum()


def other_shape(a):
    b = a.reshape(3, 4)
    b[0, 1] = 50
    return a.sum(), a.reshape(2, -1).sum(axis=1)


def of_a_transpose(a):
    row = a.T.ravel()
    row[1] = 7
    return a.sum(), row.copy()


FUNCTIONS = [written_row, changed_base, other_shape, of_a_transpose]
GIVEN = np.arange(12.0).reshape(4, 3)


@pytest.mark.parametrize("function", FUNCTIONS)
def test_rows_of_contiguous_arrays_are_views(function: Any) -> None:
    own = ps.jit(function)
    require_same_results(own, function, GIVEN)
    for given, other in zip(arrays(), arrays(), strict=True):
        found, expected = own(given), function(other)
        np.testing.assert_array_equal(_first(found), _first(expected))
        np.testing.assert_array_equal(given, other)


def arrays() -> tuple[Any, ...]:
    return GIVEN.copy(), np.asfortranarray(GIVEN), GIVEN.reshape(3, 4).copy().T


def _first(result: Any) -> Any:
    return result[0] if isinstance(result, tuple) else result


@pytest.mark.parametrize("function", FUNCTIONS[:3])
def test_parts_of_arrays_are_refused_where_numpy_would_copy(function: Any) -> None:
    given = np.arange(48.0).reshape(8, 6)
    with pytest.raises(CallError, match="argument 'a' is not contiguous"):
        ps.jit(function)(given[::2, ::2])
    np.testing.assert_array_equal(given, np.arange(48.0).reshape(8, 6))


def only_read(a):
    return a.ravel().max(), a.reshape(6, 2)[1].copy(), a.flatten()


def test_parts_of_arrays_that_are_only_read() -> None:
    for given in (GIVEN, np.arange(48.0).reshape(8, 6)[::2, ::2]):
        require_same_results(ps.jit(only_read), only_read, given)

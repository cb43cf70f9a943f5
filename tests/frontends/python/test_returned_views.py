"""Views of arguments as results: they share the argument's memory, as in Python."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError, FrontendError
from tests.frontends.python.same_results import require_same_results
from tests.support.effort import covering

pytestmark = pytest.mark.usefixtures("as_written")


def inner(x):
    x[0] = 7
    return x[1:-1]


def turned(x):
    x += 1
    return x.T


def several(x):
    x[0] *= 2
    return x[::2, 1], x[:, ::-1], x[1], x[None, 2:]


def empty(x):
    return x[:, 2:2], x.sum()


def renamed(x):
    y = x
    y[1] = 3
    return y[1:], y


COMPILED = [ps.jit(function) for function in (inner, turned, several, empty, renamed)]


@covering(1, compiled=COMPILED, layout=[lambda a: a, lambda a: a.T, lambda a: a[:, ::2]])
def test_views_share_memory(compiled, layout) -> None:
    for _ in range(2):
        base, other = (np.arange(48.0).reshape(6, 8) for _ in range(2))
        own, expected = compiled(layout(base)), compiled.python(layout(other))
        if not isinstance(own, tuple):
            own, expected = (own,), (expected,)
        for one, another in zip(own, expected, strict=True):
            np.testing.assert_array_equal(one, another)
            if isinstance(one, np.ndarray) and one.size:
                assert np.shares_memory(one, base)
                assert one.strides == another.strides
                one[...] = -1
                another[...] = -1
        np.testing.assert_array_equal(base, other)


def parts(x):
    return x[1:3], x[-3:, 1:2], x[5::-1], x[1:, :4].T


PARTS = ps.jit(parts)


@pytest.mark.parametrize("rows", [4, 7, 2, 1, 0])
def test_views_end_with_the_array(rows: int) -> None:
    require_same_results(PARTS, parts, np.arange(7.0 * rows).reshape(rows, 7))


def test_a_row_outside_is_an_error() -> None:
    @ps.jit
    def own(x):
        return x[3]

    np.testing.assert_array_equal(own(np.eye(5)), np.eye(5)[3])
    with pytest.raises(CallError, match=r"x.shape\[0\] >= 4; got x.shape = \(3, 3\)"):
        own(np.eye(3))


def test_a_view_with_subscripts_from_data_is_refused() -> None:
    @ps.jit
    def picked(x, at):
        return x[at[0] :]

    with pytest.raises(FrontendError, match="at") as raised:
        picked(np.zeros(5), np.array([1, 2]))
    assert "^" in str(raised.value)


def cut(a):
    a = a[1:]
    a[0] = 9
    return a


def flipped(a):
    a = a.T
    a[0] = 9
    return a


def renamed(a, b):
    a = b
    a[0] = 9
    return a


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("function", [cut, flipped])
def test_an_argument_s_name_that_shows_a_view(function, order: str) -> None:
    own = ps.jit(function)
    for _ in range(2):
        a, b = (np.array(np.arange(6.0).reshape(2, 3), order=order) for _ in range(2))  # type: ignore[call-overload]
        result = own(a)
        np.testing.assert_array_equal(result, function(b))
        np.testing.assert_array_equal(a, b)
        assert np.shares_memory(result, a)


def test_an_argument_under_another_name_is_itself() -> None:
    a, b = np.zeros(3), np.ones(3)
    assert ps.jit(renamed)(a, b) is b


@ps.jit
def larger(x, limit):
    found, count = np.empty(len(x)), 0
    for value in x:
        if value > limit:
            found[count] = value
            count += 1
    return found[:count], count, x[count - 3 :], x[1:count].copy()


@pytest.mark.parametrize("limit", [0.5, -1.0, 2.0])
def test_data_decides_where_a_returned_slice_ends(limit) -> None:
    x = np.random.default_rng(1).random(9)
    for _ in range(2):
        require_same_results(larger, larger.python, x, limit)
    _, _, view, copied = larger(x, limit)
    assert not len(view) or np.shares_memory(view, x)
    assert not np.shares_memory(copied, x)

"""Views of arguments as results: they share the argument's memory, as in Python."""

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError
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


def test_a_view_with_subscripts_from_data_is_refused() -> None:
    @ps.jit
    def picked(x, at):
        return x[at[0] :]

    with pytest.raises(FrontendError, match="at") as raised:
        picked(np.zeros(5), np.array([1, 2]))
    assert "^" in str(raised.value)

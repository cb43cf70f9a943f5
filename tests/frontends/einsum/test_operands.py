"""Operands as contractions want them: views, types, extents."""

import numpy as np
import pytest

from polysched.errors import CallError
from polysched.frontends.einsum.operands import View, element_types, extents, view_of
from polysched.frontends.einsum.subscripts import parse_subscripts


def test_a_view_has_each_label_once_and_nothing_is_copied() -> None:
    array = np.arange(3 * 1 * 3 * 4 * 3).reshape(3, 1, 3, 4, 3)
    view = view_of(tuple("abaca"), array.shape, {"a": 3, "b": 7, "c": 4})
    assert view == View(("a", "c"), (1,), ((0, 1), (0, 2)))
    found = view.of(array)
    assert np.shares_memory(found, array)
    expected = np.array([[array[a, 0, a, c, a] for c in range(4)] for a in range(3)])
    np.testing.assert_array_equal(found, expected)


def test_extents_where_some_are_broadcast() -> None:
    subscripts = parse_subscripts("ij,jk", (2, 2))
    assert extents(subscripts, ((2, 1), (5, 3))) == {"i": 2, "j": 5, "k": 3}
    assert extents(subscripts, ((2, 0), (1, 3))) == {"i": 2, "j": 0, "k": 3}
    with pytest.raises(CallError, match="label 'j' has 4 elements in operand 0 and 5 in operand 1"):
        extents(subscripts, ((2, 4), (5, 3)))


def test_the_common_type() -> None:
    single, byte = np.ones(1, "f4"), np.ones(1, "i1")
    assert element_types([single, byte], None).result == np.float32
    assert element_types([byte, byte.astype("u1")], None).result == np.int16
    with pytest.raises(CallError, match="elements of type complex64"):
        element_types([single, np.ones(1, "c8")], None)


@pytest.mark.parametrize("shape", [(3, 1), (1, 3), (3, 4)])
def test_a_diagonal_is_one_of_a_square(shape: tuple[int, int]) -> None:
    with pytest.raises(CallError, match=r"label 'i' has . and . elements in operand 0; expected"):
        extents(parse_subscripts("ii->i", [2]), [shape])

"""Steps of contractions: which labels are what, and that memory is not copied without need."""

import numpy as np

from polysched.frontends.einsum.steps import Fold, Pair, ordered

SIZES = {"b": 2, "i": 3, "j": 4, "k": 5}


def test_the_roles_of_labels() -> None:
    pair = Pair(tuple("bik"), tuple("kbj"), tuple("jbi"), SIZES)
    assert (pair.both, pair.rows, pair.columns, pair.summed) == (
        ("b",),
        ("i",),
        ("j",),
        ("k",),
    )
    a, b = (
        np.random.default_rng(0).integers(-3, 4, s).astype("f4") for s in ((2, 3, 5), (5, 2, 4))
    )
    np.testing.assert_array_equal(pair.run(a, b, a.dtype, []), np.einsum("bik,kbj->jbi", a, b))


def test_a_transposed_operand_is_given_to_the_library_as_it_lies() -> None:
    pair = Pair(tuple("ik"), tuple("kj"), tuple("ij"), SIZES)
    a = np.ones((5, 3), "f4")
    matrices = pair._matrices(a.T, pair.left, pair.rows, (), is_left=True)
    assert np.shares_memory(matrices, a)
    assert matrices.shape == (3, 5)


def test_sums_along_either_axis() -> None:
    x = np.random.default_rng(0).integers(-3, 4, (3, 4, 5)).astype("f4")
    for result in ("k", "i", "j", "ik", "", "kji"):
        fold = Fold(tuple("ijk"), tuple(result), SIZES)
        np.testing.assert_array_equal(fold.run(x, []), np.einsum(f"ijk->{result}", x))


def test_an_order_of_dimensions() -> None:
    x = np.ones((3, 4))
    assert ordered(x, ("i", "j"), ("i", "j")) is x
    assert ordered(x, ("i", "j"), ("j", "i")).shape == (4, 3)

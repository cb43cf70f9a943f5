"""Repeated calls: which of them the call cache runs directly, and that the results are equal."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.einsum.call import _CALL_CACHE
from tests.support.effort import covering, sampled

Array = np.ndarray[Any, Any]

ONE_KERNEL = [
    ("ij,jk->ik", (5, 6), (6, 7)),
    ("ij,jk->ki", (5, 6), (6, 7)),
    ("ij,kj->ik", (6, 6), (6, 6)),
    ("ji,jk->ik", (6, 6), (6, 6)),
    ("bij,bjk->bik", (3, 5, 6), (3, 6, 7)),
    ("ij,j->i", (5, 6), (6,)),
    ("j,ij->i", (6,), (5, 6)),
    ("i,i->", (9,), (9,)),
    ("bi,bi->b", (3, 40), (3, 40)),
    ("i,j->ij", (3,), (4,)),
    ("j,i->ij", (4,), (3,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("bij,bj->jbi", (2, 3, 4), (2, 4)),
    ("i,i->i", (5,), (1,)),
    ("ij,j->ij", (1, 1), (4,)),
    ("ij,ij->j", (5, 6), (5, 6)),
    ("bihd,bjhd->bhij", (2, 3, 4, 5), (2, 6, 4, 5)),
    ("bhij,bjhd->bihd", (2, 3, 4, 5), (2, 5, 3, 6)),
    ("ij,jk->ki", (20, 6), (6, 30)),
    ("abc,bd->adc", (2, 3, 20), (3, 4)),
    ("ijk->ik", (3, 4, 5)),
    ("ijkl->jl", (3, 4, 5, 6)),
    ("ij->i", (3, 4)),
    ("ij->j", (3, 4)),
]
SEVERAL = [
    ("ij,jk,kl->il", (3, 4), (4, 5), (5, 6)),
    ("ijk,kl->il", (3, 4, 5), (5, 6)),
    ("ij->ji", (3, 4)),
]


def operands(shapes: tuple[tuple[int, ...], ...], seed: int, dtype: str = "f4") -> list[Array]:
    generator = np.random.default_rng(seed)
    return [np.asarray(generator.integers(0, 5, shape)).astype(dtype) for shape in shapes]


def is_known(text: str, *arrays: Array) -> bool:
    """Whether the call cache runs such a call."""
    return _CALL_CACHE.run(text, *arrays, None) is not None


@covering(1, case=sampled(ONE_KERNEL, 2), dtype=["f4", "f8", "i4", "u8", "i8"])
def test_other_operands(case: tuple[Any, ...], dtype: str) -> None:
    text, *shapes = case
    first, second = (operands(tuple(shapes), seed, dtype) for seed in (1, 2))
    before = ps.einsum(text, *first)
    kept = before.copy()
    for given in (second, first):
        found = ps.einsum(text, *given)
        expected = np.einsum(text, *given)
        np.testing.assert_array_equal(found, expected)
        assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    np.testing.assert_array_equal(before, kept)


@pytest.mark.parametrize("case", ONE_KERNEL, ids=lambda case: case[0])
def test_one_kernel_is_known(case: tuple[Any, ...]) -> None:
    text, *shapes = case
    given = operands(tuple(shapes), 3)
    ps.einsum(text, *given)
    assert is_known(text, *given)


@pytest.mark.parametrize("case", SEVERAL, ids=lambda case: case[0])
def test_what_takes_more_is_not(case: tuple[Any, ...]) -> None:
    text, *shapes = case
    given = operands(tuple(shapes), 3)
    for _ in range(2):
        np.testing.assert_array_equal(ps.einsum(text, *given), np.einsum(text, *given))
    assert not is_known(text, *given)


def test_what_is_copied_or_converted_is_not() -> None:
    a, b = operands(((6, 8), (8, 6)), 4)
    for given in (
        (a, np.flip(b)),
        (a.astype("f8"), b),
        (a.astype(">f4"), b),
        (a.astype("i2"), b.astype("i2")),  # whose products are summed in 32 bits
    ):
        for _ in range(2):
            found = ps.einsum("ij,jk->ik", *given)
            np.testing.assert_array_equal(found, np.einsum("ij,jk->ik", *given))
            assert found.dtype == np.result_type(*given)
        assert not is_known("ij,jk->ik", *given)


def test_an_array_by_itself_then_by_another() -> None:
    a, b = operands(((6, 6), (6, 6)), 5)
    for first, second in ((a, a), (a, b), (b, a), (a, a.T), (a.T, b)):
        for text in ("ij,jk->ik", "ij,kj->ki", "ij,ij->ij", "ij,ij->"):
            expected = np.einsum(text, first, second)
            np.testing.assert_array_equal(ps.einsum(text, first, second), expected)
            np.testing.assert_array_equal(ps.einsum(text, first, second), expected)


def test_into_an_array() -> None:
    a, b = operands(((6, 6), (6, 6)), 6)
    expected = a @ b
    strided = np.zeros((6, 12), "f4")[:, ::2]
    turned = np.zeros((6, 6), "f4").T
    for out in (np.zeros((6, 6), "f4"), strided, turned):
        for _ in range(2):
            out[...] = -1
            assert ps.einsum("ij,jk->ik", a, b, out=out) is out
            np.testing.assert_array_equal(out, expected)
    shared = a.copy()  # over an operand: the result takes its place
    for _ in range(2):
        np.copyto(shared, a)
        np.testing.assert_array_equal(ps.einsum("ij,jk->ik", shared, b, out=shared), expected)
    closed = np.zeros((6, 6), "f4")
    closed.flags.writeable = False
    with pytest.raises(ps.CallError, match="einsum: out is read-only"):
        ps.einsum("ij,jk->ik", a, b, out=closed)


def test_texts_are_known_by_what_they_say() -> None:
    class Text(str):
        __slots__ = ()

    a, b = operands(((6, 7), (7, 6)), 7)
    ps.einsum("ij,jk->ik", a, b)
    for text in ("".join(("ij,jk", "->ik")), Text("ij,jk->ik")):
        np.testing.assert_array_equal(ps.einsum(text, a, b), a @ b)
    np.testing.assert_array_equal(ps.einsum("ij,jk->ki", a, b), (a @ b).T)
    np.testing.assert_array_equal(ps.einsum("ij,jk->ik", a, b, threads=1), a @ b)

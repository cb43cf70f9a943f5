"""Strides of argument arrays: what may be declared, and what is proved of it."""

import re
from collections.abc import Callable
from dataclasses import replace
from itertools import product as every
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.errors import KernelError
from polysched.ir.core.kernel import Array
from polysched.ir.core.printing import format_array
from polysched.ir.core.strides import are_apart, closest_strides, concrete_strides, elements_spanned
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Constant, Expression


def declared(
    shape: Callable[..., Any], strides: Callable[..., Any], assume: Callable[..., Any] | None = None
) -> Array:
    """The array ``a`` over the parameters m, k, lda, lds, as a kernel has it."""
    build = KernelBuilder("k")
    sizes = [build.parameter(name) for name in ("m", "k", "lda", "lds")]
    build.input("a", "f32", shape(*sizes), strides=strides(*sizes))
    out = build.output("out", "f32", ())
    out[()] = 0.0
    if assume is not None:
        build.assume(assume(*sizes))
    return build.kernel().arrays["a"]


def matrix(m: Expression, k: Expression, *_: Expression) -> Any:
    return (m, k)


def test_a_leading_dimension() -> None:
    array = declared(matrix, lambda m, k, lda, lds: (lda, 1), lambda m, k, lda, lds: lda >= k)
    assert format_array(array) == "a: f32[m, k] strides (lda, 1)"
    assert array.lane_dimension == -1
    assert concrete_strides(array, (3, 5), {"lda": 8}) == (8, 1)
    assert closest_strides(array, (3, 5)) == (5, 1)


def test_lanes_skip_dimensions_of_one_element() -> None:
    strided = declared(matrix, lambda m, k, lda, lds: (1, lda), lambda m, k, lda, lds: lda >= m)
    column = replace(strided, strides=None)
    for shape, dimension in {(7, 5): -1, (7, 1): -2, (1, 1): -1}.items():
        assert replace(column, shape=tuple(map(Constant, shape))).lane_dimension == dimension


def test_columns_one_after_the_other() -> None:
    array = declared(matrix, lambda m, k, lda, lds: (1, lda), lambda m, k, lda, lds: lda >= m)
    assert array.lane_dimension == -2
    assert closest_strides(array, (3, 5)) == (1, 3)


@pytest.mark.parametrize(
    ("shape", "strides", "assume"),
    [
        (matrix, lambda m, k, lda, lds: (2 * k, 2), None),
        (matrix, lambda m, k, lda, lds: (k + 3, 1), None),
        (lambda m, k, *_: (m, 4, k), lambda m, k, lda, lds: (4 * k, k, 1), None),
        (lambda m, k, *_: (4, m, 8), lambda m, k, lda, lds: (8, 32, 1), None),
        (lambda *_: (3, 4, 5), lambda *_: (1, 100, 3), None),
        (lambda *_: (1, 4), lambda *_: (1, 1), None),
        (lambda *_: (0, 4), lambda *_: (1, 1), None),
        (lambda *_: (), lambda *_: (), None),
        (
            lambda m, k, *_: (3, 4, k),
            lambda m, k, lda, lds: (lds, lda, 1),
            lambda m, k, lda, lds: (lda >= k) & (lds >= 4 * lda),
        ),
    ],
)
def test_what_is_proved(
    shape: Callable[..., Any], strides: Callable[..., Any], assume: Callable[..., Any] | None
) -> None:
    assert declared(shape, strides, assume).strides is not None


@pytest.mark.parametrize(
    ("shape", "strides", "message"),
    [
        (
            matrix,
            lambda m, k, lda, lds: (lda, 1),
            "array a: f32[m, k] strides (lda, 1): two elements may share memory, as the stride of "
            "dimension 'd0' may be less than k; expected an assumption: assume(lda >= k)",
        ),
        (matrix, lambda m, k, lda, lds: (1, lda), "expected an assumption: assume(lda >= m)"),
        # Not in any order of the dimensions, one of which is not affine.
        (matrix, lambda m, k, lda, lds: (lda + 1, 1), "expected an assumption: assume(lda + 1 >="),
        (matrix, lambda m, k, lda, lds: (k - 1, 1), "expected an assumption: assume(k - 1 >= k)"),
        (lambda *_: (4, 8), lambda *_: (7, 1), "less than 8; expected at least 8, got 7"),
        (
            lambda m, k, *_: (4, m, k),
            lambda m, k, lda, lds: (lds, k - 1, 1),
            "the stride of dimension 'd1' may be less than k; expected an assumption: assume(k",
        ),
        (
            lambda m, k, *_: (4, 3, k),
            lambda m, k, lda, lds: (lds, k, 1),
            "the stride of dimension 'd0' may be less than 3*k; expected an assumption: assume(lds",
        ),
        (
            lambda m, *_: m,
            lambda *_: 1,
            "array 'a': strides=1; expected one stride for each of 1 dim",
        ),
        (matrix, lambda *_: (1,), "strides=(1,); expected one stride for each of 2 dimensions"),
        (
            matrix,
            lambda *_: (0, 1),
            "stride of dimension 'd0' of array 'a' is 0; expected a number of elements from 1 to",
        ),
        (matrix, lambda *_: (2**49, 1), "is 562949953421312; expected a number of elements from 1"),
        (matrix, lambda *_: (-8, 1), "stride of dimension 'd0' of array 'a' is -8; expected"),
        (
            matrix,
            lambda m, k, lda, lds: (k * k, 1),
            "stride of dimension 'd0' of array 'a': '(k * k)' is not affine",
        ),
        (matrix, lambda *_: (1.5, 1), "stride of dimension 'd0' of array 'a': "),
    ],
)
def test_what_is_refused(
    shape: Callable[..., Any], strides: Callable[..., Any], message: str
) -> None:
    with pytest.raises(KernelError, match=re.escape(message)):
        declared(shape, strides)


def test_what_hangs_on_a_product_is_left_to_the_calls() -> None:
    array = declared(
        lambda m, k, *_: (4, m, k),
        lambda m, k, lda, lds: (lds, lda, 1),
        lambda m, k, lda, lds: lda >= k,
    )
    assert concrete_strides(array, (4, 3, 5), {"lds": 20, "lda": 6}) == (20, 6, 1)


@pytest.mark.parametrize(
    ("shape", "strides", "expected"),
    [
        ((4, 3, 5), (20, 6, 1), True),
        ((4, 3, 5), (17, 6, 1), True),
        ((4, 3, 5), (16, 6, 1), False),
        ((1, 3, 5), (0, 6, 1), True),
        ((0, 3, 5), (0, 0, 0), True),
        ((3, 5), (1, 3), True),
        ((4, 5), (2, 5), False),
        ((2,), (0,), False),
        ((), (), True),
    ],
)
def test_numbers_of_elements_apart(
    shape: tuple[int, ...], strides: tuple[int, ...], expected: bool
) -> None:
    assert are_apart(shape, strides) is expected


def test_packed_elements_have_no_strides() -> None:
    build = KernelBuilder("k")
    message = "array 'a' of u4 cannot have strides: elements of 4 bits are packed"
    with pytest.raises(KernelError, match=re.escape(message)):
        build.input("a", "u4", (8,), rows="contiguous", strides=(2,))


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 30)), min_size=1, max_size=3),
    st.booleans(),
)
def test_accepted_strides_keep_elements_apart(sizes: list[tuple[int, int]], scaled: bool) -> None:
    """What is accepted shares no memory, and is as long as it is said to be."""
    shape = tuple(extent for extent, _ in sizes)
    strides = tuple(stride for _, stride in sizes)
    try:
        array = declared(
            lambda *_: shape,
            # The numbers may hide behind a parameter.
            lambda m, *_: tuple(stride + 0 * m if scaled else stride for stride in strides),
        )
    except KernelError:
        array = None
    places = [
        sum(index * stride for index, stride in zip(position, strides, strict=True))
        for position in every(*map(range, shape))
    ]
    if array is None:
        # Refused needlessly only where dimensions interleave.
        inwards = sorted((one, extent) for one, extent in zip(strides, shape, strict=True))
        reach = 1
        nested = True
        for stride, extent in inwards:
            nested &= extent < 2 or stride >= reach
            reach += stride * max(0, extent - 1)
        assert not nested
        assert places
    else:
        assert concrete_strides(array, shape, {"m": 7}) == strides
        assert len(set(places)) == len(places)
        assert elements_spanned(shape, strides) == max(places, default=-1) + 1

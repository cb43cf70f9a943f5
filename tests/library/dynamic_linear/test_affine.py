"""Computed matrices that are linear in integer codes."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.library.dynamic_linear.affine import affine_codes

CODES = np.random.default_rng(0).integers(-8, 8, (5, 12), np.int8)
SCALES = np.random.default_rng(1).uniform(1, 2, (5, 3)).astype(np.float32)
GROUPS = ps.Input(SCALES, block=(1, 4))
PACKED = ps.Input(ps.pack_bits(CODES, "i4", rows="padded", overflow="raise"), "i4", columns=12)


def assert_linear(matrix: ps.Computed, expected: Any) -> None:
    """The codes with the factors and summands are the elements, in the order (column, term)."""
    found = affine_codes(matrix)
    at = np.arange(found.codes.shape[1]) // found.group
    np.testing.assert_allclose(
        found.codes * found.factor[:, at] + found.summand[:, at], expected, rtol=1e-6
    )


def test_groups_of_packed_codes() -> None:
    weights = ps.computed(lambda code, scale: ps.cast(code, "f32") * scale, PACKED, GROUPS)
    assert_linear(weights.T, CODES * SCALES.repeat(4, axis=1))
    assert affine_codes(weights.T).bits == 4


def test_zeros_and_scales_of_different_groups() -> None:
    zeros = np.arange(10, dtype=np.uint8).reshape(5, 2)
    weights = ps.computed(
        lambda scale, zero, code: scale * (ps.cast(code, "f32") - ps.cast(zero, "f32")) + 1,
        GROUPS,
        ps.Input(zeros, block=(1, 6)),
        CODES,
    )
    right = SCALES.repeat(4, axis=1) * (CODES - zeros.repeat(6, axis=1).astype(np.float32)) + 1
    assert_linear(weights.T, right)
    assert affine_codes(weights.T).group == 2


def test_a_matrix_stored_by_terms() -> None:
    weights = ps.computed(
        lambda code, scale: -(scale * ps.cast(code, "f32")),
        np.ascontiguousarray(CODES.T),
        ps.Input(np.ascontiguousarray(SCALES.T), block=(4, 1)),
    )
    assert_linear(weights, -CODES * SCALES.repeat(4, axis=1))


def test_one_scale_for_all() -> None:
    weights = ps.computed(lambda code: ps.cast(code, "f32") * 0.5 - 3, CODES)
    assert_linear(weights.T, CODES * 0.5 - 3)
    assert affine_codes(weights.T).group == 12


@pytest.mark.parametrize(
    ("function", "inputs", "message"),
    [
        (lambda a, b: ps.cast(a, "f32") * ps.cast(a, "f32") * b, (CODES, GROUPS), "is .*expected"),
        (lambda a, b: ps.cast(a * a, "f32") * b, (CODES, GROUPS), "expected scale"),
        (lambda a, b: b + 0 * b, (CODES, GROUPS), "no element of 'weight' depends on a code"),
        (lambda a: a * 2, (np.ones((5, 12), np.float32),), "no input of integers of at most 8"),
        (
            lambda a, b: ps.cast(a, "f32") * b,
            (CODES, np.ones((5, 12), np.float32)),
            "changes with every term",
        ),
    ],
)
def test_other_matrices_are_refused(
    function: Callable[..., Any], inputs: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(ps.CallError, match=message):
        affine_codes(ps.computed(function, *inputs).T)

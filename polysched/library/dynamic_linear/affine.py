"""Matrices whose elements are linear in an integer code: a factor and a summand for each group."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.expr.expressions import Cast, Constant, Expression, Load, Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.bit_packing import unpack_bits
from polysched.library.dynamic_linear.matrix import NumpyArray
from polysched.library.matmul.dispatch.computed import Computed
from polysched.library.matmul.kernel.operands import Source

_EXPECTED = "expected scale * cast(code, 'f32'), or scale * (cast(code, 'f32') - cast(zero, 'f32'))"


@dataclass(frozen=True, eq=False)
class AffineCodes:
    """The matrix ``codes[column, term] * factor[column, group] + summand[column, group]``.

    Attributes:
        codes: integers of 8 bits, a row for each column of the operand.
        is_signed: whether the codes are signed.
        group: terms that share a factor.
        factor: a row of numbers for each column of the operand.
        summand: the same for the summands.
    """

    codes: NumpyArray
    bits: int
    is_signed: bool
    group: int
    factor: NumpyArray
    summand: NumpyArray


def affine_codes(matrix: Computed) -> AffineCodes:
    """The codes of a computed right operand, and their scales and offsets by the other inputs.

    Raises:
        CallError: an element is not linear in one code of at most 8 bits, or the other inputs are
            not shared by groups of terms.
    """
    sources = matrix.recipe.sources
    terms, columns = matrix.shape
    code = _code_of(matrix)
    # Elements are read from inputs in the order (column, term).
    has_terms_first = not matrix.recipe.is_transposed
    blocks = [
        block
        for at, source in enumerate(sources)
        if at != code and (block := _block(source, terms, has_terms_first=has_terms_first))
    ]
    group = gcd(*blocks) if blocks else terms
    if group == 1 < terms:
        raise CallError(
            f"prepare: an input of 'weight' changes with every term; {_EXPECTED}, with scales for "
            "groups of terms"
        )
    first_terms = np.arange(0, terms, group)
    values = {
        str(at): _elements(
            matrix, at, np.arange(columns), first_terms, has_terms_first=has_terms_first
        )
        for at in range(len(sources))
        if at != code
    }
    slope, summand = _linear(matrix.recipe.expression, str(code), values)
    if slope is None:
        raise CallError(f"prepare: no element of 'weight' depends on a code; {_EXPECTED}")
    shape = columns, len(first_terms)
    factor, offset = (np.broadcast_to(part, shape) for part in (slope, summand))
    codes = _elements(
        matrix, code, np.arange(columns), np.arange(terms), has_terms_first=has_terms_first
    )
    dtype = sources[code].dtype
    return AffineCodes(codes, dtype.bits, dtype.is_signed, group, factor, offset)


def _code_of(matrix: Computed) -> int:
    """The input of codes: the one that has an element for each element of the matrix."""
    for at, source in enumerate(matrix.recipe.sources):
        is_whole = sorted(source.shape) == sorted(matrix.shape) and source.block == (1, 1)
        if is_whole and source.dtype.is_integer and source.dtype.bits <= 8:
            return at
    raise CallError(
        "prepare: 'weight' has no input of integers of at most 8 bits with an element for each "
        f"element of the matrix; {_EXPECTED}"
    )


def _block(source: Source, terms: int, *, has_terms_first: bool) -> int:
    """The terms that share an element of an input; 0 if all do."""
    axis = 0 if has_terms_first else 1
    return 0 if source.shape[axis] == 1 else min(source.block[axis], terms)


def _elements(
    matrix: Computed, at: int, columns: NumpyArray, terms: NumpyArray, *, has_terms_first: bool
) -> NumpyArray:
    """The elements of an input at columns and terms of the operand, in this order."""
    source, (array, _) = matrix.recipe.sources[at], matrix.inputs[at]
    if source.dtype.is_odd_width:
        array = unpack_bits(array, source.dtype, source.shape, rows="padded")
    if has_terms_first:
        array = array.T
    blocks = source.block[::-1] if has_terms_first else source.block
    places = [
        np.zeros_like(index) if extent == 1 else index // block
        for index, extent, block in zip((columns, terms), array.shape, blocks, strict=True)
    ]
    elements: NumpyArray = array[np.ix_(*places)]
    return elements


_Linear = tuple[Any, Any]
"""The factor of the code (None for 0) and the summand, numbers or arrays in float64."""


def _linear(node: Expression, code: str, values: dict[str, NumpyArray]) -> _Linear:
    """The linear form of an expression in the code."""
    match node:
        case Load(array=name):
            return (1.0, 0.0) if name == code else (None, values[name].astype(np.float64))
        case Constant(value=value):
            return None, float(value)
        case Cast(operand=operand, type=target) if target.is_float or target.bits >= 32:
            return _linear(operand, code, values)
        case Operation(type=target) if target and (target.is_float or target.bits >= 32):
            return _of_operation(node, [_linear(part, code, values) for part in node.operands])
    raise CallError(f"prepare: an element of 'weight' is {node}; {_EXPECTED}")


def _of_operation(node: Operation, parts: list[_Linear]) -> _Linear:
    slopes, summands = zip(*parts, strict=True)
    match node.operator:
        case Operator.NEGATE:
            return (None if slopes[0] is None else -slopes[0]), -summands[0]
        case Operator.ADD | Operator.SUBTRACT:
            sign = -1 if node.operator is Operator.SUBTRACT else 1
            known = [s * f for s, f in zip(slopes, (1, sign), strict=True) if s is not None]
            return (sum(known) if known else None), summands[0] + sign * summands[1]
        case Operator.MULTIPLY if None in [slope if slope is None else 0 for slope in slopes]:
            (first, second), (left, right) = slopes, summands
            slope = second if first is None else first
            other = left if first is None else right
            return (None if slope is None else slope * other), left * right
    raise CallError(f"prepare: an element of 'weight' is {node}; {_EXPECTED}")

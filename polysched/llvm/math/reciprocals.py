"""Reciprocals and reciprocal square roots from the processor's estimates.

``rcp14`` and ``rsqrt14`` of AVX-512 have a relative error below 2**-14. One step of Newton's
iteration squares it: ``y + y e`` with ``e = 1 - x y``, and ``y + y e / 2`` with ``e = 1 - x y y``.
The error is then at most 2 units in the last place. Where the estimate is 0 or infinite, it is the
result: ``e`` is NaN for a divisor of 0 or infinity, and -infinity for one below 2**-128.

Scalars, doubles and other processors divide.
"""

from __future__ import annotations

from collections.abc import Set
from functools import partial
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import (
    constant,
    declared,
    element_bits,
    in_parts,
    intrinsic,
    vector_type,
)

_WIDTHS = {16: "avx512f", 8: "avx512vl", 4: "avx512vl"}
"""Lanes of the instructions, the most first, with the instruction set that they need."""
_LEAST_ERROR = -0.5
"""Errors of estimates that are neither 0 nor infinite exceed this value."""


def reciprocal(builder: ir.IRBuilder, value: Any, features: Set[str]) -> Any:
    """Emit ``1 / value``."""
    one = constant(value.type, 1.0)
    estimate = _estimate(builder, "rcp14", value, features)
    if estimate is None:
        return builder.fdiv(one, value)
    return _improved(builder, estimate, value, one)


def reciprocal_square_root(builder: ir.IRBuilder, value: Any, features: Set[str]) -> Any:
    """Emit ``1 / sqrt(value)``."""
    estimate = _estimate(builder, "rsqrt14", value, features)
    if estimate is None:
        return builder.fdiv(constant(value.type, 1.0), intrinsic(builder, "sqrt", [value]))
    product = builder.fmul(value, estimate)
    return _improved(builder, estimate, product, constant(value.type, 0.5))


def _improved(builder: ir.IRBuilder, estimate: Any, value: Any, part: Any) -> Any:
    """Emit ``estimate + estimate * part * (1 - value * estimate)``; an infinite estimate stays."""
    one, least = constant(value.type, 1.0), constant(value.type, _LEAST_ERROR)
    error = intrinsic(builder, "fma", [builder.fneg(value), estimate, one])
    is_finite = builder.fcmp_ordered(">", error, least)
    if part is not one:
        error = builder.fmul(error, part)
    improved = intrinsic(builder, "fma", [estimate, error, estimate])
    return builder.select(is_finite, improved, estimate)


def _estimate(builder: ir.IRBuilder, name: str, value: Any, features: Set[str]) -> Any | None:
    """Emit the estimate of each lane; None if the processor has no instruction for it."""
    if not isinstance(value.type, ir.VectorType) or element_bits(value.type) != 32:
        return None
    for lanes, feature in _WIDTHS.items():
        if value.type.count % lanes == 0 and feature in features:
            part, mask = vector_type(value.type.element, lanes), ir.IntType(max(8, lanes))
            signature = ir.FunctionType(part, [part, part, mask])
            full_name = f"llvm.x86.avx512.{name}.ps.{32 * lanes}"
            function = declared(builder.module, full_name, signature)
            rest = [constant(part, 0.0), mask(-1)]
            return in_parts(builder, lanes, partial(_called, builder, function, rest), value)
    return None


def _called(builder: ir.IRBuilder, function: Any, rest: list[Any], value: Any) -> Any:
    return builder.call(function, [value, *rest])

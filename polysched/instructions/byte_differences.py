"""``vpsadbw``: for each lane, the sum of eight absolute differences of unsigned bytes.

The instruction makes sums of 64 bits. They are truncated to the type of the target and added to it.
"""

from __future__ import annotations

from functools import cache

from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, i32, i64, u8
from polysched.ir.expr.functions import absolute, cast

NAME = "vpsadbw"
TERMS = 8

_INTRINSICS = (
    (8, "llvm.x86.avx512.psad.bw.512", "avx512bw"),
    (4, "llvm.x86.avx2.psad.bw", "avx2"),
    (2, "llvm.x86.sse2.psad.bw", "sse2"),
)


@cache
def byte_difference_forms() -> tuple[Instruction, ...]:
    """Return the forms of ``vpsadbw``, by vector lengths and types of the sums."""
    return tuple(
        Instruction(
            _sum_of_differences(lanes, total),
            intrinsic,
            ("a", "b"),
            (feature,),
            broadcast=("a", "b"),
            result=i64,
        )
        for lanes, intrinsic, feature in _INTRINSICS
        for total in (i32, i64)
    )


def _sum_of_differences(lanes: int, total: DType) -> Kernel:
    """``sums[lane] += |a[lane, term] - b[lane, term]|``, computed in 32 bits as in C."""
    build = KernelBuilder(NAME)
    sums = build.inout("sums", total, (lanes,))
    a, b = (build.input(name, u8, (lanes, TERMS)) for name in "ab")
    with build.loops(lane=lanes, term=TERMS) as (lane, term):
        difference = absolute(cast(a[lane, term], i32) - cast(b[lane, term], i32))
        sums[lane] += cast(difference, total)
    return build.kernel()

"""Instructions of x86 processors that add products of small numbers to 32-bit sums.

``vpdpbusd`` adds four products of unsigned and signed bytes to each sum, ``vpdpwssd`` two products
of signed words. ``vpmaddwd`` makes the sum of two products of signed words, which is then added.
None of them saturates: the sums wrap, as sums of single products do (Intel, "Intrinsics Guide").
:mod:`polysched.instructions.bf16_dot` describes ``vdpbf16ps``, :mod:`polysched.instructions.amx`
describes the instructions on tiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from polysched.instructions.bf16_dot import bf16_dot_forms
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, i8, i16, i32, u8
from polysched.ir.expr.functions import cast

_MULTIPLY_ADD = MappingProxyType(
    {
        4: ("llvm.x86.sse2.pmadd.wd", "sse2"),
        8: ("llvm.x86.avx2.pmadd.wd", "avx2"),
        16: ("llvm.x86.avx512.pmaddw.d.512", "avx512bw"),
    }
)
"""For each number of lanes: the intrinsic of ``vpmaddwd`` and its feature."""


@cache
def x86_instructions() -> Mapping[str, tuple[Instruction, ...]]:
    """Return the instructions by name, each in all its forms: vector lengths and encodings."""
    return MappingProxyType(
        {
            "vpdpbusd": _vnni("vpdpbusd", u8, i8, 4),
            "vpdpwssd": _vnni("vpdpwssd", i16, i16, 2),
            "vpmaddwd": tuple(
                _form("vpmaddwd", (i16, i16), (lanes, 2), intrinsic, (feature,), ("a", "b"))
                for lanes, (intrinsic, feature) in _MULTIPLY_ADD.items()
            ),
            "vdpbf16ps": bf16_dot_forms(),
        }
    )


def _vnni(name: str, a: DType, b: DType, terms: int) -> tuple[Instruction, ...]:
    """The forms of a VNNI instruction: 512 bits, and shorter vectors in two encodings."""
    forms: list[tuple[int, tuple[str, ...]]] = [(16, ("avx512vnni",))]
    for lanes in (8, 4):
        forms += [(lanes, ("avxvnni",)), (lanes, ("avx512vnni", "avx512vl"))]
    return tuple(
        _form(
            name,
            (a, b),
            (lanes, terms),
            f"llvm.x86.avx512.{name}.{i32.bits * lanes}",
            features,
            ("sums", "a", "b"),
        )
        for lanes, features in forms
    )


def _form(
    name: str,
    types: tuple[DType, DType],
    shape: tuple[int, int],
    intrinsic: str,
    features: tuple[str, ...],
    operands: tuple[str, ...],
) -> Instruction:
    kernel = _sum_of_products(name, types, shape)
    return Instruction(kernel, intrinsic, operands, features, broadcast=("a", "b"))


def _sum_of_products(name: str, types: tuple[DType, DType], shape: tuple[int, int]) -> Kernel:
    """``sums[lane] += a[lane, term] * b[lane, term]`` for ``shape`` (lanes, terms)."""
    build = KernelBuilder(name)
    sums = build.inout("sums", i32, shape[:1])
    a, b = (build.input(name, dtype, shape) for name, dtype in zip("ab", types, strict=True))
    with build.loops(lane=shape[0], term=shape[1]) as (lane, term):
        sums[lane] += cast(a[lane, term], i32) * cast(b[lane, term], i32)
    return build.kernel()

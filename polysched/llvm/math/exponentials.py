"""The exponential functions, to the bases e and 2.

``exp(x) = 2**n * exp(r)`` with ``n = round(x / ln 2)`` and ``r = x - n ln 2``, ``|r| <= ln 2 / 2``,
after W. J. Cody and W. Waite, "Software Manual for the Elementary Functions" (1980), chapter 6:

- ``ln 2`` is split into a high part with so few digits that its product with ``n`` is exact, and a
  low part. The parts are those of the Cephes library (float32) and of fdlibm (float64).
- ``exp(r) = 1 + r + r**2 (1/2 + r q(r))``. The coefficients of ``q`` are a minimax fit of the
  relative error of ``exp(r)`` (Remez' algorithm in 60 digits, then rounded), which is 2**-28.0
  (float32) and 2**-57.4 (float64).
- The product with ``2**n`` is rounded once, so subnormal results are right (`scaled`).

``exp2(x) = 2**n * 2**r`` with ``n = round(x)``, where ``r`` is exact, and ``2**r = 1 + r p(r)``.
The coefficients are fitted in the same way: 2**-30.0 and 2**-55.5. The results for integers are
exact.

``x`` is clamped first to the range between the results 0 and infinity. The error is below 1 ulp
(measured: at most 0.89). Without FMA instructions it is at most 1.14 ulp.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from llvmlite import ir

from polysched.llvm.builder.intrinsics import constant, declared, in_parts, vector_type
from polysched.llvm.math.numbers import FLOAT32, FLOAT64, Format, Real, Whole

_VECTOR_BITS = 512

LOG2_E = 1.4426950408889634


@dataclass(frozen=True)
class _Constants:
    """The constants of one floating-point type.

    ``ends``: the arguments with the results 0 and infinity, for exp and for exp2. ``q`` is the
    polynomial of exp and ``p`` the polynomial of exp2. ``rest`` is like ``q``, but fitted to the
    relative error of exp(r) - 1. Constant coefficients come first.
    """

    ends: tuple[float, float]
    ends_2: tuple[float, float]
    ln2_high: float
    ln2_low: float
    q: Sequence[float]
    p: Sequence[float]
    rest: Sequence[float]


_CONSTANTS: Mapping[Format, _Constants] = MappingProxyType(
    {
        FLOAT32: _Constants(
            ends=(-105.0, 89.0),
            ends_2=(-151.0, 129.0),
            ln2_high=0.693359375,
            ln2_low=-2.12194440e-4,
            q=(0.16666535, 0.041667238, 0.00836751, 0.0013863757),
            p=(
                0.6931472,
                0.2402265,
                0.055504005,
                0.009618057,
                0.0013341951,
                0.00015461369,
                1.3359835e-05,
            ),
            rest=(0.16666666, 0.04166648, 0.008333419, 0.0013933253, 0.00019824106),
        ),
        FLOAT64: _Constants(
            ends=(-746.0, 710.0),
            ends_2=(-1076.0, 1025.0),
            ln2_high=6.93147180369123816490e-01,
            ln2_low=1.90821492927058770002e-10,
            q=(
                0.16666666666666433,
                0.04166666666660375,
                0.00833333333350058,
                0.00138888889268915,
                0.00019841269465308703,
                2.4801508550630693e-05,
                2.7557641378832717e-06,
                2.7625243887817994e-07,
                2.497832567092723e-08,
            ),
            p=(
                0.6931471805599453,
                0.24022650695910072,
                0.055504108664821736,
                0.009618129107628562,
                0.0013333558146381742,
                0.00015403530393171894,
                1.5252733864842243e-05,
                1.3215487003358782e-06,
                1.0178047532298142e-07,
                7.054814856109523e-09,
                4.4572391478158053e-10,
                2.5855209598016103e-11,
            ),
            rest=(
                0.16666666666666677,
                0.04166666666666658,
                0.008333333333322158,
                0.0013888888888942635,
                0.00019841269884945064,
                2.480158719827551e-05,
                2.7557245291384468e-06,
                2.75573870011849e-07,
                2.510868752461299e-08,
                2.0878924990556963e-09,
            ),
        ),
    }
)


def exponential(builder: ir.IRBuilder, operand: Any, features: Set[str] = frozenset()) -> Any:
    """Emit e to the power of a float, a double or a vector, for a processor with ``features``."""
    x = Real(builder, operand)
    known = _CONSTANTS[x.form]
    x = x.at_most(known.ends[1]).at_least(known.ends[0])
    n, whole = x.rounded(LOG2_E)
    r = n.times_plus(-known.ln2_low, n.times_plus(-known.ln2_high, x))
    return scaled(r.polynomial((1.0, 1.0, 0.5, *known.q)), n, whole, features).ir


def exponential_2(builder: ir.IRBuilder, operand: Any, features: Set[str] = frozenset()) -> Any:
    """Emit 2 to the power of a float, a double or a vector; see `exponential`."""
    x = Real(builder, operand)
    known = _CONSTANTS[x.form]
    x = x.at_most(known.ends_2[1]).at_least(known.ends_2[0])
    n, whole = x.rounded(1.0)
    return scaled((x - n).polynomial((1.0, *known.p)), n, whole, features).ir


def exponential_parts(x: Real, halvings: int = 0) -> tuple[Real, Real, Real]:
    """Emit ``s``, ``s r`` and ``t`` of ``exp(x) / 2**halvings = s + s r + s t``.

    ``x`` is at least 0, and so small that the result is finite. ``s`` is a power of two. ``t = r**2
    (1/2 + r q(r))`` is the smallest summand, and includes the rounding error of ``r``.
    """
    known = _CONSTANTS[x.form]
    n, whole = x.rounded(LOG2_E)
    start = n.times_plus(-known.ln2_high, x)
    r = n.times_plus(-known.ln2_low, start)
    lost = n.times_plus(-known.ln2_low, start - r)
    tail = (r * r).times_plus(r.polynomial((0.5, *known.rest)), lost.times_plus(r, lost))
    scale = (whole - halvings).power_of_two
    return scale, scale * r, tail


def scaled(value: Real, power: Real, whole: Whole, features: Set[str]) -> Real:
    """Multiply by 2 to a power, which is given as a number and as an integer.

    AVX-512 has an instruction. It took exp from 4.0 to 3.0 ns for a vector of 16 floats (Zen 4).
    Otherwise the first of two products is exact, and only the second one rounds: both ways give the
    same bits.
    """
    bits = value.form.bits
    count = value.ir.type.count if isinstance(value.ir.type, ir.VectorType) else 1
    if "avx512f" in features and bits * count % _VECTOR_BITS == 0:
        return Real(value.builder, _by_instruction(value, power.ir, _VECTOR_BITS // bits))
    half = whole >> 1
    return value * half.power_of_two * (whole - half).power_of_two


def _by_instruction(value: Real, power: Any, lanes: int) -> Any:
    """Emit ``vscalefps`` or ``vscalefpd`` for each ``lanes`` lanes of a vector."""
    builder = value.builder
    part = vector_type(value.ir.type.element, lanes)
    mask, rounding = ir.IntType(lanes), ir.IntType(32)
    kind = "ps" if value.form.bits == 32 else "pd"
    signature = ir.FunctionType(part, [part, part, part, mask, rounding])
    name = f"llvm.x86.avx512.mask.scalef.{kind}.{_VECTOR_BITS}"
    function = declared(builder.module, name, signature)

    def scale(first: Any, second: Any) -> Any:
        all_lanes, as_in_mxcsr = mask(-1), rounding(4)
        return builder.call(function, [first, second, constant(part, 0.0), all_lanes, as_in_mxcsr])

    return in_parts(builder, lanes, scale, value.ir, power)

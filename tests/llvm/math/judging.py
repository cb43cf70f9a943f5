"""A kernel for each elementary function, and its errors against numpy in a wider type."""

from __future__ import annotations

from functools import cache

import numpy as np

from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.expressions import operation
from polysched.ir.expr.operators import Operator
from polysched.ir.semantics.memory import AnyArray
from polysched.lower import compile
from polysched.runtime.kernel import CompiledKernel
from polysched.schedule.schedule import Schedule
from tests.support.differential import NO_CACHE

WIDER = {f32: np.float64, f64: np.longdouble}
FULL_VECTOR = {f32: 16, f64: 8}
EXACT = {
    Operator.EXPONENTIAL: np.exp,
    Operator.EXPONENTIAL_2: np.exp2,
    Operator.LOGARITHM: np.log,
    Operator.LOGARITHM_2: np.log2,
    Operator.LOGARITHM_10: np.log10,
    Operator.SINE: np.sin,
    Operator.COSINE: np.cos,
    Operator.TANGENT: np.tan,
    Operator.ARC_TANGENT: np.arctan,
    Operator.HYPERBOLIC_SINE: np.sinh,
    Operator.HYPERBOLIC_COSINE: np.cosh,
    Operator.HYPERBOLIC_TANGENT: np.tanh,
}


def scheduled(operator: Operator, dtype: DType, lanes: int | None) -> Schedule:
    build = KernelBuilder("mapped")
    n = build.parameter("n")
    x, y = build.input("x", dtype, (n,)), build.output("y", dtype, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        y[i] = operation(operator, x[i])
    schedule = Schedule(build.kernel())
    return schedule if lanes is None else schedule.vectorize("i", lanes)


@cache
def compiled(operator: Operator, dtype: DType, lanes: int | None) -> CompiledKernel:
    return compile(scheduled(operator, dtype, lanes), cache=NO_CACHE)


def of(operator: Operator, x: AnyArray, dtype: DType, lanes: int | None) -> AnyArray:
    result: AnyArray = compiled(operator, dtype, lanes)(x, n=len(x))
    return result


def exact(operator: Operator, x: AnyArray, dtype: DType) -> AnyArray:
    """The right results, with more digits than the type has."""
    with np.errstate(all="ignore"):
        result: AnyArray = EXACT[operator](x.astype(WIDER[dtype]))
    return result


def errors(operator: Operator, x: AnyArray, got: AnyArray, dtype: DType) -> AnyArray:
    """In units of the last place of the right results; infinite where infinities or NaN differ."""
    right = exact(operator, x, dtype)
    with np.errstate(all="ignore"):
        rounded = right.astype(dtype.numpy())
        unit = np.spacing(np.abs(rounded)).astype(right.dtype)
        found = np.abs(got.astype(right.dtype) - right) / unit
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    finite = np.isfinite(rounded) & np.isfinite(got)
    result: AnyArray = np.where(finite, found, np.where(same, 0, np.inf))
    return result

"""Epilogue of a matrix product: scales, accumulation into ``out``, bias and activation."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import partial
from types import MappingProxyType
from typing import TypeAlias

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, operation
from polysched.ir.expr.functions import cast, exp, maximum
from polysched.ir.expr.operators import Operator
from polysched.library.matmul.kernel.declare import (
    EpilogueBuilder,
    EpilogueFunction,
    EpilogueInput,
    Sizes,
)

Activation: TypeAlias = Callable[[Expression], Expression]


def _sigmoid_times(factor: float | Expression, exponent: Expression) -> Expression:
    """``factor * sigmoid(exponent)``; 0 where ``exp(-exponent)`` overflows, which is its limit."""
    return factor / (exp(-exponent) + 1)


def _gelu_tanh(value: Expression) -> Expression:
    # (1 + tanh(u)) / 2 equals sigmoid(2 u), which takes fewer operations.
    return _sigmoid_times(value, value * (value * value * (_GELU * 0.044715) + _GELU))


_GELU = 2 * math.sqrt(2 / math.pi)
"""D. Hendrycks and K. Gimpel, "Gaussian error linear units" (2016), section 2."""

OF_INTEGERS: Mapping[str, Activation] = MappingProxyType({"relu": lambda value: maximum(value, 0)})
"""Activations that are defined for integers too."""

ACTIVATIONS: Mapping[str, Activation] = MappingProxyType(
    {
        **OF_INTEGERS,
        "gelu_tanh": _gelu_tanh,
        "sigmoid": lambda value: _sigmoid_times(1, value),
        "silu": lambda value: _sigmoid_times(value, value),
        "tanh": lambda value: operation(Operator.HYPERBOLIC_TANGENT, value),
    }
)
"""``gelu_tanh`` is the tanh approximation of GELU, ``silu`` is ``x * sigmoid(x)``."""


class Factor(IntEnum):
    """The value of a factor as far as code depends on it. Integers, because they hash fast."""

    ZERO = 0
    ONE = 1
    ANY = 2


class Bias(StrEnum):
    """The dimension of the product along which the bias or a scale varies."""

    ROWS = "m"
    COLUMNS = "n"

    @property
    def transposed(self) -> Bias:
        """The dimension of the transposed product."""
        return Bias.COLUMNS if self is Bias.ROWS else Bias.ROWS


@dataclass(frozen=True)
class Epilogue:
    """``activation(alpha * product * scales + beta * out + bias)``.

    A factor ``ZERO`` removes its other operand. Factors ``ANY`` are kernel arguments ``alpha`` and
    ``beta``, arrays without dimensions. Scales are vector arguments ``scale`` and ``scale_2``, and
    the bias is a vector argument ``bias``.

    Attributes:
        alpha: the factor of the product.
        beta: the factor of the previous contents of ``out``.
        bias: the dimension along which the bias varies; None for no bias.
        activation: a name of :data:`ACTIVATIONS`, or None.
        scales: the dimension along which each scale varies; at most two.
    """

    alpha: Factor = Factor.ONE
    beta: Factor = Factor.ZERO
    bias: Bias | None = None
    activation: str | None = None
    scales: tuple[Bias, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Whether the sums are stored, or added to ``out``, without further arithmetic."""
        rest = (self.alpha, self.bias, self.activation, self.scales)
        return rest == (Factor.ONE, None, None, ()) and self.beta is not Factor.ANY

    @property
    def updates(self) -> bool:
        """Whether the previous contents of ``out`` are read."""
        return self.beta is not Factor.ZERO

    @property
    def transposed(self) -> Epilogue:
        """The epilogue of the transposed product."""
        bias = None if self.bias is None else self.bias.transposed
        scales = tuple(scale.transposed for scale in self.scales)
        return replace(self, bias=bias, scales=scales)


PLAIN = Epilogue()
"""The plain product."""


def epilogue_builder(
    epilogue: Epilogue, sizes: Sizes, dtype: DType, result: DType | None = None
) -> EpilogueBuilder | None:
    """The function that declares the epilogue in a kernel; None if the sums are stored directly.

    ``dtype`` is the type of the sums, and ``result`` is the type of the bias. Factors and scales
    have the type of :func:`arithmetic_of`.
    """
    if epilogue.is_plain:
        return None
    return partial(_declared, epilogue, sizes, dtype, result or dtype)


def arithmetic_of(total: DType, result: DType) -> DType:
    """The type of the epilogue: that of the sums, or a floating-point result of integer sums."""
    return result if total.is_integer and result.is_float else total


def _declared(
    epilogue: Epilogue, sizes: Sizes, dtype: DType, result: DType, build: KernelBuilder
) -> EpilogueFunction:
    arithmetic = arithmetic_of(dtype, result)

    def scalar(name: str, factor: Factor) -> Expression | None:
        return build.input(name, arithmetic, ())[()] if factor is Factor.ANY else None

    def vector(name: str, dtype: DType, along: Bias) -> ArrayHandle:
        length = sizes.m if along is Bias.ROWS else sizes.n
        return build.input(name, dtype, (length,), dimensions=along.value)

    alpha, beta = scalar("alpha", epilogue.alpha), scalar("beta", epilogue.beta)
    scales = [
        (vector(name, arithmetic, along), along)
        for name, along in zip(("scale", "scale_2"), epilogue.scales, strict=False)
    ]
    bias = None if epilogue.bias is None else vector("bias", result, epilogue.bias)

    def value_of(inputs: EpilogueInput) -> Expression:
        terms = []
        if epilogue.alpha is not Factor.ZERO:
            value = inputs.value if arithmetic == dtype else cast(inputs.value, arithmetic)
            product = value if alpha is None else alpha * value
            for scale, along in scales:
                product = product * scale[inputs.row if along is Bias.ROWS else inputs.column]
            terms.append(product)
        if inputs.old is not None:
            terms.append(inputs.old if beta is None else beta * inputs.old)
        if bias is not None:
            terms.append(bias[inputs.row if epilogue.bias is Bias.ROWS else inputs.column])
        total, *rest = terms or [Constant(0, arithmetic)]
        for term in rest:
            total = total + term
        activate = ACTIVATIONS[epilogue.activation] if epilogue.activation else None
        return total if activate is None else activate(total)

    return value_of


def epilogue_kernel(
    epilogue: Epilogue, sizes: Sizes, dtype: DType, result: DType | None = None
) -> Kernel:
    """Declare the kernel of a product without terms: the epilogue of sums that are 0.

    The result is ``out[batch, m, n]``; the one statement is ``epilogue``.
    """
    build = KernelBuilder("epilogue")
    stored = result or dtype
    value_of = _declared(epilogue, sizes, dtype, stored, build)
    declare = build.inout if epilogue.updates else build.output
    shape = {"batch": sizes.batch, "m": sizes.m, "n": sizes.n}
    out = declare("out", stored, tuple(shape.values()), dimensions=" ".join(shape))
    with build.loops(**shape) as at, build.statement("epilogue"):
        old = out[at] if epilogue.updates else None
        out[at] = value_of(EpilogueInput(Constant(0, dtype), at[1], at[2], old))
    return build.kernel()

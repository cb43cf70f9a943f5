"""What becomes of the sums of a product: scaled, added to what is there, biased, activated."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum, StrEnum
from functools import partial

from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Constant, Expression
from polysched.ir.kernel import Kernel
from polysched.library.matmul.activations import ACTIVATIONS
from polysched.library.matmul.kernel import Elementwise, Epilogue, Finished, Sizes


class Factor(IntEnum):
    """What is known of a factor before the call. Numbers, whose hash is quickly made."""

    ZERO = 0
    ONE = 1
    ANY = 2


class Bias(StrEnum):
    """Along which dimension of the product the elements of a bias lie."""

    ROWS = "m"
    COLUMNS = "n"


@dataclass(frozen=True)
class Finish:
    """``activation(alpha * product + beta * out + bias)``.

    Where a factor is zero, its other operand is not there at all; factors that are any number are
    arrays ``alpha`` and ``beta`` without dimensions, and the bias is a vector ``bias``.

    Attributes:
        alpha: the factor of the product.
        beta: the factor of what ``out`` holds.
        bias: along which dimension a vector is added; None for no vector.
        activation: a name of :data:`ACTIVATIONS`, or None.
    """

    alpha: Factor = Factor.ONE
    beta: Factor = Factor.ZERO
    bias: Bias | None = None
    activation: str | None = None

    @property
    def is_plain(self) -> bool:
        """Whether the sums are stored as they are, or added to ``out``."""
        rest = (self.alpha, self.bias, self.activation)
        return rest == (Factor.ONE, None, None) and self.beta is not Factor.ANY

    @property
    def updates(self) -> bool:
        """Whether what ``out`` holds counts."""
        return self.beta is not Factor.ZERO

    @property
    def turned(self) -> Finish:
        """The same for the transposed product."""
        bias = {None: None, Bias.ROWS: Bias.COLUMNS, Bias.COLUMNS: Bias.ROWS}[self.bias]
        return replace(self, bias=bias)


PLAIN = Finish()
"""The product as it is."""


def epilogue_of(finish: Finish, sizes: Sizes, dtype: DType) -> Epilogue | None:
    """The epilogue that finishes sums of a type; None if there is nothing to do for it."""
    if finish.is_plain:
        return None

    return partial(_declared, finish, sizes, dtype)


def _declared(finish: Finish, sizes: Sizes, dtype: DType, build: KernelBuilder) -> Elementwise:
    def scalar(name: str, factor: Factor) -> Expression | None:
        return build.input(name, dtype, ())[()] if factor is Factor.ANY else None

    alpha, beta = scalar("alpha", finish.alpha), scalar("beta", finish.beta)
    bias = None
    if finish.bias is not None:
        length = sizes.m if finish.bias is Bias.ROWS else sizes.n
        bias = build.input("bias", dtype, (length,), dimensions=finish.bias.value)

    def finished(done: Finished) -> Expression:
        terms = []
        if finish.alpha is not Factor.ZERO:
            terms.append(done.value if alpha is None else alpha * done.value)
        if done.old is not None:
            terms.append(done.old if beta is None else beta * done.old)
        if bias is not None:
            terms.append(bias[done.row if finish.bias is Bias.ROWS else done.column])
        total, *rest = terms or [Constant(0, dtype)]
        for term in rest:
            total = total + term
        activate = ACTIVATIONS[finish.activation] if finish.activation else None
        return total if activate is None else activate(total)

    return finished


def finish_kernel(finish: Finish, sizes: Sizes, dtype: DType) -> Kernel:
    """What is left of a product without terms: the finish of sums that are 0.

    The array is ``out[batch, m, n]``; the one statement is ``epilogue``.
    """
    build = KernelBuilder("finish")
    finished = _declared(finish, sizes, dtype, build)
    declare = build.inout if finish.updates else build.output
    shape = {"batch": sizes.batch, "m": sizes.m, "n": sizes.n}
    out = declare("out", dtype, tuple(shape.values()), dimensions=" ".join(shape))
    with build.loops(**shape) as at, build.statement("epilogue"):
        old = out[at] if finish.updates else None
        out[at] = finished(Finished(Constant(0, dtype), at[1], at[2], old))
    return build.kernel()

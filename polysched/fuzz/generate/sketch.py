"""Kernel sketch: a kernel as plain data that can be declared, printed as Python, and shrunk."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.core.packing import Rows
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression, Load

NAME = "random"
"""The name of every sketched kernel."""


@dataclass(frozen=True)
class ParameterSketch:
    """Parameter with its least value and its greatest value; None is unbounded."""

    name: str
    minimum: int
    maximum: int | None


@dataclass(frozen=True)
class ArraySketch:
    """Array; its extents and strides are expressions over the parameters."""

    name: str
    role: Role
    dtype: DType
    shape: tuple[Expression, ...]
    rows: Rows | None = None
    strides: tuple[Expression, ...] | None = None


@dataclass(frozen=True)
class AssignSketch:
    """Statement ``target = value``."""

    name: str
    target: Load
    value: Expression
    order: Order | None = None


@dataclass(frozen=True)
class LoopSketch:
    """Loop ``for index in range(lower, upper, step)``."""

    index: str
    lower: Expression
    upper: Expression
    step: int
    body: tuple[PartSketch, ...]


@dataclass(frozen=True)
class WhereSketch:
    """Body under an affine condition."""

    condition: Expression
    body: tuple[PartSketch, ...]


PartSketch: TypeAlias = AssignSketch | LoopSketch | WhereSketch


@dataclass(frozen=True)
class KernelSketch:
    """Declaration of a kernel; ``fp_contract`` is the kernel's attribute."""

    parameters: tuple[ParameterSketch, ...]
    arrays: tuple[ArraySketch, ...]
    body: tuple[PartSketch, ...]
    fp_contract: bool = True


def assignments(parts: tuple[PartSketch, ...]) -> Iterator[AssignSketch]:
    """Yield all statements in the order of declaration."""
    for part in parts:
        if isinstance(part, AssignSketch):
            yield part
        else:
            yield from assignments(part.body)


def declare(sketch: KernelSketch) -> Kernel:
    """Declare the kernel of a sketch.

    Raises:
        KernelError: the kernel is invalid; for example, nothing writes an output.
    """
    build = KernelBuilder(NAME)
    for parameter in sketch.parameters:
        build.parameter(parameter.name, minimum=parameter.minimum, maximum=parameter.maximum)
    arrays = {array.name: _declared(build, array) for array in sketch.arrays}
    for part in sketch.body:
        _declare(build, arrays, part)
    return replace(build.kernel(), fp_contract=sketch.fp_contract)


def _declared(build: KernelBuilder, array: ArraySketch) -> ArrayHandle:
    if array.role is Role.TEMPORARY:
        return build.temporary(array.name, array.dtype, array.shape)
    methods = {Role.INPUT: build.input, Role.OUTPUT: build.output, Role.INOUT: build.inout}
    method = methods[array.role]
    return method(array.name, array.dtype, array.shape, rows=array.rows, strides=array.strides)


def _declare(build: KernelBuilder, arrays: dict[str, ArrayHandle], part: PartSketch) -> None:
    match part:
        case AssignSketch(name=name, target=target, value=value, order=order):
            with build.statement(name, order=order):
                arrays[target.array][target.subscripts] = value
        case LoopSketch(index=index, lower=lower, upper=upper, step=step, body=body):
            with build.loops(**{index: (lower, upper, step)}):
                for child in body:
                    _declare(build, arrays, child)
        case WhereSketch(condition=condition, body=body):
            with build.where(condition):
                for child in body:
                    _declare(build, arrays, child)

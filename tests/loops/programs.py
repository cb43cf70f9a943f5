"""Loop programs built by hand, small enough to be read."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import islpy as isl

from polysched.ir.core.kernel import Access, Array, Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import DType, f32
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operand,
    Parameter,
    as_expression,
)
from polysched.ir.expr.functions import maximum
from polysched.loops.generate import parameter_intervals
from polysched.loops.ir.nodes import Allocate, Assign, For, If, LoopNode, LoopProgram, block

n, i, j, k = Parameter("n"), Index("i"), Index("j"), Index("k")


def array(name: str, shape: Sequence[Operand], role: Role, dtype: DType = f32) -> Array:
    extents = tuple(as_expression(extent) for extent in shape)
    return Array(name, dtype, extents, role, tuple(f"d{x}" for x in range(len(extents))))


def load(name: str, *subscripts: Operand, dtype: DType = f32) -> Load:
    return Load(name, tuple(as_expression(subscript) for subscript in subscripts), dtype)


def assign(
    name: str,
    subscripts: Sequence[Operand],
    value: Expression,
    statement: str = "S",
    instance: Sequence[Operand] | None = None,
) -> Assign:
    target = Access(name, tuple(as_expression(subscript) for subscript in subscripts))
    at = subscripts if instance is None else instance
    return Assign(statement, tuple(as_expression(index) for index in at), target, value)


def loop(
    variable: str,
    lower: Operand,
    upper: Operand,
    *body: LoopNode,
    step: int = 1,
    kind: LoopKind = LoopKind.SEQUENTIAL,
) -> For:
    bounds = as_expression(lower), as_expression(upper)
    return For(variable, variable, *bounds, step, kind, block(body))


def vector(variable: str, lower: Operand, upper: Operand, *body: LoopNode) -> For:
    """A loop over at most 20 lanes."""
    return replace(loop(variable, lower, upper, *body, kind=LoopKind.VECTOR), lanes=20)


def program(
    arrays: Sequence[Array], *body: LoopNode, name: str = "f", context: str = "[n] -> { : n >= 0 }"
) -> LoopProgram:
    promised = isl.Set(context)
    parameters = tuple(promised.get_var_names(isl.dim_type.param))
    ranges = parameter_intervals(promised, parameters)
    return LoopProgram(name, parameters, promised, ranges, _by_name(arrays), block(body))


def _by_name(arrays: Sequence[Array]) -> Mapping[str, Array]:
    return {entry.name: entry for entry in arrays}


def matmul_relu() -> LoopProgram:
    """``c = max(0, a @ b)`` of shape (n, 8): tiles of 2 x 8 in a buffer, rows guarded."""
    zero = Constant(0.0, f32)
    io, ii, tile = Index("io"), Index("ii"), array("tile", (2, 8), Role.TEMPORARY)
    row = 2 * io + ii
    inside = row < n

    def rows(body: LoopNode) -> For:
        return loop("ii", 0, 2, If(inside, body), kind=LoopKind.UNROLLED)

    body: Any = Allocate(
        "tile",
        block(
            [
                rows(vector("j", 0, 8, assign("tile", (ii, j), zero, "init", (row, j)))),
                loop("k", 0, n, rows(vector("j", 0, 8, _accumulate(ii, row)))),
                rows(vector("j", 0, 8, assign("c", (row, j), _relu(load("tile", ii, j)), "relu"))),
            ]
        ),
    )
    arrays = [
        array("a", (n, n), Role.INPUT),
        array("b", (n, 8), Role.INPUT),
        array("c", (n, 8), Role.OUTPUT),
        tile,
    ]
    return program(arrays, loop("io", 0, (n + 1) // 2, body), name="matmul_relu")


def _accumulate(ii: Expression, row: Expression) -> Assign:
    value = load("tile", ii, j) + load("a", row, k) * load("b", k, j)
    return assign("tile", (ii, j), value, "product", (row, j, k))


def _relu(value: Expression) -> Expression:
    return maximum(0, value)

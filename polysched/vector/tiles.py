"""Tiles of an instruction's operands: their shapes, and the values that are computed of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from itertools import product
from typing import TypeAlias

import numpy as np

from polysched.instructions.declaration import Instruction
from polysched.ir.expr.expressions import Load
from polysched.ir.semantics.scalar import Scalar, compile_expression

Content: TypeAlias = list[list[Scalar]]
"""The elements of a tile, row by row."""

Indices: TypeAlias = Sequence[Mapping[str, int]]
"""The index of each dimension, for each term."""

LaneFunction: TypeAlias = Callable[[Scalar, Indices, Sequence[Mapping[str, Scalar]]], Scalar]
"""Compute a lane of the element before, and of the indices and operands of each term."""


def tile_shape(form: Instruction, operand: str, sizes: Mapping[str, int]) -> tuple[int, int] | None:
    """The rows and columns of an operand's tile for the given iterations of each dimension.

    None if the elements of a row are not consecutive: only the outermost dimension of a row may
    have fewer iterations than the instruction.
    """
    strides = form.strides(operand_load(form, operand))
    rows, columns = 1, 1
    inside = [name for name, stride in strides.items() if stride]
    for name in sorted(inside, key=lambda name: strides[name] or 0):
        if strides[name] != columns:
            return None
        columns *= sizes[name]
    for name, stride in strides.items():
        if stride is None:
            rows *= sizes[name]
    return rows, columns


def tile_result(
    form: Instruction, sizes: Mapping[str, int], given: Mapping[str, Content]
) -> Content:
    """Compute the target's tile of an instruction.

    Args:
        sizes: the iterations of each of its dimensions.
        given: the content of the tile of each operand.
    """
    target = form.statement.target.array
    read = [load.array for load in form.loads if load.array != target]
    position = {name: _position(form, name) for name in (target, *read)}
    rows, columns = tile_shape(form, target, sizes) or (0, 0)
    result: Content = [[0] * columns for _ in range(rows)]
    lanes, terms = form.lane_dimensions, form.term_dimensions
    every = [dict(zip(terms, at, strict=True)) for at in product(*(range(sizes[t]) for t in terms))]
    compute = lane_function(form)
    for numbers in product(*(range(sizes[lane]) for lane in lanes)):
        lane = dict(zip(lanes, numbers, strict=True))
        row, column = position[target](lane)
        before: Scalar = given[target][row][column] if form.updates else 0
        indices = [{**lane, **term} for term in every]
        values = []
        for index in indices:
            at = {name: position[name](index) for name in read}
            values.append({name: given[name][at[name][0]][at[name][1]] for name in read})
        result[row][column] = compute(before, indices, values)
    return result


def lane_function(form: Instruction) -> LaneFunction:
    """The function that computes a lane of the target."""
    if form.model is not None:
        model = form.model
        return lambda before, _, values: model(before, values)
    target, origin = form.statement.target.array, dict.fromkeys(form.extents, 0)
    current: dict[str, Scalar] = {}

    def read(array: str, position: tuple[int, ...]) -> Scalar:
        value = current[array]
        return value if isinstance(value, np.generic) else np.int64(value)

    compute = compile_expression(form.statement.value, read)

    def run(before: Scalar, indices: Indices, values: Sequence[Mapping[str, Scalar]]) -> Scalar:
        for at, operands in zip(indices, values, strict=True):
            current.update(operands)
            current[target] = before
            before = compute({**origin, **at})
        return before

    return run


def _position(form: Instruction, operand: str) -> Callable[[Mapping[str, int]], tuple[int, int]]:
    """The function from indices of the dimensions to the row and the column in a tile."""
    strides = form.strides(operand_load(form, operand))

    def position(at: Mapping[str, int]) -> tuple[int, int]:
        row = sum(at.get(name, 0) for name, stride in strides.items() if stride is None)
        return row, sum(at.get(name, 0) * (stride or 0) for name, stride in strides.items())

    return position


def operand_load(form: Instruction, operand: str) -> Load:
    """The load of an operand; for a target that is not read, the load of its element."""
    own = form.statement.target
    if operand == own.array:
        return Load(own.array, own.subscripts, form.kernel.arrays[own.array].dtype)
    return next(load for load in form.loads if load.array == operand)

"""Computed operands: matrices that are scaled, converted or unpacked while they are multiplied.

::

    weights = computed(
        lambda code, scale: cast(code, "f32") * scale,
        Input(codes, "u4", columns=4096),
        Input(scales, block=(1, 128)),
    )
    y = matmul(x, weights.T)

Nothing is computed here. The product computes the elements into packed blocks in the cache, or in
registers where it does not pack.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import (
    DEEPEST,
    LARGEST,
    Expression,
    Index,
    Load,
    Parameter,
    as_expression,
)
from polysched.ir.expr.traversal import depth, node_count, walk
from polysched.library.matmul.dispatch.shapes import NumpyArray, Shape
from polysched.library.matmul.dispatch.views import Form, Operand, form_of, operand_of
from polysched.library.matmul.kernel.operands import Recipe, Source
from polysched.runtime.array_layout import ALIGNED, C_CONTIGUOUS
from polysched.runtime.views import as_array


@dataclass(frozen=True, eq=False)
class Input:
    """An input array of a computed operand, with sub-byte elements or blocks.

    Attributes:
        array: an array of at most two dimensions.
        dtype: the sub-byte integer type that it holds, packed with padded rows, such as ``"u4"``;
            None for numpy's element type.
        columns: packed integers in a row; None for as many as the bytes of a row hold.
        block: the rows and columns of the operand that share an element, as a group of terms
            shares a scale. The last block may be partial.
    """

    array: Any
    dtype: DType | str | None = None
    columns: int | None = None
    block: tuple[int, int] = (1, 1)


@dataclass(frozen=True, eq=False)
class Computed:
    """A matrix whose elements are computed when it is multiplied; see :func:`computed`.

    Attributes:
        shape: rows and columns.
        dtype: the element type.
        recipe: how the elements are computed.
        inputs: the inputs as matrices, each with its form as the kernel's array.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    recipe: Recipe = field(repr=False)
    inputs: tuple[tuple[NumpyArray, Form], ...] = field(repr=False)

    @property
    def T(self) -> Computed:
        """The transposed matrix."""
        return replace(self, shape=self.shape[::-1], recipe=self.recipe.transposed)

    @cached_property
    def operand(self) -> Operand:
        """The description of the matrix for dispatch."""
        return Operand(self.dtype, self.shape, C_CONTIGUOUS | ALIGNED, recipe=self.recipe)

    def named(self, name: str) -> dict[str, NumpyArray]:
        """The inputs by the names that errors use."""
        return {f"input {at} of '{name}'": array for at, (array, _) in enumerate(self.inputs)}

    def arrays(self) -> list[NumpyArray]:
        """The inputs in the kernel's form."""
        return [
            array if form.prepare is None else form.prepare(array) for array, form in self.inputs
        ]


def computed(function: Callable[..., Any], *inputs: Any) -> Computed:
    """Describe an operand of ``matmul`` that is computed element by element from arrays.

    Inputs are broadcast to the matrix as in numpy: ``(m, k)`` has an element for each element of
    the matrix, ``(m, 1)`` one for each row, ``(k,)`` one for each column. Use :class:`Input` for
    groups and packed integers. The arrays are read when the matrix is multiplied, so later writes
    to them count.

    Each element is computed once for each packed copy of it, or in registers if it is not packed.
    Kernels are cached by the expression that ``function`` computes, including its constants. So a
    number that changes from call to call should be an input, if need be of shape ``()``.

    Args:
        function: computes an element of the matrix from one element of each input, by operators
            and functions such as :func:`polysched.cast`. It is called once, immediately.
        inputs: numpy arrays, DLPack tensors, buffers, or an :class:`Input` with one of these.

    Raises:
        CallError: there are no inputs, the inputs do not fit each other, or the result of the
            function is not a number computed from them.
    """
    if not callable(function):
        raise CallError(
            f"computed: the function is of type {type(function).__name__}; expected a function "
            "such as lambda x: x * 2, before the arrays that it takes"
        )
    if not inputs:
        raise CallError("computed: there is no array to compute from; pass one after the function")
    checked = [
        _matrix(value if isinstance(value, Input) else Input(value), position)
        for position, value in enumerate(inputs)
    ]
    rows, columns = (_extent(checked, axis) for axis in (0, 1))
    elements = [Load(str(at), (), matrix.dtype) for at, matrix in enumerate(checked)]
    result = _traced(function, elements)
    assert result.dtype is not None
    sources = tuple(matrix.source for matrix in checked)
    return Computed(
        (rows, columns),
        result.dtype.numpy(),
        Recipe(repr(result), sources, result),
        tuple((matrix.array, matrix.form) for matrix in checked),
    )


class _Matrix(NamedTuple):
    """A checked input, as a matrix."""

    name: str
    array: NumpyArray
    dtype: DType
    shape: tuple[int, int]
    block: tuple[int, int]
    form: Form

    @property
    def source(self) -> Source:
        return Source(
            self.dtype, self.shape, self.block, self.form.is_transposed, self.form.strides
        )


def _matrix(given: Input, position: int) -> _Matrix:
    name = f"computed: input {position}"
    array = as_array(given.array, name).view()
    if array.ndim > 2:
        raise CallError(
            f"{name} has shape {array.shape}; expected at most two dimensions: multiply the "
            "matrices of a stack one by one"
        )
    block = given.block
    is_pair = isinstance(block, tuple) and len(block) == 2
    if not is_pair or any(type(extent) is not int or extent < 1 for extent in block):
        raise CallError(f"{name}: block is {block!r}; expected two integers >= 1, such as (1, 128)")
    array = array.reshape((1,) * (2 - array.ndim) + array.shape)
    try:
        dtype = as_dtype(array.dtype if given.dtype is None else given.dtype)
    except KernelError as error:
        raise CallError(f"{name}: {error}") from None
    if dtype.is_odd_width:
        return _packed(name, array, dtype, given.columns, block)
    if dtype.numpy() != array.dtype or given.columns is not None:
        raise CallError(
            f"{name} has elements of type {array.dtype}; dtype= and columns= are for packed "
            "integers, such as 'u4': leave them out, and convert in the function, by cast"
        )
    form = form_of(operand_of(array), array.shape)
    return _Matrix(name, array, dtype, _pair(array.shape), block, form)


def _packed(
    name: str, array: NumpyArray, dtype: DType, columns: int | None, block: tuple[int, int]
) -> _Matrix:
    rows, length = array.shape
    if array.dtype != np.uint8:
        raise CallError(
            f"{name} has elements of type {array.dtype}; expected the bytes, uint8, of packed "
            f"{dtype}, as pack_bits(..., rows='padded') gives them"
        )
    held = length * 8 // dtype.bits if columns is None else columns
    if type(held) is not int or held < 0 or -(-held * dtype.bits // 8) != length:
        raise CallError(
            f"{name} has rows of {length} bytes, and columns={columns} of {dtype} take "
            f"{-(-held * dtype.bits // 8) if type(held) is int else 'no'}; expected rows that are "
            "padded to whole bytes, and no more"
        )
    is_ready = array.flags.c_contiguous and array.flags.aligned
    form = Form(None if is_ready else partial(np.array, order="C"), is_copy=not is_ready)
    return _Matrix(name, array, dtype, (rows, held), block, form)


def _extent(inputs: list[_Matrix], axis: int) -> int:
    """The extent of the computed matrix along an axis."""
    plural = ("rows", "columns")[axis]
    known = {matrix.shape[axis]: matrix for matrix in inputs if matrix.block[axis] == 1}
    wide = [extent for extent in known if extent != 1]
    if len(wide) > 1:
        first, second = (known[extent] for extent in wide[:2])
        raise CallError(
            f"{first.name} has {wide[0]} {plural} and {second.name[10:]} has {wide[1]}; expected "
            "as many, or 1 that all share; for groups use Input(..., block=...)"
        )
    blocks = [matrix for matrix in inputs if matrix.block[axis] > 1]
    if not wide and any(matrix.shape[axis] != 1 for matrix in blocks):
        raise CallError(
            f"{blocks[0].name} has blocks of {blocks[0].block[axis]} {plural}, and no input says "
            f"how many {plural} there are; expected an input with an element for each"
        )
    extent = wide[0] if wide else 1
    for matrix in blocks:
        expected = -(-extent // matrix.block[axis])
        if matrix.shape[axis] not in (1, expected):
            raise CallError(
                f"{matrix.name} has {matrix.shape[axis]} {plural} of blocks; expected {expected}: "
                f"there are {extent} {plural} in blocks of {matrix.block[axis]}"
            )
    return extent


def _traced(function: Callable[..., Any], elements: list[Load]) -> Expression:
    """Trace a function of elements into an expression."""
    try:
        result = as_expression(function(*elements))
    except KernelError as error:
        raise CallError(f"computed: the function cannot be taken: {error}") from error
    if depth(result) > DEEPEST or node_count(result) > LARGEST:
        raise CallError(
            f"computed: the function's expression is too large; expected at most {DEEPEST} "
            f"nested operations and {LARGEST} in all"
        )
    for node in walk(result):
        if isinstance(node, Index | Parameter) or (
            isinstance(node, Load) and not any(node is element for element in elements)
        ):
            raise CallError(
                f"computed: the function uses '{node}', which is not an element of an input; pass "
                "its array as an input"
            )
    dtype = result.dtype
    if dtype is None or dtype.is_odd_width or not (dtype.is_float or dtype.is_integer):
        raise CallError(
            f"computed: the function's result has the type {dtype or 'of a literal'}; expected a "
            "number of a type that numpy has: convert it by cast(value, 'f32')"
        )
    return result


def _pair(shape: Shape) -> tuple[int, int]:
    rows, columns = shape
    return rows, columns

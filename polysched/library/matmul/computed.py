"""Operands that are computed element by element: scaled, converted, unpacked where they are read.

::

    weights = computed(
        lambda code, scale: cast(code, "f32") * scale,
        Input(codes, "u4", columns=4096),
        Input(scales, block=(1, 128)),
    )
    y = matmul(x, weights.T)

Nothing is computed here: the product does it, in the cache where it packs, else in registers.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from polysched.errors import CallError, KernelError
from polysched.ir.dtypes import DType, as_dtype
from polysched.ir.expressions import (
    DEEPEST,
    LARGEST,
    Expression,
    Index,
    Load,
    Parameter,
    as_expression,
)
from polysched.ir.traversal import depth, node_count, walk
from polysched.library.matmul.recipe import Recipe, Source
from polysched.library.matmul.shapes import NumpyArray, Shape
from polysched.library.matmul.views import Form, Operand, form_of, operand_of
from polysched.runtime.numpy_memory import ALIGNED, C_CONTIGUOUS
from polysched.runtime.views import as_array


@dataclass(frozen=True, eq=False)
class Input:
    """An array that an operand is computed from, where there is more to say than which.

    Attributes:
        array: of at most two dimensions.
        dtype: the integers of odd width that it holds, packed with padded rows, such as ``"u4"``;
            None for what numpy says.
        columns: how many such integers a row has; None for all that its bytes hold.
        block: the rows and columns of the operand that share an element, as a group of terms
            shares a scale; the last block may be cut off.
    """

    array: Any
    dtype: DType | str | None = None
    columns: int | None = None
    block: tuple[int, int] = (1, 1)


@dataclass(frozen=True, eq=False)
class Computed:
    """A matrix whose elements are computed when it is multiplied; made by :func:`computed`.

    Attributes:
        shape: rows and columns.
        dtype: the elements' type.
        recipe: how they are computed.
        inputs: what from, as matrices, and how each gets the form that the kernel takes.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    recipe: Recipe = field(repr=False)
    inputs: tuple[tuple[NumpyArray, Form], ...] = field(repr=False)

    @property
    def T(self) -> Computed:
        """The transposed matrix."""
        return replace(self, shape=self.shape[::-1], recipe=self.recipe.turned)

    @cached_property
    def operand(self) -> Operand:
        """What a route follows from."""
        return Operand(self.dtype, self.shape, C_CONTIGUOUS | ALIGNED, recipe=self.recipe)

    def named(self, name: str) -> dict[str, NumpyArray]:
        """The inputs of an operand as its caller knows them."""
        return {f"input {at} of '{name}'": one for at, (one, _) in enumerate(self.inputs)}

    def arrays(self) -> list[NumpyArray]:
        """The inputs as the kernel takes them."""
        return [one if form.prepare is None else form.prepare(one) for one, form in self.inputs]


def computed(function: Callable[..., Any], *inputs: Any) -> Computed:
    """A matrix computed element by element from arrays, to be an operand of ``matmul``.

    Inputs are spread over the matrix as numpy broadcasts them: ``(m, k)`` has an element for each,
    ``(m, 1)`` one for each row, ``(k,)`` one for each column. Groups and packed integers are said
    by :class:`Input`. The arrays are read when it is multiplied, not before, so that what is
    written to them later counts.

    An element is computed once for each copy that the product makes of it in the cache; where it
    copies none, in registers. The code is found again by what ``function`` computes. Numbers in it
    are part of that: what changes from call to call should be an input, of shape ``()`` if need be.

    Args:
        function: takes an element of each input, and returns the matrix's, by operators and by
            functions such as :func:`polysched.cast`. It is called once, at once.
        inputs: numpy arrays, DLPack tensors, buffers, or an :class:`Input` with one.

    Raises:
        CallError: no inputs, inputs that do not fit each other, or a function whose result is no
            number computed from them.
    """
    if not callable(function):
        raise CallError(
            f"computed: the function is of type {type(function).__name__}; expected a function "
            "such as lambda x: x * 2, before the arrays that it takes"
        )
    if not inputs:
        raise CallError("computed: there is no array to compute from; give one behind the function")
    given = [
        _matrix(one if isinstance(one, Input) else Input(one), at) for at, one in enumerate(inputs)
    ]
    rows, columns = (_extent(given, axis) for axis in (0, 1))
    elements = [Load(str(at), (), one.dtype) for at, one in enumerate(given)]
    result = _traced(function, elements)
    assert result.dtype is not None
    sources = tuple(one.source for one in given)
    return Computed(
        (rows, columns),
        result.dtype.numpy(),
        Recipe(repr(result), sources, result),
        tuple((one.array, one.form) for one in given),
    )


class _Given(NamedTuple):
    """An input, checked."""

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


def _matrix(given: Input, position: int) -> _Given:
    name = f"computed: input {position}"
    array = as_array(given.array, name).view()
    if array.ndim > 2:
        raise CallError(
            f"{name} has shape {array.shape}; expected at most two dimensions: multiply the "
            "matrices of a stack one by one"
        )
    block = given.block
    is_pair = isinstance(block, tuple) and len(block) == 2
    if not is_pair or any(type(one) is not int or one < 1 for one in block):
        raise CallError(f"{name}: block is {block!r}; expected two integers >= 1, such as (1, 128)")
    array = array.reshape((1,) * (2 - array.ndim) + array.shape)
    try:
        dtype = as_dtype(array.dtype if given.dtype is None else given.dtype)
    except KernelError as error:
        raise CallError(f"{name}: {error}") from None
    if dtype.is_odd:
        return _packed(name, array, dtype, given.columns, block)
    if dtype.numpy() != array.dtype or given.columns is not None:
        raise CallError(
            f"{name} has elements of type {array.dtype}; dtype= and columns= are for packed "
            "integers, such as 'u4': leave them out, and convert in the function, by cast"
        )
    form = form_of(operand_of(array), array.shape)
    return _Given(name, array, dtype, _pair(array.shape), block, form)


def _packed(
    name: str, array: NumpyArray, dtype: DType, columns: int | None, block: tuple[int, int]
) -> _Given:
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
    return _Given(name, array, dtype, (rows, held), block, form)


def _extent(given: list[_Given], axis: int) -> int:
    """The extent of the matrix along an axis.

    Raises:
        CallError: the inputs have different ones, or do not tell.
    """
    what = ("rows", "columns")[axis]
    known = {one.shape[axis]: one for one in given if one.block[axis] == 1}
    wide = [extent for extent in known if extent != 1]
    if len(wide) > 1:
        first, second = (known[extent] for extent in wide[:2])
        raise CallError(
            f"{first.name} has {wide[0]} {what} and {second.name[10:]} has {wide[1]}; expected as "
            "many, or 1 that all share; for groups use Input(..., block=...)"
        )
    blocks = [one for one in given if one.block[axis] > 1]
    if not wide and any(one.shape[axis] != 1 for one in blocks):
        raise CallError(
            f"{blocks[0].name} has blocks of {blocks[0].block[axis]} {what}, and no input says how "
            f"many {what} there are; expected one with an element for each"
        )
    extent = wide[0] if wide else 1
    for one in blocks:
        expected = -(-extent // one.block[axis])
        if one.shape[axis] not in (1, expected):
            raise CallError(
                f"{one.name} has {one.shape[axis]} {what} of blocks; expected {expected}: there "
                f"are {extent} {what} in blocks of {one.block[axis]}"
            )
    return extent


def _traced(function: Callable[..., Any], elements: list[Load]) -> Expression:
    """What a function computes from elements.

    Raises:
        CallError: it is no number of a type that numpy has, or computed from something else.
    """
    try:
        result = as_expression(function(*elements))
    except KernelError as error:
        raise CallError(f"computed: the function cannot be taken: {error}") from error
    if depth(result) > DEEPEST or node_count(result) > LARGEST:
        raise CallError(
            f"computed: the function's expression is too large; expected at most {DEEPEST} "
            f"operations inside each other and {LARGEST} in all"
        )
    for node in walk(result):
        if isinstance(node, Index | Parameter) or (
            isinstance(node, Load) and not any(node is one for one in elements)
        ):
            raise CallError(
                f"computed: the function uses '{node}', which is no element of an input; give the "
                "array it is in as an input"
            )
    dtype = result.dtype
    if dtype is None or dtype.is_odd or not (dtype.is_float or dtype.is_integer):
        raise CallError(
            f"computed: the function's result has the type {dtype or 'of a literal'}; expected a "
            "number of a type that numpy has: convert it by cast(value, 'f32')"
        )
    return result


def _pair(shape: Shape) -> tuple[int, int]:
    rows, columns = shape
    return rows, columns

"""Data-dependent subscripts: elements of index arrays in subscripts, as in ``x[idx[i] + 1]``.

The accessed element is known only at run time. At compile time only the declared *range of values*
of the index array is known. Therefore the access gets a **may relation**, from an instance to every
element that it could access: each loaded value may be anything in its range, and the rest of the
subscript is exact. Subscripts are computed in 64 bits, whatever the type of the index array.

The values of 8- and 16-bit integers, and of narrower ones, are bounded by their type: such an array
needs no declared range, and calls need not check it.

An index whose declared range begins at `ABSENT` is **optional**: where it is `ABSENT`, there is no
element. Such a read gives 0, and such a write does nothing. Frontends declare optional indices for
accesses that a condition on data guards, as in ``if (c) out[k] = v``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.expr.affine import to_pw_aff, to_set
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import (
    Cast,
    Constant,
    Expression,
    Index,
    Load,
    Operand,
    Operation,
    as_expression,
    operation,
)
from polysched.ir.expr.traversal import children, loads, rebuild

ABSENT = -(2**40)
"""Value of an optional index for which there is no element."""

FARTHEST = -(2**39)
"""Offsets in elements or bytes below this one contain an `ABSENT` index: no array is as large."""

SMALL_BITS = 16
"""Width in bits up to which the limits of a type bound a subscript."""


def is_data_dependent(subscripts: Sequence[Expression]) -> bool:
    """Whether a subscript reads an array element."""
    return any(loads(subscript) for subscript in subscripts)


def is_optional(subscripts: Sequence[Expression]) -> bool:
    """Whether a subscript reads an optional index, so that there may be no element."""
    return bool(optional_indices(subscripts))


def optional_indices(subscripts: Sequence[Expression]) -> tuple[Load, ...]:
    """The optional indices in subscripts."""
    absent = Constant(ABSENT)
    return tuple(
        load
        for load in outermost_loads(subscripts)
        if load.values is not None and load.values[0] == absent
    )


def outermost_loads(subscripts: Sequence[Expression]) -> tuple[Load, ...]:
    """The distinct loads in subscripts that are not inside another load, in order."""
    outermost: dict[Load, None] = {}

    def visit(expression: Expression) -> None:
        if isinstance(expression, Load):
            outermost[expression] = None
        else:
            for child in children(expression):
                visit(child)

    for subscript in subscripts:
        visit(subscript)
    return tuple(outermost)


def may_relation(domain: isl.Set, subscripts: Sequence[Expression]) -> isl.Map:
    """Compute the relation from the points of ``domain`` to all elements they may access.

    A load that occurs twice has the same value: ``x[idx[i], idx[i]]`` accesses the diagonal only.

    Raises:
        KernelError: a subscript is not quasi-affine in its loads.
    """
    index_loads = outermost_loads(subscripts)
    rank = domain.dim(isl.dim_type.set)
    extended = _extended(domain, index_loads)
    space = extended.get_space()
    result = isl.Map.from_domain(extended)
    for position, subscript in enumerate(subscripts):
        column = isl.Map.from_pw_aff(to_pw_aff(with_values(subscript), space))
        result = result.flat_range_product(column) if position else column
    result = result.intersect_domain(extended)
    result = result.project_out(isl.dim_type.in_, rank, len(index_loads))
    for position in range(rank):
        name = domain.get_dim_name(isl.dim_type.set, position)
        if name is not None:
            result = result.set_dim_name(isl.dim_type.in_, position, name)
    tuple_name = domain.get_tuple_name()
    if tuple_name is not None:
        result = result.set_tuple_name(isl.dim_type.in_, tuple_name)
    return result.coalesce()


def _extended(domain: isl.Set, index_loads: Sequence[Load]) -> isl.Set:
    """Add a dimension for the value of each load, named like the load and bounded by its range."""
    rank = domain.dim(isl.dim_type.set)
    extended = domain.add_dims(isl.dim_type.set, len(index_loads)).reset_tuple_id()
    for position in range(rank):
        name = domain.get_dim_name(isl.dim_type.set, position)
        if name is not None:
            extended = extended.set_dim_name(isl.dim_type.set, position, name)
    for position, load in enumerate(index_loads):
        extended = extended.set_dim_name(isl.dim_type.set, rank + position, str(load))
    space = extended.get_space()
    for load in index_loads:
        lower, upper = _declared_values(load)
        if is_optional([load]):
            lower = Constant(0)
        value = Index(str(load))
        extended = extended.intersect(to_set(lower <= value, space))
        extended = extended.intersect(to_set(value < upper, space))
    return extended


def is_bounded(load: Load) -> bool:
    """Whether bounds of the loaded value are known: a declared range, or a small integer type."""
    return load.values is not None or (load.type.is_integer and load.type.bits <= SMALL_BITS)


def _declared_values(load: Load) -> tuple[Expression, Expression]:
    if load.values is None and is_bounded(load):
        return Constant(load.type.lowest), Constant(load.type.highest + 1)
    if load.values is None:
        raise KernelError(
            f"'{load}' stands in a subscript, but array '{load.array}' has no declared range of "
            f'values; declare it with build.input("{load.array}", {load.type}, ..., '
            "values=(lower, upper)): every value v has lower <= v < upper, and each call checks it"
        )
    return load.values


def with_values(expression: Expression) -> Expression:
    """Replace each load in a subscript by an index that stands for the loaded value."""
    match expression:
        case Load():
            return Index(str(expression))
        case Cast(operand=operand):
            return with_values(operand)
        case _:
            operands = tuple(map(with_values, children(expression)))
            return rebuild(expression, operands) if operands else expression


def as_subscript(expression: Expression, space: isl.Space) -> Expression:
    """Convert a subscript to 64-bit arithmetic and check that it is quasi-affine in its loads.

    Args:
        space: the space of the instances at which the subscript is evaluated.

    Raises:
        KernelError: the subscript is not quasi-affine, or it reads an array that is not an index
            array.
    """
    if not loads(expression):
        to_pw_aff(expression, space)
        return expression
    widened = _widened(expression)
    index_loads = outermost_loads([widened])
    extended = _extended(isl.Set.universe(space), index_loads)
    to_pw_aff(with_values(widened), extended.get_space())
    for load in index_loads:
        for inner in load.subscripts:
            as_subscript(inner, space)
    return widened


def _widened(expression: Expression) -> Expression:
    match expression:
        case Load(type=dtype):
            if not dtype.is_integer:
                raise KernelError(
                    f"'{expression}' is of type {dtype}; expected an array of integers as index"
                )
            bounded = replace(expression, values=_declared_values(expression))
            return bounded if dtype == i64 else Cast(bounded, i64)
        case Cast(operand=Load() as load, type=dtype) if dtype == i64:
            return _widened(load)
        case Cast(type=dtype):
            raise KernelError(
                f"'{expression}' converts to {dtype} inside a subscript; subscripts are computed "
                "in 64 bits: convert array elements themselves, as in cast(idx[i], i64) + j"
            )
        case Constant(value=int(value)):
            # Drop the literal's type; `operation` gives it the type of the widened operand.
            return Constant(value)
        case Operation(operator=operator, operands=operands):
            return operation(operator, *map(_widened, operands))
        case _:
            return expression


def as_values(
    array: str, dtype: DType, values: tuple[Operand, Operand], space: isl.Space
) -> tuple[Expression, Expression]:
    """Convert the declared range of an index array's values; the upper end is exclusive.

    Args:
        space: a space without dimensions that has the kernel's parameters.

    Raises:
        KernelError: ``values`` is not a pair of affine expressions over the parameters, the range
            is empty, or the elements are not integers.
    """
    if not dtype.is_integer:
        raise KernelError(
            f"array '{array}' of {dtype} is declared with values={values!r}; a range of values is "
            "for arrays of integers, whose elements are allowed in subscripts"
        )
    if not isinstance(values, tuple) or len(values) != 2:
        raise KernelError(
            f"array '{array}': values={values!r}; expected a pair (lower, upper): every value v "
            "has lower <= v < upper"
        )
    lower, upper = (as_expression(end) for end in values)
    for end in (lower, upper):
        try:
            to_pw_aff(end, space)
        except KernelError as error:
            raise KernelError(f"values of array '{array}': {error}") from None
    if to_set(lower < upper, space).is_empty():
        raise KernelError(
            f"values of array '{array}': no value v has {lower} <= v < {upper}; the upper end is "
            "excluded"
        )
    return lower, upper

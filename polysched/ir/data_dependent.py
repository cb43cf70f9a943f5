"""Data-dependent subscripts: elements of integer arrays inside subscripts, as in ``x[idx[i] + 1]``.

Which element such an access touches is known only when the kernel runs. What is known before is the
*range of values* that the index array is declared with, so the access gets a **may relation**: from
an instance to every element that it could touch, each loaded value taken anywhere in its range.
Everything else of the subscript is added exactly. Subscripts are computed in 64 bits, whatever the
type of the index array.
"""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.affine import to_pw_aff, to_set
from polysched.ir.dtypes import DType, i64
from polysched.ir.expressions import (
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
from polysched.ir.traversal import children, loads, rebuild


def is_data_dependent(subscripts: Sequence[Expression]) -> bool:
    """Whether an array element stands inside one of the subscripts."""
    return any(loads(subscript) for subscript in subscripts)


def outermost_loads(subscripts: Sequence[Expression]) -> tuple[Load, ...]:
    """The different loads in subscripts that stand in no other load, in order."""
    found: dict[Load, None] = {}

    def visit(expression: Expression) -> None:
        if isinstance(expression, Load):
            found[expression] = None
        else:
            for child in children(expression):
                visit(child)

    for subscript in subscripts:
        visit(subscript)
    return tuple(found)


def may_relation(domain: isl.Set, subscripts: Sequence[Expression]) -> isl.Map:
    """The relation from the points of ``domain`` to all elements that subscripts may name there.

    A load that occurs twice has one value: ``x[idx[i], idx[i]]`` touches the diagonal only.

    Raises:
        KernelError: a subscript is not quasi-affine in its loads.
    """
    found = outermost_loads(subscripts)
    rank = domain.dim(isl.dim_type.set)
    extended = _extended(domain, found)
    space = extended.get_space()
    result = isl.Map.from_domain(extended)
    for position, subscript in enumerate(subscripts):
        column = isl.Map.from_pw_aff(to_pw_aff(with_values(subscript), space))
        result = result.flat_range_product(column) if position else column
    result = result.intersect_domain(extended)
    result = result.project_out(isl.dim_type.in_, rank, len(found))
    for position in range(rank):
        name = domain.get_dim_name(isl.dim_type.set, position)
        if name is not None:
            result = result.set_dim_name(isl.dim_type.in_, position, name)
    tuple_name = domain.get_tuple_name()
    if tuple_name is not None:
        result = result.set_tuple_name(isl.dim_type.in_, tuple_name)
    return result.coalesce()


def _extended(domain: isl.Set, found: Sequence[Load]) -> isl.Set:
    """The domain with one more dimension for the value of each load, named as the load is."""
    rank = domain.dim(isl.dim_type.set)
    extended = domain.add_dims(isl.dim_type.set, len(found)).reset_tuple_id()
    for position in range(rank):
        name = domain.get_dim_name(isl.dim_type.set, position)
        if name is not None:
            extended = extended.set_dim_name(isl.dim_type.set, position, name)
    for position, load in enumerate(found):
        extended = extended.set_dim_name(isl.dim_type.set, rank + position, str(load))
    space = extended.get_space()
    for load in found:
        lower, upper = _declared_values(load)
        value = Index(str(load))
        extended = extended.intersect(to_set(lower <= value, space))
        extended = extended.intersect(to_set(value < upper, space))
    return extended


def _declared_values(load: Load) -> tuple[Expression, Expression]:
    if load.values is None:
        raise KernelError(
            f"'{load}' stands in a subscript, but array '{load.array}' has no declared range of "
            f'values; declare it with build.input("{load.array}", {load.type}, ..., '
            "values=(lower, upper)): every value v has lower <= v < upper, and each call checks it"
        )
    return load.values


def with_values(expression: Expression) -> Expression:
    """The subscript with an index, the value loaded, in place of each load."""
    match expression:
        case Load():
            return Index(str(expression))
        case Cast(operand=operand):
            return with_values(operand)
        case _:
            operands = tuple(map(with_values, children(expression)))
            return rebuild(expression, operands) if operands else expression


def as_subscript(expression: Expression, space: isl.Space) -> Expression:
    """A subscript as it is computed: in 64 bits; checked to be quasi-affine in its loads.

    Args:
        space: the instances at which it is evaluated.

    Raises:
        KernelError: it is not quasi-affine, or loads from an array that cannot be an index.
    """
    if not loads(expression):
        to_pw_aff(expression, space)
        return expression
    widened = _widened(expression)
    found = outermost_loads([widened])
    extended = _extended(isl.Set.universe(space), found)
    to_pw_aff(with_values(widened), extended.get_space())
    for load in found:
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
            _declared_values(expression)
            return expression if dtype == i64 else Cast(expression, i64)
        case Cast(operand=Load() as load, type=dtype) if dtype == i64:
            return _widened(load)
        case Cast(type=dtype):
            raise KernelError(
                f"'{expression}' converts to {dtype} inside a subscript; subscripts are computed "
                "in 64 bits: convert array elements themselves, as in cast(idx[i], i64) + j"
            )
        case Constant(value=int(value)):
            # Without the type of the array it stood beside: it takes that of the widened operand.
            return Constant(value)
        case Operation(operator=operator, operands=operands):
            return operation(operator, *map(_widened, operands))
        case _:
            return expression


def as_values(
    array: str, dtype: DType, values: tuple[Operand, Operand], space: isl.Space
) -> tuple[Expression, Expression]:
    """The range of values, the upper end excluded, that an array is declared with.

    Args:
        space: a space without dimensions whose parameters are those of the kernel.

    Raises:
        KernelError: it is no pair of affine expressions over parameters, or the elements are no
            integers.
    """
    if not dtype.is_integer:
        raise KernelError(
            f"array '{array}' of {dtype} is declared with values={values!r}; a range of values is "
            "for arrays of integers, whose elements may stand in subscripts"
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

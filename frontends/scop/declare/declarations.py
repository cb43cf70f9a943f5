"""Declare the variables outside a region in its kernel: sizes, arrays and scalars."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterator, Mapping

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.bindings import (
    ArrayBinding,
    EndedBinding,
    IntegerBinding,
    size,
)
from polysched.frontends.scop.affine.expressions import affine, condition
from polysched.frontends.scop.affine.integer_types import in_type
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.subscripts import moved_pointer
from polysched.frontends.scop.declare.shapes import InferredShape
from polysched.frontends.scop.declare.variables import Origin, Outside, Variable
from polysched.frontends.scop.rewrites.size_values import DerivedSize
from polysched.frontends.scop.rewrites.usage import Usage
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.pragmas import Pragmas, Shape
from polysched.frontends.scop.types.c_types import type_range
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Parameter
from polysched.ir.expr.functions import equal

WIDEST_INDEX = 16
"""Largest number of bits of an element that may occur in a subscript: all its values are allowed
for. The range of a wider type fits no array.
"""


def declare_outside(
    scope: Scope,
    build: KernelBuilder,
    names: Names,
    variables: Mapping[str, Variable],
    usage: Usage,
    pragmas: Pragmas,
    shapes: Mapping[str, InferredShape | None],
    data: Collection[str] = (),
) -> Outside:
    """Declare the outside variables that a region uses; written arrays become inout.

    Args:
        shapes: the inferred shapes of arrays without declared extents; None for a draft.
        data: the integers that are read where they are used, unless an extent uses them; all others
            that nothing assigns to are sizes.
    """
    for name, shape in pragmas.shapes.items():
        if name not in variables:
            raise scope.error(shape.node, f"'{name}' is not declared outside the region")
    used = set(usage.used)
    extents = _extent_names(variables, used, pragmas)
    assumed = {name for node, _ in pragmas.assumptions for name in _identifiers(node)}
    as_data = {*data} - extents - assumed
    sizes: list[Variable] = []
    bound: set[str] = set()
    for name, variable in variables.items():
        dtype = variable.type.dtype
        if name not in used | extents | assumed or dtype is None or variable.type.dims:
            continue
        if name in usage.loop_variables:
            scope.bind(name, EndedBinding(variable.node, dtype))
            bound.add(name)
        elif dtype.is_integer and name not in usage.assigned:
            number = _known_number(scope, variable, dtype)
            bound.add(name)
            if number is not None:
                scope.bind(name, IntegerBinding(Constant(number), dtype))
                continue
            if name in as_data:
                bound.remove(name)
                continue
            names.fresh(name)
            _declare_size(scope, build, variable, dtype, is_extent=name in extents)
            sizes.append(variable)
    _assume(scope, build, pragmas)
    _relate(scope, build, sizes)
    arrays = {}
    for name, variable in variables.items():
        # A parameter or local variable hides an enumerator of the same name, so `bound` decides,
        # not the scope.
        if name in used and name not in bound:
            arrays[name] = variable
            if name in shapes:
                _declare_inferred(scope, build, names, variable, usage, shapes[name])
            else:
                _declare_array(scope, build, names, variable, usage, pragmas.shapes.get(name))
    return Outside(tuple(sizes), arrays)


def _assume(scope: Scope, build: KernelBuilder, pragmas: Pragmas) -> None:
    """Add the assumptions of the pragmas to the kernel and the scope."""
    for node, pragma in pragmas.assumptions:
        assumption = condition(scope, node)
        try:
            build.assume(assumption)
        except KernelError as error:
            raise scope.error(pragma, str(error)) from None
        scope.assume(assumption)
        if not scope.is_reached():
            raise scope.error(
                pragma, "no sizes satisfy this assumption together with the declarations"
            )


def _relate(scope: Scope, build: KernelBuilder, sizes: Collection[Variable]) -> None:
    """Add the equations of the derived sizes that are affine."""
    for variable in sizes:
        if not isinstance(variable.derived, DerivedSize):
            continue
        with contextlib.suppress(FrontendError, KernelError):
            holds = equal(Parameter(variable.name), affine(scope, variable.derived.node).value)
            scope.require_affine(variable.derived.node, holds)
            build.assume(holds)
            scope.assume(holds)


def _known_number(scope: Scope, variable: Variable, dtype: DType) -> int | None:
    """Return the value of a const variable that is initialized to a literal; otherwise None."""
    if variable.origin is Origin.PARAMETER or not variable.type.is_const:
        return None
    init = variable.node.init
    if init is None:
        return None
    try:
        return in_type(scope, init, affine(scope, init), dtype).number
    except FrontendError:  # the initializer uses names that are not bound yet, or data
        return None


def _declare_size(
    scope: Scope, build: KernelBuilder, variable: Variable, dtype: DType, *, is_extent: bool
) -> None:
    """Declare a parameter of the kernel; a size that occurs in an extent is not negative."""
    least, greatest = type_range(dtype)
    is_bounded = is_extent or not dtype.is_signed
    maximum = greatest if dtype.bits < 32 or (dtype.bits == 32 and not dtype.is_signed) else None
    minimum = 0 if is_bounded else least if dtype.bits < 32 else None
    parameter = build.parameter(variable.name, minimum=minimum, maximum=maximum)
    scope.add_parameter(variable.name)
    if minimum is not None:
        scope.assume(parameter >= minimum)
    if maximum is not None:
        scope.assume(parameter <= maximum)
    scope.bind(variable.name, size(variable.name, dtype))


def _declare_array(
    scope: Scope,
    build: KernelBuilder,
    names: Names,
    variable: Variable,
    usage: Usage,
    declared: Shape | None,
) -> None:
    name = variable.name
    is_flat = declared is not None and len(variable.type.dims) == 1
    if declared is not None and not is_flat and len(declared.extents) != len(variable.type.dims):
        raise scope.error(
            declared.node,
            f"'{name}' has {len(variable.type.dims)} dimensions; its shape has "
            f"{len(declared.extents)}",
        )
    dims = variable.type.dims if declared is None else declared.extents
    if declared is not None and not is_flat:
        _require_same_rows(scope, variable, declared)
    extents = tuple(_extent(scope, variable, dim, usage) for dim in dims)
    _bind_array(scope, build, names, variable, usage, extents, is_flat=is_flat)


def _declare_inferred(
    scope: Scope,
    build: KernelBuilder,
    names: Names,
    variable: Variable,
    usage: Usage,
    shape: InferredShape | None,
) -> None:
    """Declare an array without declared extents; without a shape, with any, for a draft."""
    is_draft = shape is None
    rank = len(variable.type.dims)
    if shape is None:
        inner = tuple(_extent(scope, variable, dim, usage) for dim in variable.type.dims[1:])
        shape = InferredShape((Constant(1), *inner))
    is_flat = rank == 1 and (is_draft or len(shape.extents) > 1)
    _bind_array(
        scope, build, names, variable, usage, shape.extents, is_flat=is_flat, is_draft=is_draft
    )
    binding = scope.find(variable.name)
    if shape.guarded and isinstance(binding, ArrayBinding):
        scope.guarded.add(binding.array.name)


def _bind_array(
    scope: Scope,
    build: KernelBuilder,
    names: Names,
    variable: Variable,
    usage: Usage,
    extents: tuple[Expression, ...],
    *,
    is_flat: bool,
    is_draft: bool = False,
) -> None:
    name, dtype = variable.name, variable.type.dtype
    if dtype is None:
        raise scope.error(
            variable.node, f"'{name}' points to void; expected a pointer to numbers of one type"
        )
    is_written = name in usage.assigned
    if is_written and variable.type.is_const:
        raise scope.error(variable.node, f"'{name}' is const, and the region writes it")
    is_index = name in usage.in_subscripts and dtype.is_integer and dtype.bits <= WIDEST_INDEX
    least, greatest = type_range(dtype) if is_index else (0, 0)
    values = (least, greatest + 1) if is_index and extents else None
    place = variable.place
    strides = None if place is None else _row_steps(place.strides, extents)
    try:
        with build.located(scope.source_map.location(variable.node)):
            handle = (
                build.inout(names.fresh(name), dtype, extents, strides=strides)
                if is_written
                else build.input(names.fresh(name), dtype, extents, values=values, strides=strides)
            )
    except KernelError as error:
        raise scope.error(variable.node, str(error)) from None
    is_object = variable.origin is not Origin.PARAMETER and not variable.type.is_pointer
    binding = ArrayBinding(
        handle,
        is_flat,
        variable.type.is_const,
        is_draft=is_draft,
        is_object=is_object,
        group=place.base if place is not None and place.is_indexed else None,
    )
    scope.bind(name, binding)


def _row_steps(
    strides: tuple[int, ...] | None, extents: tuple[Expression, ...]
) -> tuple[Expression | int, ...] | None:
    """Return one stride per dimension of a member of structs whose subscript is linearized."""
    if strides is None or len(strides) == len(extents):
        return strides
    (step,) = strides
    steps: list[Expression | int] = [step]
    for extent in extents[:0:-1]:
        last = steps[0]
        steps.insert(0, extent * last)
    return tuple(steps)


def undeclared_extents(
    variables: Mapping[str, Variable], usage: Usage, pragmas: Pragmas
) -> set[str]:
    """Return the used pointers whose outermost extent is declared nowhere, so it is inferred."""
    return {
        name
        for name in usage.used
        if name in variables
        and name not in pragmas.shapes
        and variables[name].type.dims[:1] == (None,)
        and variables[name].type.dtype is not None
        and name not in usage.changed
        and not (name in usage.only_first and len(variables[name].type.dims) == 1)
    }


def _require_same_rows(scope: Scope, variable: Variable, declared: Shape) -> None:
    """Check that a pragma's shape has the inner extents of the declaration."""
    pairs = zip(variable.type.dims[1:], declared.extents[1:], strict=True)
    for own, other in pairs:
        if own is None or scope.proves(equal(affine(scope, own).value, affine(scope, other).value)):
            continue
        shown, expected = scope.source_map.text(own), scope.source_map.text(other)
        raise scope.error(
            declared.node,
            f"'{variable.name}' is declared with rows of {shown}, and this pragma with rows of "
            f"{expected}; expected the same",
        )


def _extent(scope: Scope, variable: Variable, dim: c_ast.Node | None, usage: Usage) -> Expression:
    if dim is not None:
        return affine(scope, dim).value
    if variable.name in usage.only_first and len(variable.type.dims) == 1:
        return Constant(1)
    if variable.name in usage.changed:
        raise moved_pointer(scope, usage.changed[variable.name], variable.name)
    raise no_extent(scope, variable.node, variable.name)


def no_extent(scope: Scope, node: c_ast.Node, name: str) -> FrontendError:
    """Build the error for an array whose extent is not declared and cannot be inferred."""
    return scope.error(
        node,
        f"the extent of '{name}' is not declared; write it as in '{name}[n]', or put '#pragma "
        f"polysched shape {name}[n]' before the loops",
    )


def _extent_names(variables: Mapping[str, Variable], used: set[str], pragmas: Pragmas) -> set[str]:
    """Return the names in the extents of the used arrays."""
    names: set[str] = set()
    for name, variable in variables.items():
        if name in used:
            shape = pragmas.shapes.get(name)
            for dim in (*variable.type.dims, *(shape.extents if shape is not None else ())):
                if dim is not None:
                    names |= set(_identifiers(dim))
    return names


def _identifiers(node: c_ast.Node) -> Iterator[str]:
    if isinstance(node, c_ast.ID):
        yield node.name
    for _, child in node.children():
        yield from _identifiers(child)

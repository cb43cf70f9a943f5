"""Symbol table of the kernel builder: parameters, assumptions and arrays."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.core.data_dependent import as_values
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.limits import limited
from polysched.ir.core.packing import Rows, as_rows
from polysched.ir.core.strides import as_strides
from polysched.ir.declare.declarations import (
    as_condition,
    as_extent,
    dimension_names,
    require_identifier,
    require_limit,
)
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.dtypes import DType, as_dtype
from polysched.ir.expr.expressions import Expression, Load, Operand, Parameter
from polysched.ir.expr.source import SourceLocation, caller_location


class Symbols:
    """The parameters and arrays declared so far of one kernel.

    Args:
        kernel: the kernel's name, for messages.
    """

    def __init__(self, kernel: str) -> None:
        self.kernel = kernel
        self.parameters: list[str] = []
        self.arrays: dict[str, Array] = {}
        self._assumptions: list[Expression] = []
        self._excluded: list[isl.Set] = []
        self._location: SourceLocation | None = None

    def __contains__(self, name: str) -> bool:
        return name in self.parameters or name in self.arrays

    def kind(self, name: str) -> str:
        """The kind of a declared name, for messages: ``"a parameter"`` or ``"an array"``."""
        return "a parameter" if name in self.parameters else "an array"

    @contextmanager
    def located(self, location: SourceLocation) -> Iterator[None]:
        """Set the source location of the declarations in the block."""
        previous, self._location = self._location, location
        try:
            yield
        finally:
            self._location = previous

    def here(self) -> SourceLocation | None:
        """The source location of the current declaration."""
        return self._location or caller_location()

    def claim(self, name: str, kind: str) -> None:
        """Check that a name is a valid identifier that is not in use.

        Args:
            kind: the kind of the declared object, for the message: ``array``.
        """
        require_identifier(name, kind)
        if name in self:
            raise KernelError(
                f"{kind} '{name}': the name is taken already in kernel '{self.kernel}'"
            )

    def space(self, statement: str = "", indices: Sequence[str] = ()) -> isl.Space:
        """Create the instance space of a statement, with the parameters declared so far."""
        return instance_space(self.parameters, statement, indices)

    def add_parameter(self, name: str, minimum: int | None, maximum: int | None) -> Parameter:
        """Declare a parameter; the caller has claimed the name."""
        self.parameters.append(name)
        parameter = Parameter(name)
        for side, limit in (("minimum", minimum), ("maximum", maximum)):
            require_limit(name, side, limit)
        if minimum is not None:
            self._assumptions.append(parameter >= minimum)
        if maximum is not None:
            self._assumptions.append(parameter <= maximum)
        return parameter

    def assume(self, condition: Expression) -> None:
        """Add a condition over the parameters to the context."""
        checked = as_condition("assume", condition)
        with limited(KernelError, "the condition of assume(...) is too complex"):
            to_set(checked, self.space())
        self._assumptions.append(condition)

    def exclude(self, values: isl.Set) -> None:
        """Remove a set of parameter values from the context."""
        self._excluded.append(values)

    def context(self) -> isl.Set:
        """The parameter values that satisfy all assumptions.

        Raises:
            KernelError: no values satisfy them.
        """
        space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT, set=[], params=list(self.parameters)
        )
        context = isl.Set.universe(space)
        for assumption in self._assumptions:
            context = context.intersect(to_set(assumption, space))
        context = context.params()
        for excluded in self._excluded:
            context = context.subtract(excluded)
        if context.is_empty():
            raise KernelError(
                f"the assumptions about the parameters of kernel '{self.kernel}' contradict each "
                f"other: no values satisfy {' and '.join(map(str, self._assumptions))}"
            )
        return context

    def add_array(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        role: Role,
        dimensions: str | None,
        values: tuple[Operand, Operand] | None,
        rows: Rows | str | None = None,
        strides: Any = None,
    ) -> Array:
        """Declare an array.

        Args:
            shape: the extents, affine in the parameters; a single extent for one dimension.
            dimensions: the names of the dimensions, separated by spaces.
            values: the range of the elements; the upper end is exclusive.
            rows: the layout of a packed argument.
            strides: see :func:`polysched.ir.core.strides.as_strides`; None for row-major order.
        """
        self.claim(name, "array")
        shape = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        space = self.space()
        try:
            with limited(KernelError, "it is too complex"):
                extents = tuple(as_extent(extent, space) for extent in shape)
        except KernelError as error:
            raise KernelError(f"shape of array '{name}': {error}") from None
        names = dimension_names(name, dimensions, len(extents))
        element_type = as_dtype(dtype)
        layout = None
        if role is not Role.TEMPORARY:  # temporaries are never packed
            layout = as_rows(f"array '{name}'", element_type, len(extents), rows)
        if layout is not None and values is not None:
            raise KernelError(
                f"array '{name}' of {element_type} is packed, and the values of packed arrays "
                f"cannot be checked at calls; declare an index array of {element_type.container}"
            )
        array = Array(
            name,
            element_type,
            extents,
            role,
            names,
            location=self.here(),
            values=None if values is None else as_values(name, element_type, values, space),
            rows=layout,
            strides=None
            if strides is None
            else as_strides(name, element_type, strides, names, space),
        )
        self.arrays[name] = array
        return array

    def require_index_array(self, load: Load) -> None:
        """Check that a load in a subscript reads an input, or a temporary of promised values.

        Raises:
            KernelError: the array is undeclared, or the kernel writes it and nothing is known of
                its values.
        """
        array = self.arrays.get(load.array)
        if array is None:
            raise KernelError(
                f"'{load}' reads an array that kernel '{self.kernel}' does not declare"
            )
        is_promised = array.role is Role.TEMPORARY and array.values is not None
        if array.role is not Role.INPUT and not is_promised:
            raise KernelError(
                f"'{load}' reads {array.role.value} '{array.name}', which the kernel writes, so "
                "nothing is known of its values; expected elements of an input, declared with "
                "values=(lower, upper)"
            )

    def require_declared(self, statement: str, node: Expression) -> None:
        """Check that an expression node uses only parameters and arrays of this kernel."""
        if isinstance(node, Parameter) and node.name not in self.parameters:
            raise KernelError(
                f"statement '{statement}' uses parameter '{node.name}', which kernel "
                f"'{self.kernel}' does not declare"
            )
        if isinstance(node, Load) and node.array not in self.arrays:
            raise KernelError(
                f"statement '{statement}' reads array '{node.array}', which kernel "
                f"'{self.kernel}' does not declare"
            )

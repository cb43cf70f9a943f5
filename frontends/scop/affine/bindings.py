"""Bindings of the names of C in the kernel: an array, an integer, a loop variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from pycparser import c_ast

from polysched.ir.core.kernel import Array
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression, Index, Load, Parameter
from polysched.ir.expr.source import SourceLocation


@dataclass(frozen=True)
class ArrayBinding:
    """Name of an array of the kernel; a scalar is an array without dimensions.

    Attributes:
        handle: the array in the kernel builder.
        is_flat: whether C accesses the array by one linearized subscript.
        is_const: whether the elements cannot be written.
        guards: number of data-dependent conditions around the declaration.
        is_draft: whether the shape is not known yet; see
            `polysched.frontends.scop.statements.extents`.
        is_object: whether the name is that of an array, and not of a pointer to its first element.
        group: the variable that leads to the structs whose member the array is; None for others.
    """

    handle: ArrayHandle
    is_flat: bool = False
    is_const: bool = False
    guards: int = 0
    is_draft: bool = False
    is_object: bool = False
    group: str | None = None

    @property
    def array(self) -> Array:
        """The array."""
        return self.handle.array

    @property
    def dtype(self) -> DType:
        """The type of an element."""
        return self.array.dtype

    @property
    def rank(self) -> int:
        """Number of subscripts of an element in C."""
        return 1 if self.is_flat else len(self.array.shape)

    def element(self, subscripts: tuple[Expression, ...], location: SourceLocation) -> Load:
        """Return the load of an element."""
        return Load(self.array.name, subscripts, self.dtype, location, self.array.values)


@dataclass(frozen=True)
class IntegerBinding:
    """Name of an integer that does not depend on data: a size, an index, or a function of them.

    Attributes:
        value: the integer, as an expression of sizes and indices.
        is_affine: whether the value is affine. A polynomial may only be used in linearized
            subscripts.
    """

    value: Expression
    dtype: DType
    is_affine: bool = True

    @property
    def is_index(self) -> bool:
        """Whether the name is a loop variable."""
        return isinstance(self.value, Index)


@dataclass(frozen=True)
class EndedBinding:
    """Loop variable outside its loop, where its value is not tracked and cannot be used."""

    node: c_ast.Node
    dtype: DType


Binding: TypeAlias = ArrayBinding | IntegerBinding | EndedBinding


def size(name: str, dtype: DType) -> IntegerBinding:
    """Return the binding of a parameter of the kernel."""
    return IntegerBinding(Parameter(name), dtype)

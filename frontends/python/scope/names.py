"""The names in a function: its own bindings, and objects outside of it."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polysched.errors import KernelError, suggestion
from polysched.frontends.python.scope.array_values import ArrayValue, Operand, whole
from polysched.frontends.python.scope.bindings import (
    Binding,
    BranchArray,
    BranchArrayLearnedError,
    EndedBinding,
    LocalNumber,
    NumberType,
    OuterArray,
    OuterArrayLearnedError,
    PartialBinding,
    Scope,
    TypeLearnedError,
)
from polysched.frontends.python.scope.numbers_outside import array_of_numbers
from polysched.frontends.python.source.annotations import require_real
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.values.affinity import wrapping
from polysched.frontends.python.values.integer_ranges import IntegerUses, Need
from polysched.frontends.python.values.intervals import INT64, Interval
from polysched.frontends.python.values.value import Value, constant
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Index, Load, Parameter
from polysched.ir.expr.traversal import walk

SUPPORTED_VALUES = (
    "supported are numbers, names, elements such as a[i, j], + - * / // % ** & | ^ ~ << >>, "
    "comparisons, and, or, not, 'x if c else y', min, max and functions of math and numpy"
)


@dataclass(frozen=True)
class Names:
    """The names that expressions of one function can use.

    Attributes:
        sizes: names of the kernel's parameters.
        uses: the computations with Python integers so far, which must be proved to fit 64 bits.
    """

    source: FunctionSource
    build: KernelBuilder
    scope: Scope
    sizes: tuple[str, ...]
    uses: IntegerUses = field(default_factory=IntegerUses)

    def binding(self, node: ast.Name) -> Binding:
        """The binding of a name here.

        Raises:
            FrontendError: the name is not bound, or not to something that a kernel can use.
            TypeLearnedError: the name is a number that has to be kept in memory.
        """
        binding = self.scope.names.get(node.id)
        if binding is None:
            return self._outside(node)
        if isinstance(binding, EndedBinding):
            shown = binding.array
            if shown is not None and node.id not in self.scope.branch_arrays and _is_fixed(shown):
                raise BranchArrayLearnedError(node.id, BranchArray(shown.dtype, shown.shape))
            if not binding.is_number:
                raise self.source.error(node, f"'{node.id}' {binding.reason}")
            raise TypeLearnedError(node.id, NumberType(i64, is_weak=True))
        if isinstance(binding, PartialBinding):
            raise self.source.error(
                node,
                f"'{node.id}' is read where a branch that gives it a value may not have been "
                "taken; give it a value before the branch, and before the loop if it is kept",
            )
        return binding

    def atom(self, node: ast.Constant | ast.Attribute | ast.Name) -> Operand:
        """The value of a literal, a name or an attribute of a module."""
        if isinstance(node, ast.Name):
            return self._name(node)
        outer = node.value if isinstance(node, ast.Constant) else self.outer(node)
        value = constant(outer)
        if value is not None:
            return value
        if isinstance(outer, complex | np.complexfloating):
            require_real(np.dtype(type(outer)))
        if outer is None or isinstance(outer, str):
            raise self.source.error(
                node,
                f"the value here is {outer!r}; expected a number or an array: strings and None can "
                "only be compared, as in 'if mode == \"mean\"' or 'if out is None'",
            )
        kind = "a function" if callable(outer) else f"of type {type(outer).__name__}"
        kind = "a class" if isinstance(outer, type) else kind
        raise self.source.error(node, f"this is {kind}; {SUPPORTED_VALUES}")

    def _name(self, node: ast.Name) -> Operand:
        binding = self.binding(node)
        if isinstance(binding, LocalNumber):
            self.scope.read(node.id, binding)
            return Value(
                binding.handle[()], binding.is_weak, self.scope.alternatives.get(node.id, ())
            )
        if isinstance(binding, ArrayHandle):
            return whole(binding) if binding.array.shape else Value(binding[()])
        assert isinstance(binding, Value | ArrayValue)
        return binding

    def outer(self, node: ast.expr) -> Any:
        """The object that a name or ``module.name`` has outside of the function."""
        if isinstance(node, ast.Name) and node.id not in self.scope.names:
            if node.id not in self.source.outer:
                hint = self._hint(node.id, list(self.scope.names))
                raise self.source.error(node, f"'{node.id}' is not defined here{hint}")
            return self.source.outer[node.id]
        if isinstance(node, ast.Attribute):
            holder = self.outer(node.value)
            if hasattr(holder, node.attr):
                return getattr(holder, node.attr)
            raise self.source.error(node, f"'{ast.unparse(node)}' does not exist")
        raise self.source.error(node, f"'{ast.unparse(node)}' cannot be called or read in a kernel")

    def is_numbers(self, node: ast.expr) -> bool:
        """Whether a name is an array, list or tuple outside of the function."""
        if not isinstance(node, ast.Name) or node.id in self.scope.names:
            return False
        return isinstance(self.source.outer.get(node.id), np.ndarray | list | tuple)

    def is_inside(self, node: ast.expr) -> bool:
        """Whether an expression is about names of the function, not about modules outside."""
        while isinstance(node, ast.Attribute):
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope.names:
            return True
        return isinstance(self.source.outer.get(node.id), np.ndarray)

    def require_exact(self, node: ast.expr, value: Value) -> None:
        """Check that an integer in a subscript or a bound cannot wrap around."""
        dtype = wrapping(value.expression)
        if dtype is not None:
            raise self.source.error(
                node,
                f"this is computed in {dtype} and may wrap around; expected Python integers "
                "here, or array elements without arithmetic",
            )

    def indices_in_scope(self) -> list[str]:
        """The loop indices from which values of names here are computed."""
        names: dict[str, None] = {}
        for binding in self.scope.names.values():
            if isinstance(binding, Value):
                for node in walk(binding.expression):
                    if isinstance(node, Index):
                        names[node.name] = None
        return list(names)

    def _hint(self, name: str, known: list[str]) -> str:
        for array, value in self.scope.names.items():
            shape = value.array.shape if isinstance(value, ArrayHandle) else ()
            if Parameter(name) in shape:
                number = shape.index(Parameter(name))
                return (
                    f"; it is a size in the annotations only: write {name} = "
                    f"{array}.shape[{number}] first"
                )
        return suggestion(name, known)

    def _outside(self, node: ast.Name) -> Value | ArrayValue:
        outer = self.outer(node)
        value = constant(outer)
        if value is not None:
            return value
        for known, made in self.scope.outer_arrays:
            if known.outer is outer:
                return made
        try:
            numbers = array_of_numbers(outer)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None
        if numbers is not None:
            raise OuterArrayLearnedError(OuterArray(node.id, outer, numbers))
        raise self.source.error(
            node,
            f"'{node.id}' is of type {type(outer).__name__} outside of the function; expected a "
            "number or an array of numbers there, or an argument of the function",
        )

    def require_fitting(self, value: Value, node: ast.AST, within: Interval = INT64) -> Value:
        """Record that a Python integer must be proved to lie ``within`` a range; return it."""
        if value.is_weak and value.dtype == i64 and value.literal is None:
            indices = self.scope.indices
            self.uses.needs.append(Need(node, value.expression, indices, within))
        return value


def _is_fixed(array: ArrayValue) -> bool:
    """Whether the extents of an array depend on sizes alone."""
    return not any(
        isinstance(part, Index | Load) for extent in array.shape for part in walk(extent)
    )

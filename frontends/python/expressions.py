"""Translate Python expressions into values of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import reduce
from operator import and_, or_
from types import MappingProxyType
from typing import Any

from polysched.errors import KernelError, suggestion
from polysched.frontends.python.affinity import culprit, wrapping
from polysched.frontends.python.functions import call
from polysched.frontends.python.integer_ranges import IntegerUses, Need
from polysched.frontends.python.intervals import EXACT_IN_FLOAT64, INT64, Interval
from polysched.frontends.python.numpy_operations import truth
from polysched.frontends.python.operations import as_number, combine
from polysched.frontends.python.scope import (
    Binding,
    EndedBinding,
    LocalNumber,
    NumberType,
    PartialBinding,
    Scope,
    TypeLearnedError,
)
from polysched.frontends.python.source import FunctionSource
from polysched.frontends.python.values import Value, chosen, chosen_of, constant, python_type
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import Expression, Index, Parameter
from polysched.ir.expr.operators import COMPARISONS, Operator
from polysched.ir.expr.traversal import walk

BINARY: Mapping[type[ast.operator], Operator] = MappingProxyType(
    {
        ast.Add: Operator.ADD,
        ast.Sub: Operator.SUBTRACT,
        ast.Mult: Operator.MULTIPLY,
        ast.Div: Operator.DIVIDE,
        ast.FloorDiv: Operator.FLOOR_DIVIDE,
        ast.Mod: Operator.MODULO,
        ast.Pow: Operator.POWER,
        ast.BitAnd: Operator.BIT_AND,
        ast.BitOr: Operator.BIT_OR,
        ast.BitXor: Operator.BIT_XOR,
        ast.LShift: Operator.SHIFT_LEFT,
        ast.RShift: Operator.SHIFT_RIGHT,
    }
)
_COMPARISONS: Mapping[type[ast.cmpop], tuple[Operator, bool]] = MappingProxyType(
    {
        ast.Lt: (Operator.LESS, False),
        ast.LtE: (Operator.LESS_EQUAL, False),
        ast.Gt: (Operator.LESS, True),
        ast.GtE: (Operator.LESS_EQUAL, True),
        ast.Eq: (Operator.EQUAL, False),
        ast.NotEq: (Operator.NOT_EQUAL, False),
    }
)
"""The operator of a comparison, and whether its operands are swapped."""

_SUPPORTED = (
    "supported are numbers, names, elements such as a[i, j], + - * / // % ** & | ^ ~ << >>, "
    "comparisons, and, or, not, 'x if c else y', min, max and functions of math and numpy"
)


@dataclass(frozen=True)
class Reader:
    """Translator of the expressions of one function.

    Attributes:
        sizes: names of the kernel's parameters.
        uses: the computations with Python integers so far, which must be proved to fit 64 bits.
    """

    source: FunctionSource
    build: KernelBuilder
    scope: Scope
    sizes: tuple[str, ...]
    uses: IntegerUses = field(default_factory=IntegerUses)

    def value(self, node: ast.expr) -> Value:
        """The value of an expression.

        Raises:
            FrontendError: a kernel cannot compute it; the message points at the unsupported part.
        """
        try:
            with self.build.located(self.source.span(node).location):
                return self._value(node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def condition(self, node: ast.expr) -> Value:
        """The value of a condition.

        Raises:
            FrontendError: it is not a condition.
        """
        if isinstance(node, ast.BoolOp):
            return self._logical(node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Value(~self.condition(node.operand).expression, is_weak=True)
        value = self.value(node)
        if value.dtype.is_integer:
            return Value(truth(value), is_weak=True)
        if value.dtype != boolean:
            raise self.source.error(
                node, f"this is {value.dtype}; expected a condition, such as x > 0"
            )
        return value

    def element(self, node: ast.Subscript) -> tuple[ArrayHandle, tuple[Expression, ...]]:
        """The array and the subscripts of an element.

        Raises:
            FrontendError: it is not an array, or a subscript is not supported.
        """
        base, chain = self.base(node)
        array = self.array(base)
        parts = [
            part
            for link in chain
            for part in (link.slice.elts if isinstance(link.slice, ast.Tuple) else [link.slice])
        ]
        subscripts = tuple(
            self._subscript(part, array, position) for position, part in enumerate(parts)
        )
        try:
            array.statements.subscripts(array.array, subscripts)
        except KernelError as error:
            if len(subscripts) != len(array.array.shape):
                raise self.source.error(node, str(error)) from None
            culprit, reason = self.not_affine(parts)
            raise self.source.error(culprit or node, reason or str(error)) from None
        return array, subscripts

    def base(self, node: ast.Subscript) -> tuple[ast.expr, list[ast.Subscript]]:
        """Take ``a[i][j]`` apart: the subscripted expression, and its subscripts in order."""
        chain = [node]
        while isinstance(chain[0].value, ast.Subscript):
            chain.insert(0, chain[0].value)
        return chain[0].value, chain

    def array(self, node: ast.expr) -> ArrayHandle:
        """The array that a name is bound to.

        Raises:
            FrontendError: the name is not bound to an array.
        """
        binding = self.binding(node) if isinstance(node, ast.Name) else None
        if not isinstance(binding, ArrayHandle) or not binding.array.shape:
            text = ast.unparse(node)
            arrays = [name for name, b in self.scope.names.items() if isinstance(b, ArrayHandle)]
            raise self.source.error(
                node, f"'{text}' is not an array of this kernel{suggestion(text, arrays)}"
            )
        return binding

    def binding(self, node: ast.Name) -> Binding:
        """The binding of a name here.

        Raises:
            FrontendError: the name is not bound, or not to something that a kernel can use.
            TypeLearnedError: the name is a number that has to be kept in memory.
        """
        binding = self.scope.names.get(node.id)
        if binding is None:
            return self._outer(node)
        if isinstance(binding, EndedBinding):
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

    def outer(self, node: ast.expr) -> Any:
        """The object that a name or ``module.name`` has outside of the function.

        Raises:
            FrontendError: it is not defined.
        """
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

    def require_exact(self, node: ast.expr, value: Value) -> None:
        """Check that an integer in a subscript or a bound cannot wrap around.

        Raises:
            FrontendError: it may wrap around.
        """
        dtype = wrapping(value.expression)
        if dtype is not None:
            raise self.source.error(
                node,
                f"this is computed in {dtype} and may wrap around; expected Python integers "
                "here, or array elements without arithmetic",
            )

    def not_affine(self, parts: list[ast.expr]) -> tuple[ast.expr | None, str]:
        """The smallest subexpression of ``parts`` that is not affine, and the reason."""
        return culprit(parts, self.value, instance_space(self.sizes, "", self._indices()))

    def _indices(self) -> list[str]:
        names: dict[str, None] = {}
        for binding in self.scope.names.values():
            if isinstance(binding, Value):
                for node in walk(binding.expression):
                    if isinstance(node, Index):
                        names[node.name] = None
        return list(names)

    def _hint(self, name: str, known: list[str]) -> str:
        if name in self.sizes:
            return f"; it is a size in the annotations only: write {name} = array.shape[...] first"
        return suggestion(name, known)

    def _outer(self, node: ast.Name) -> Value:
        outer = self.outer(node)
        value = constant(outer)
        if value is not None:
            return value
        raise self.source.error(
            node,
            f"'{node.id}' is of type {type(outer).__name__} outside of the function; expected a "
            "number there, or an argument of the function",
        )

    def _subscript(self, node: ast.expr, array: ArrayHandle, position: int) -> Expression:
        if isinstance(node, ast.Slice):
            raise self.source.error(
                node, "a slice is not supported; expected one element: write a loop"
            )
        value = self.value(node)
        if not value.dtype.is_integer:
            raise self.source.error(node, f"this is {value.dtype}; expected an integer subscript")
        self.require_exact(node, value)
        shape = array.array.shape
        if isinstance(value.literal, int) and value.literal < 0 and position < len(shape):
            return shape[position] - -value.literal  # a negative literal counts from the end
        return value.expression

    def _value(self, node: ast.expr) -> Value:
        match node:
            case ast.Constant() | ast.Attribute() | ast.Name():
                return self._atom(node)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return self._extent(node)
            case ast.Subscript():
                array, subscripts = self.element(node)
                return Value(array[subscripts])
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                return self.binary(BINARY[type(op)], self.value(left), self.value(right), node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp(test=test, body=body, orelse=orelse):
                return chosen(self.condition(test), self.value(body), self.value(orelse))
            case ast.Call():
                return self._call(node)
        return self._joined(node)

    def _joined(self, node: ast.expr) -> Value:
        match node:
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return combine(Operator.BIT_NOT, self.value(operand))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self.require_fitting(combine(Operator.NEGATE, self.value(operand)), node)
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._positive(self.value(operand))
            case ast.UnaryOp(op=ast.Not()):
                return self.condition(node)
            case ast.BoolOp():
                return self._logical(node, self._truth_value)
        raise self.source.error(node, f"{type(node).__name__} is not supported here; {_SUPPORTED}")

    def _atom(self, node: ast.Constant | ast.Attribute | ast.Name) -> Value:
        if isinstance(node, ast.Name):
            return self._name(node)
        outer = node.value if isinstance(node, ast.Constant) else self.outer(node)
        value = constant(outer)
        if value is not None:
            return value
        raise self.source.error(node, f"this is of type {type(outer).__name__}; {_SUPPORTED}")

    def _name(self, node: ast.Name) -> Value:
        binding = self.binding(node)
        if isinstance(binding, Value):
            return binding
        if isinstance(binding, LocalNumber):
            return Value(
                binding.handle[()], binding.is_weak, self.scope.alternatives.get(node.id, ())
            )
        assert isinstance(binding, ArrayHandle)
        if not binding.array.shape:
            return Value(binding[()])
        dimensions = len(binding.array.shape)
        raise self.source.error(
            node, f"'{node.id}' is a whole array; expected an element with {dimensions} subscripts"
        )

    def binary(self, operator: Operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Apply a binary operator.

        Raises:
            KernelError: it cannot be applied to these values.
        """
        result = combine(operator, left, right)
        if left.is_weak and right.is_weak:
            kinds = [python_type(operand) for operand in (left, right)]
            is_division = operator is Operator.DIVIDE and float not in kinds
            if is_division or (operator in COMPARISONS and {int, float} <= set(kinds)):
                # Python divides and compares these exactly; the kernel converts them to float64.
                for operand in (left, right):
                    self.require_fitting(operand, node, EXACT_IN_FLOAT64)
        return self.require_fitting(result, node)

    def require_fitting(self, value: Value, node: ast.AST, within: Interval = INT64) -> Value:
        """Record that a Python integer must be proved to lie ``within`` a range; return it."""
        if value.is_weak and value.dtype == i64 and value.literal is None:
            indices = self.scope.indices
            self.uses.needs.append(Need(node, value.expression, indices, within))
        return value

    def _positive(self, value: Value) -> Value:
        if value.dtype == boolean and not value.is_weak:
            raise KernelError(
                "numpy does not define '+x' for a condition; convert it, as in np.int64(x)"
            )
        return as_number(value)

    def _truth_value(self, node: ast.expr) -> Value:
        """An operand of ``and`` or ``or``, whose value is one of their operands unchanged."""
        value = self.value(node)
        if value.dtype != boolean:
            raise self.source.error(
                node,
                f"this is {value.type_name}, and 'and' and 'or' return one of their operands; "
                "expected a condition, such as x > 0",
            )
        return value

    def _logical(self, node: ast.BoolOp, read: Callable[[ast.expr], Value]) -> Value:
        parts = [read(operand) for operand in node.values]
        join = and_ if isinstance(node.op, ast.And) else or_
        return chosen_of(reduce(join, (part.expression for part in parts)), *parts)

    def _comparison(self, node: ast.Compare) -> Value:
        sides = [self.value(side) for side in (node.left, *node.comparators)]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.source.error(node, "expected one of < <= > >= == !=")
            operator, is_swapped = _COMPARISONS[type(op)]
            pair = (right, left) if is_swapped else (left, right)
            parts.append(self.binary(operator, *pair, node))
        return chosen_of(reduce(and_, (part.expression for part in parts)), *parts)

    def _call(self, node: ast.Call) -> Value:
        if node.keywords or any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.source.error(
                node, "expected positional arguments only, without keywords and '*'"
            )
        function = self.outer(node.func)
        if function is len and len(node.args) == 1:
            return Value(self.array(node.args[0]).array.shape[0], is_weak=True)
        try:
            result = call(function, [self.value(argument) for argument in node.args])
            return self.require_fitting(result, node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def _extent(self, node: ast.Subscript) -> Value:
        assert isinstance(node.value, ast.Attribute)
        shape = self.array(node.value.value).array.shape
        position = self.value(node.slice).literal
        if not isinstance(position, int) or not -len(shape) <= position < len(shape):
            raise self.source.error(
                node.slice,
                f"expected the number of a dimension, from {-len(shape)} to {len(shape) - 1}",
            )
        return Value(shape[position], is_weak=True)


def sizes_in(expression: Expression) -> list[str]:
    """The parameters in an expression."""
    return [node.name for node in walk(expression) if isinstance(node, Parameter)]

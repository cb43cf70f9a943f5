"""Translate Python expressions into values of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial, reduce
from operator import and_, or_
from types import MappingProxyType

from polysched.errors import KernelError, suggestion
from polysched.frontends.python.expressions.array_calls import METHODS, ArrayCalls, transposed
from polysched.frontends.python.expressions.functions import SUPPORTED, is_half, root
from polysched.frontends.python.expressions.new_arrays import NewArrays
from polysched.frontends.python.expressions.subscripts import Subscripting
from polysched.frontends.python.expressions.type_tests import shape_test, type_test
from polysched.frontends.python.expressions.view_calls import VIEW_METHODS, ViewCalls
from polysched.frontends.python.scope.array_values import ArrayValue, Operand, mapped
from polysched.frontends.python.scope.names import SUPPORTED_VALUES, Names
from polysched.frontends.python.scope.periodic import affine_quotient, assumed_remainders
from polysched.frontends.python.source.statement_names import node_name
from polysched.frontends.python.values.affinity import culprit
from polysched.frontends.python.values.intervals import EXACT_IN_FLOAT64
from polysched.frontends.python.values.literal_conditions import decided
from polysched.frontends.python.values.numpy_operations import truth
from polysched.frontends.python.values.operations import as_number, combine
from polysched.frontends.python.values.value import (
    Value,
    chosen,
    chosen_of,
    constant,
    number,
    python_type,
)
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Parameter
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

_STARRED = "expected arguments without '*'"


@dataclass(frozen=True)
class Reader(Names):
    """Translator of the expressions of one function."""

    def value(self, node: ast.expr) -> Value:
        """The value of an expression, a number.

        Raises:
            FrontendError: a kernel cannot compute it; the message points at the unsupported part.
        """
        operand = self.operand(node)
        if isinstance(operand, Value):
            return operand
        text = ast.unparse(node)
        raise self.source.error(
            node,
            f"'{text}' is a whole array; expected an element with {operand.rank} subscripts",
        )

    def operand(self, node: ast.expr) -> Operand:
        """The value of an expression: a number or an array."""
        location = self.source.span(node).location
        try:
            with self.build.located(location):
                result = self._value(node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None
        if isinstance(result, Value) or isinstance(node, ast.Name):
            return result
        at = result.at

        def located(indices: tuple[Expression, ...]) -> Value:
            with self.build.located(location):
                return at(indices)

        return replace(result, at=located)

    def condition(self, node: ast.expr) -> Value:
        """The value of a condition; a number is true if it is not 0."""
        if isinstance(node, ast.BoolOp):
            return self._logical(node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Value(~self.condition(node.operand).expression, is_weak=True)
        value = self.value(node)
        return value if value.dtype == boolean else Value(truth(value), is_weak=True)

    def view(self, node: ast.Subscript) -> ArrayValue:
        """The part of an array that subscripts select; an element has no dimensions."""
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        view = self.subscripting.view(self.array(node.value), node, list(parts))
        if view.rank or view.base is None or view.place is None:
            return view
        try:
            view.base.statements.subscripts(view.base.array, view.place(()))
        except KernelError as error:
            base, place = view.base, view.place(())
            known = assumed_remainders(self.build, place, self.scope.indices)
            if known != place:
                return replace(view, at=lambda _: Value(base[known]), place=lambda _: known)
            culprit, reason = self.not_affine(list(parts))
            raise self.source.error(culprit or node, reason or str(error)) from None
        return view

    def array(self, node: ast.expr) -> ArrayValue:
        """The array that an expression is."""
        is_array = isinstance(
            node,
            ast.Subscript | ast.Call | ast.Attribute | ast.BinOp | ast.Compare | ast.UnaryOp,
        )
        is_array = is_array or (
            isinstance(node, ast.Name) and (node.id in self.scope.names or self.is_numbers(node))
        )
        operand = self.operand(node) if is_array else None
        if not isinstance(operand, ArrayValue):
            text = ast.unparse(node)
            arrays = [
                name
                for name, binding in self.scope.names.items()
                if isinstance(binding, ArrayHandle | ArrayValue)
            ]
            reason = f"'{text}' is not an array of this kernel{suggestion(text, arrays)}"
            if isinstance(node, ast.Tuple):
                reason = (
                    "a tuple is not an array; give each of its values a name, as in 'a, b = ...'"
                )
            elif isinstance(node, ast.Constant):
                reason = f"the value here is {text}; expected an array"
            raise self.source.error(node, reason)
        return operand

    def not_affine(self, parts: list[ast.expr]) -> tuple[ast.expr | None, str]:
        """The smallest subexpression of ``parts`` that is not affine, and the reason."""
        return culprit(parts, self.value, instance_space(self.sizes, "", self.indices_in_scope()))

    def _value(self, node: ast.expr) -> Operand:
        match node:
            case ast.Attribute(value=owner, attr=name) if self.is_inside(owner):
                return self._attribute(node, self.array(owner), name)
            case ast.Constant() | ast.Attribute() | ast.Name():
                return self.atom(node)
            case ast.Subscript(value=ast.Attribute(attr="shape")):
                return self._extent(node)
            case ast.Subscript():
                return self._constant(node) or self._selected(node)
            case ast.BinOp(left=left, op=op, right=right) if type(op) in BINARY:
                sides = self.operand(left), self.operand(right)
                return self.combined(BINARY[type(op)], *sides, node)
            case ast.Compare():
                return self._comparison(node)
            case ast.IfExp():
                return self._choice(node)
            case ast.Call():
                return self._call(node)
        return self._joined(node)

    def _selected(self, node: ast.Subscript) -> Operand:
        view = self.view(node)
        if view.rank:
            return view
        is_python = view.base is not None and self.scope.is_sequence(view.base.array.name)
        return replace(view.at(()), is_weak=True) if is_python else view.at(())

    def _constant(self, node: ast.Subscript) -> Value | None:
        """An element of an array outside that literals select; None for other elements."""
        if not isinstance(node.value, ast.Name) or not self.is_numbers(node.value):
            return None
        parts = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        if any(isinstance(part, ast.Slice) or _is_no_number(part) for part in parts):
            return None
        at = [self.operand(part) for part in parts]
        literals = [value.literal if isinstance(value, Value) else None for value in at]
        if not all(type(literal) is int for literal in literals):
            return None
        outer = self.outer(node.value)
        try:
            return constant(outer[tuple(literals) if len(literals) > 1 else literals[0]])
        except (IndexError, TypeError):
            return None

    def _choice(self, node: ast.IfExp) -> Operand:
        condition = self.condition(node.test)
        is_true = decided(condition)
        if is_true is not None:
            return self.operand(node.body if is_true else node.orelse)
        return chosen(condition, self.value(node.body), self.value(node.orelse))

    def _mapped(self, function: Callable[..., Value], *operands: Operand) -> Operand:
        return mapped(self.build, function, *operands)

    def _attribute(self, node: ast.expr, array: ArrayValue, name: str) -> Operand:
        match name:
            case "T":
                return transposed(array)
            case "ndim":
                return number(array.rank)
            case "size":
                return self.calls.count(array.shape, node)
        raise self.source.error(
            node, f"'.{name}' of an array is not supported here; supported are T, shape, size, ndim"
        )

    def _joined(self, node: ast.expr) -> Operand:
        match node:
            case ast.UnaryOp(op=ast.Invert(), operand=operand):
                return self._mapped(
                    lambda value: combine(Operator.BIT_NOT, value), self.operand(operand)
                )
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return self._mapped(
                    lambda value: self.require_fitting(combine(Operator.NEGATE, value), node),
                    self.operand(operand),
                )
            case ast.UnaryOp(op=ast.UAdd(), operand=operand):
                return self._mapped(self._positive, self.operand(operand))
            case ast.UnaryOp(op=ast.Not()):
                return self.condition(node)
            case ast.BoolOp():
                return self._logical(node, self._truth_value)
        raise self.source.error(
            node, f"{node_name(node)} is not supported here; {SUPPORTED_VALUES}"
        )

    def combined(self, operator: Operator, left: Operand, right: Operand, node: ast.AST) -> Operand:
        """Apply a binary operator to numbers and arrays."""
        if operator is Operator.POWER and isinstance(left, ArrayValue) and is_half(right):
            return self._mapped(root, left, right)
        return self._mapped(partial(self.binary, operator, node=node), left, right)

    def binary(self, operator: Operator, left: Value, right: Value, node: ast.AST) -> Value:
        """Apply a binary operator."""
        affine = affine_quotient(self.build, operator, left, right)
        result = affine or combine(operator, left, right)
        if left.is_weak and right.is_weak:
            kinds = [python_type(operand) for operand in (left, right)]
            is_division = operator is Operator.DIVIDE and float not in kinds
            if is_division or (operator in COMPARISONS and {int, float} <= set(kinds)):
                # Python divides and compares these exactly; the kernel converts them to float64.
                for operand in (left, right):
                    self.require_fitting(operand, node, EXACT_IN_FLOAT64)
        if result.dtype.is_float:
            for other in result.alternatives:  # an integer that the kernel holds as a float
                self.require_fitting(other, node, EXACT_IN_FLOAT64)
        return self.require_fitting(result, node)

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

    def _comparison(self, node: ast.Compare) -> Operand:
        is_type = type_test(self.calls.dtype, node)
        if is_type is not None:
            return Value(Constant(is_type, boolean), is_weak=True)
        same_shape = shape_test(self.calls.shape, node)
        if same_shape is not None:
            return Value(same_shape, is_weak=True)
        sides = [self.operand(side) for side in (node.left, *node.comparators)]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.source.error(node, "expected one of < <= > >= == !=")
            operator, is_swapped = _COMPARISONS[type(op)]
            pair = (right, left) if is_swapped else (left, right)
            parts.append(self._mapped(partial(self.binary, operator, node=node), *pair))
        if len(parts) == 1:
            return parts[0]
        values = [part for part in parts if isinstance(part, Value)]
        if len(values) < len(parts):
            raise self.source.error(
                node, "numpy does not define a chain of comparisons of arrays; join them with &"
            )
        return chosen_of(reduce(and_, (value.expression for value in values)), *values)

    @property
    def subscripting(self) -> Subscripting:
        """Translator of subscripts."""
        return Subscripting(
            self.source,
            self.build,
            self.operand,
            self.require_exact,
            self.scope.index_arrays or frozenset(),
        )

    @property
    def calls(self) -> ArrayCalls:
        """Translator of calls of numpy."""
        return ArrayCalls(
            self.source, self.build, self.operand, self.require_fitting, self.scope.contiguous
        )

    def _call(self, node: ast.Call) -> Operand:
        if any(isinstance(argument, ast.Starred) for argument in node.args):
            raise self.source.error(node, _STARRED)
        func = node.func
        try:
            if isinstance(func, ast.Attribute) and self.is_inside(func.value):
                array = self.array(func.value)
                if func.attr in METHODS:
                    return self.calls.method(func.attr, array, node)
                if func.attr in VIEW_METHODS:
                    return ViewCalls(self.calls).method(func.attr, func.value, node)
                raise self.source.error(
                    node, f"'{ast.unparse(func)}' cannot be called in a kernel; {SUPPORTED}"
                )
            function = self.outer(func)
            for translator in (self.calls, NewArrays(self.calls), ViewCalls(self.calls)):
                result = translator.made(function, node)
                if result is not None:
                    return result
            if function is len and len(node.args) == 1:
                extent = self.array(node.args[0]).shape[0]
                return Value(self.calls.length(extent), is_weak=True)
            operands = [self.operand(argument) for argument in node.args]
            result = self.calls.apply(function, operands, node)
            for keyword in node.keywords:  # after the call, which names functions it does not know
                named = "**" if keyword.arg is None else f"{keyword.arg}="
                name = ast.unparse(func)
                raise self.source.error(node, f"'{name}' with {named} is not supported")
            return result
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def _extent(self, node: ast.Subscript) -> Value:
        assert isinstance(node.value, ast.Attribute)
        shape = self.array(node.value.value).shape
        position = self.value(node.slice).literal
        if not isinstance(position, int) or not -len(shape) <= position < len(shape):
            raise self.source.error(
                node.slice,
                f"'{ast.unparse(node.value.value)}' is an array of rank {len(shape)}; expected a "
                f"literal from {-len(shape)} to {len(shape) - 1}",
            )
        return Value(self.calls.length(shape[position]), is_weak=True)


def _is_no_number(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and type(node.value) is not int


def sizes_in(expression: Expression) -> list[str]:
    """The parameters in an expression."""
    return [node.name for node in walk(expression) if isinstance(node, Parameter)]

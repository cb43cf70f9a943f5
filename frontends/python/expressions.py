"""Python's expressions as values of a kernel."""

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
    Gone,
    LocalNumber,
    Meaning,
    NumberType,
    Partial,
    Scope,
    TypeLearnedError,
)
from polysched.frontends.python.source import FunctionSource
from polysched.frontends.python.values import Value, chosen, chosen_of, constant, python_type
from polysched.ir.affine import instance_space
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import boolean, i64
from polysched.ir.expressions import Expression, Index, Parameter
from polysched.ir.operators import COMPARISONS, Operator
from polysched.ir.traversal import walk

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
"""The operation of a comparison, and whether its sides are exchanged."""

_SUPPORTED = (
    "supported are numbers, names, elements such as a[i, j], + - * / // % ** & | ^ ~ << >>, "
    "comparisons, and, or, not, 'x if c else y', min, max and functions of math and numpy"
)


@dataclass(frozen=True)
class Reader:
    """Reads the expressions of one function.

    Attributes:
        sizes: the parameters of the kernel, by the names that shapes give them.
        uses: what is computed with Python integers so far.
    """

    source: FunctionSource
    build: KernelBuilder
    scope: Scope
    sizes: tuple[str, ...]
    uses: IntegerUses = field(default_factory=IntegerUses)

    def value(self, node: ast.expr) -> Value:
        """The value of an expression.

        Raises:
            FrontendError: it is none that a kernel can compute; the message points at the part.
        """
        try:
            with self.build.located(self.source.span(node).location):
                return self._value(node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def condition(self, node: ast.expr) -> Value:
        """The value of a condition.

        Raises:
            FrontendError: it is no condition.
        """
        if isinstance(node, ast.BoolOp):
            return self._logical(node, self.condition)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return Value(~self.condition(node.operand).expression, is_weak=True)
        found = self.value(node)
        if found.dtype.is_integer:
            return Value(truth(found), is_weak=True)
        if found.dtype != boolean:
            raise self.source.error(
                node, f"this is {found.dtype}; expected a condition, such as x > 0"
            )
        return found

    def element(self, node: ast.Subscript) -> tuple[ArrayHandle, tuple[Expression, ...]]:
        """The array and the subscripts of an element.

        Raises:
            FrontendError: they are none that a kernel can have.
        """
        base, chain = self.base(node)
        array = self.array(base)
        parts = [
            part
            for one in chain
            for part in (one.slice.elts if isinstance(one.slice, ast.Tuple) else [one.slice])
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
        """What is subscripted, and the subscripts one after another, as in ``a[i][j]``."""
        chain = [node]
        while isinstance(chain[0].value, ast.Subscript):
            chain.insert(0, chain[0].value)
        return chain[0].value, chain

    def array(self, node: ast.expr) -> ArrayHandle:
        """The array that a name stands for.

        Raises:
            FrontendError: it stands for none.
        """
        meaning = self.meaning(node) if isinstance(node, ast.Name) else None
        if not isinstance(meaning, ArrayHandle) or not meaning.array.shape:
            what = f"'{ast.unparse(node)}'"
            arrays = [n for n, m in self.scope.names.items() if isinstance(m, ArrayHandle)]
            raise self.source.error(
                node, f"{what} is no array of this kernel{suggestion(ast.unparse(node), arrays)}"
            )
        return meaning

    def meaning(self, node: ast.Name) -> Meaning:
        """What a name stands for here.

        Raises:
            FrontendError: nothing, or nothing that a kernel can use.
            TypeLearnedError: a number that has to be kept in memory.
        """
        found = self.scope.names.get(node.id)
        if found is None:
            return self._outer(node)
        if isinstance(found, Gone):
            if not found.is_number:
                raise self.source.error(node, f"'{node.id}' {found.reason}")
            raise TypeLearnedError(node.id, NumberType(i64, is_weak=True))
        if isinstance(found, Partial):
            raise self.source.error(
                node,
                f"'{node.id}' is read where a branch that gives it a value may not have been "
                "taken; give it a value before the branch, and before the loop if it is kept",
            )
        return found

    def outer(self, node: ast.expr) -> Any:
        """The object that a name or ``module.name`` stands for around the function.

        Raises:
            FrontendError: none.
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

    def require_exact(self, node: ast.expr, found: Value) -> None:
        """Check that an integer in a subscript or a bound cannot wrap around.

        Raises:
            FrontendError: it may.
        """
        dtype = wrapping(found.expression)
        if dtype is not None:
            raise self.source.error(
                node,
                f"this is computed in {dtype} and may wrap around; expected Python's integers "
                "here, or elements as they are",
            )

    def not_affine(self, parts: list[ast.expr]) -> tuple[ast.expr | None, str]:
        """The smallest expression among those given, and inside of them, that is not affine."""
        return culprit(parts, self.value, instance_space(self.sizes, "", self._indices()))

    def _indices(self) -> list[str]:
        found: dict[str, None] = {}
        for meaning in self.scope.names.values():
            if isinstance(meaning, Value):
                for node in walk(meaning.expression):
                    if isinstance(node, Index):
                        found[node.name] = None
        return list(found)

    def _hint(self, name: str, known: list[str]) -> str:
        if name in self.sizes:
            return f"; it is a size of the annotations only: write {name} = array.shape[...] first"
        return suggestion(name, known)

    def _outer(self, node: ast.Name) -> Value:
        found = self.outer(node)
        value = constant(found)
        if value is not None:
            return value
        raise self.source.error(
            node,
            f"'{node.id}' is of type {type(found).__name__} around the function; expected a number "
            "there, or an argument of the function",
        )

    def _subscript(self, node: ast.expr, array: ArrayHandle, position: int) -> Expression:
        if isinstance(node, ast.Slice):
            raise self.source.error(node, "a slice; expected one element: write a loop")
        found = self.value(node)
        if not found.dtype.is_integer:
            raise self.source.error(node, f"this is {found.dtype}; expected an integer subscript")
        self.require_exact(node, found)
        shape = array.array.shape
        if isinstance(found.literal, int) and found.literal < 0 and position < len(shape):
            return shape[position] - -found.literal  # as Python counts from the end
        return found.expression

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
        raise self.source.error(node, f"{type(node).__name__} cannot stand here; {_SUPPORTED}")

    def _atom(self, node: ast.Constant | ast.Attribute | ast.Name) -> Value:
        if isinstance(node, ast.Name):
            return self._name(node)
        found = node.value if isinstance(node, ast.Constant) else self.outer(node)
        value = constant(found)
        if value is not None:
            return value
        raise self.source.error(node, f"this is of type {type(found).__name__}; {_SUPPORTED}")

    def _name(self, node: ast.Name) -> Value:
        meaning = self.meaning(node)
        if isinstance(meaning, Value):
            return meaning
        if isinstance(meaning, LocalNumber):
            return Value(
                meaning.handle[()], meaning.is_weak, self.scope.alternatives.get(node.id, ())
            )
        assert isinstance(meaning, ArrayHandle)
        if not meaning.array.shape:
            return Value(meaning[()])
        dimensions = len(meaning.array.shape)
        raise self.source.error(
            node, f"'{node.id}' is a whole array; expected an element with {dimensions} subscripts"
        )

    def binary(self, operator: Operator, left: Value, right: Value, node: ast.AST) -> Value:
        """An operator of two values.

        Raises:
            KernelError: it cannot be applied to them.
        """
        found = combine(operator, left, right)
        if left.is_weak and right.is_weak:
            kinds = [python_type(one) for one in (left, right)]
            is_division = operator is Operator.DIVIDE and float not in kinds
            if is_division or (operator in COMPARISONS and {int, float} <= set(kinds)):
                for one in (left, right):  # Python divides and compares these exactly
                    self.require_fitting(one, node, EXACT_IN_FLOAT64)
        return self.require_fitting(found, node)

    def require_fitting(self, value: Value, node: ast.AST, within: Interval = INT64) -> Value:
        """A value, of which it is to be proved in the end that a kernel can hold it."""
        if value.is_weak and value.dtype == i64 and value.literal is None:
            indices = self.scope.indices
            self.uses.needs.append(Need(node, value.expression, indices, within))
        return value

    def _positive(self, value: Value) -> Value:
        if value.dtype == boolean and not value.is_weak:
            raise KernelError("numpy has no '+x' of a condition; convert it, as in np.int64(x)")
        return as_number(value)

    def _truth_value(self, node: ast.expr) -> Value:
        """An operand of ``and`` and ``or``, which give it as it is."""
        found = self.value(node)
        if found.dtype != boolean:
            raise self.source.error(
                node,
                f"this is {found.type_name}, and 'and' and 'or' give one of their operands; "
                "expected a condition, such as x > 0",
            )
        return found

    def _logical(self, node: ast.BoolOp, read: Callable[[ast.expr], Value]) -> Value:
        parts = [read(one) for one in node.values]
        join = and_ if isinstance(node.op, ast.And) else or_
        return chosen_of(reduce(join, (one.expression for one in parts)), *parts)

    def _comparison(self, node: ast.Compare) -> Value:
        sides = [self.value(one) for one in (node.left, *node.comparators)]
        parts = []
        for left, op, right in zip(sides, node.ops, sides[1:], strict=False):
            if type(op) not in _COMPARISONS:
                raise self.source.error(node, "expected one of < <= > >= == !=")
            operator, is_exchanged = _COMPARISONS[type(op)]
            pair = (right, left) if is_exchanged else (left, right)
            parts.append(self.binary(operator, *pair, node))
        return chosen_of(reduce(and_, (one.expression for one in parts)), *parts)

    def _call(self, node: ast.Call) -> Value:
        if node.keywords or any(isinstance(one, ast.Starred) for one in node.args):
            raise self.source.error(node, "expected plain arguments, none by name or with a star")
        function = self.outer(node.func)
        if function is len and len(node.args) == 1:
            return Value(self.array(node.args[0]).array.shape[0], is_weak=True)
        try:
            found = call(function, [self.value(one) for one in node.args])
            return self.require_fitting(found, node)
        except KernelError as error:
            raise self.source.error(node, str(error)) from None

    def _extent(self, node: ast.Subscript) -> Value:
        assert isinstance(node.value, ast.Attribute)
        shape = self.array(node.value.value).array.shape
        position = self.value(node.slice).literal
        if not isinstance(position, int) or not -len(shape) <= position < len(shape):
            raise self.source.error(
                node.slice, f"expected the number of one of {len(shape)} dimensions"
            )
        return Value(shape[position], is_weak=True)


def sizes_in(expression: Expression) -> list[str]:
    """The parameters that an expression names."""
    return [node.name for node in walk(expression) if isinstance(node, Parameter)]

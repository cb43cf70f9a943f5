"""Store subscripts that are computed from data in numbers of their own, in front of a statement.

::

    counts[int(x[i] * 10)] += 1      subscript = min(max(int(x[i] * 10), 0), k - 1)
                                     counts[subscript] += 1

The stored number always lies inside the dimension, so that no access can leave the array. Where the
function computes a subscript outside, a check stores the line, and the call raises an error at its
end, as Python does at the access.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce
from operator import and_

from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Operand,
    Subscripts,
    always,
    whole,
)
from polysched.frontends.python.scope.bindings import ComputedLearnedError
from polysched.frontends.python.scope.periodic import assumed_remainders
from polysched.frontends.python.source.changed_nodes import NodeT, with_fields
from polysched.frontends.python.source.stored_names import assigned
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.values.value import Value, bare
from polysched.ir.core.data_dependent import is_bounded
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.affine import instance_space, to_pw_aff
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Load, Operation
from polysched.ir.expr.functions import cast, maximum, minimum, not_equal, select
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import index_names, loads, walk

Conditions = tuple[ast.expr, ...]


@dataclass(frozen=True)
class ComputedSubscripts:
    """Translator of the computed subscripts of one statement.

    Attributes:
        names: the names that stand for subscripts stored so far.
    """

    assigner: Assigner
    names: dict[tuple[object, ...], str] = field(default_factory=dict)

    @property
    def _reader(self) -> Reader:
        return self.assigner.reader

    def stored(self, node: ast.stmt) -> ast.stmt:
        """A statement whose computed subscripts are stored and replaced by names."""
        if self._reader.scope.index_arrays is None:  # the ranges of subscripts are declared
            return node
        match node:
            case ast.If():
                return with_fields(node, test=self._visited(node.test, ()))
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                return self._visited(node, ())
        return node

    def _visited(self, node: NodeT, conditions: Conditions) -> NodeT:
        """Replace the subscripts in a node, the inner ones first.

        Args:
            conditions: the conditions under which Python evaluates the node.
        """
        match node:
            case ast.GeneratorExp() | ast.ListComp():
                return node  # its subscripts belong to each term
            case ast.IfExp(test=test, body=body, orelse=orelse):
                test = self._visited(test, conditions)
                otherwise = (*conditions, _inverse(test))
                return with_fields(
                    node,
                    test=test,
                    body=self._visited(body, (*conditions, test)),
                    orelse=self._visited(orelse, otherwise),
                )
            case ast.BoolOp(op=op, values=values):
                parts: list[ast.expr] = []
                for value in values:
                    parts.append(self._visited(value, conditions))
                    is_or = isinstance(op, ast.Or)
                    conditions = (*conditions, _inverse(parts[-1]) if is_or else parts[-1])
                same = all(part is other for part, other in zip(parts, values, strict=True))
                return node if same else with_fields(node, values=parts)
            case ast.Tuple(ctx=ast.Store()) if _changes_subscripts(node):
                return node
        changed: dict[str, object] = {}
        for name, value in ast.iter_fields(node):
            if isinstance(value, ast.AST):
                changed[name] = self._visited(value, conditions)
            elif isinstance(value, list):
                items = [
                    self._visited(item, conditions) if isinstance(item, ast.AST) else item
                    for item in value
                ]
                same = all(item is other for item, other in zip(items, value, strict=True))
                changed[name] = value if same else items
        result = with_fields(node, **changed)
        if isinstance(result, ast.Subscript):
            return self._subscripted(result, conditions)  # type: ignore[return-value]
        return result

    def _subscripted(self, node: ast.Subscript, conditions: Conditions) -> ast.Subscript:
        is_tuple = isinstance(node.slice, ast.Tuple)
        parts = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
        if isinstance(node.value, ast.Attribute) or all(map(_is_plain, parts)):
            return node
        try:
            array = self._reader.array(node.value)
        except FrontendError:
            return node  # refused where it is translated
        extents = self._reader.subscripting.extents(array, node, parts)
        new = [
            part if extent is None or _is_plain(part) else self._part(part, extent, conditions)
            for part, extent in zip(parts, extents, strict=True)
        ]
        if all(rewritten is other for rewritten, other in zip(new, parts, strict=True)):
            return node
        index = ast.copy_location(ast.Tuple(new, ast.Load()), node.slice) if is_tuple else new[0]
        return with_fields(node, slice=index)

    def _part(self, node: ast.expr, extent: Expression, conditions: Conditions) -> ast.expr:
        """Return the variable that stores a computed subscript; other subscripts unchanged."""
        if any(isinstance(part, Index | Load) for part in walk(extent)):
            return node
        try:
            value = self._reader.operand(node)
        except FrontendError:
            return node  # refused where it is translated
        shape = value.shape if isinstance(value, ArrayValue) else ()
        with self.assigner.arrays.loops(shape, "subscript") as indices:
            sample = value.at(indices) if isinstance(value, ArrayValue) else value
        if not sample.dtype.is_integer or self._is_known(sample):
            return node
        shown = ast.dump(node) if isinstance(value, ArrayValue) else value.expression
        key = (shown, extent, tuple(map(ast.unparse, conditions)))
        if key not in self.names:
            self.names[key] = self._declared(node, value, extent, conditions)
        return ast.copy_location(ast.Name(self.names[key], ast.Load()), node)

    def _is_known(self, value: Value) -> bool:
        """Whether a subscript is affine, or an element of an argument that the call checks."""
        reader, expression = self._reader, value.expression
        index_arrays = reader.scope.index_arrays or frozenset()
        read = loads(expression)
        if read:
            while isinstance(expression, Cast):
                expression = expression.operand
            if not isinstance(expression, Load):
                return False
            return is_bounded(expression) or expression.array in index_arrays
        if not reader.scope.products:
            return True
        names = list(dict.fromkeys(index_names(expression)))
        try:
            to_pw_aff(expression, instance_space(reader.sizes, "", names))
        except KernelError:
            known = assumed_remainders(reader.build, (expression,), reader.scope.indices)
            return known != (expression,)
        return True

    def _declared(
        self, node: ast.expr, value: Operand, extent: Expression, conditions: Conditions
    ) -> str:
        reader, scope, arrays = self._reader, self._reader.scope, self.assigner.arrays
        if scope.outside is None:
            raise ComputedLearnedError
        shape = value.shape if isinstance(value, ArrayValue) else ()
        ends = (Constant(0), maximum(extent, 1))
        handle = arrays.declare(node, "subscript", i64, shape, values=ends)
        try:
            with arrays.loops(shape, "subscript") as indices:
                element = value.at(indices) if isinstance(value, ArrayValue) else value
                self._store(node, handle, indices, element, extent, conditions)
        except KernelError as error:
            raise reader.source.error(node, str(error)) from None
        name = scope.variable("subscript")
        scope.names[name] = whole(handle, shape) if shape else Value(handle[()], is_weak=True)
        return name

    def _store(
        self,
        node: ast.expr,
        handle: ArrayHandle,
        indices: Subscripts,
        value: Value,
        extent: Expression,
        conditions: Conditions,
    ) -> None:
        """Store a subscript inside of its dimension, and the line if it is outside."""
        reader, scope = self._reader, self._reader.scope
        assert scope.outside is not None
        position = cast(value.expression, i64)
        is_below, is_above = not self._least(position), not self._below(position, extent)
        wrapped = select(position < 0, position + extent, position) if is_below else position
        inside = minimum(wrapped, extent - 1) if is_above else wrapped
        inside = maximum(inside, 0) if is_below or is_above else inside
        self.assigner.put(node, handle, indices, Value(inside, is_weak=True), is_new=True)
        if is_below or is_above:
            guards = [*scope.guards, *(reader.condition(condition) for condition in conditions)]
            is_outside = not_equal(wrapped, handle[indices])
            found = line_outside(reader, node, is_outside, guards)
            # One check for all subscripts of a statement ran at half to 0.9 of the speed.
            check = Value(found, is_weak=True)
            self.assigner.put(node, scope.outside, (), check, is_new=True)

    def _least(self, expression: Expression) -> bool:
        """Whether an integer is proved to be at least 0, whatever is loaded."""
        match expression:
            case Cast(operand=operand) if bare(Value(operand)).dtype.is_integer:
                return self._least(operand)
            case Operation(operator=Operator.MAXIMUM, operands=operands):
                return any(map(self._least, operands))
            case Operation(operator=Operator.MINIMUM | Operator.ADD, operands=operands):
                return all(map(self._least, operands))
        return not loads(expression) and always(self._reader.build, expression >= 0)

    def _below(self, expression: Expression, extent: Expression) -> bool:
        """Whether an integer is proved to be below an extent, whatever is loaded."""
        match expression:
            case Cast(operand=operand) if bare(Value(operand)).dtype.is_integer:
                return self._below(operand, extent)
            case Operation(operator=Operator.MINIMUM, operands=operands):
                return any(self._below(operand, extent) for operand in operands)
            case Operation(operator=Operator.MAXIMUM, operands=operands):
                return all(self._below(operand, extent) for operand in operands)
        return not loads(expression) and always(self._reader.build, expression < extent)


def line_outside(
    reader: Reader, node: ast.AST, is_outside: Expression, guards: Sequence[Value]
) -> Expression:
    """The number that tells where a subscript was outside, after a check under conditions."""
    assert reader.scope.outside is not None
    # Where a condition does not hold, the statement is to be a no-op of the loops around it.
    none = Constant(i64.lowest if guards else 0)
    holds = reduce(and_, (guard.expression for guard in guards), is_outside)
    line = Constant(reader.source.span(node).line)
    return maximum(reader.scope.outside[()], select(holds, line, none))


def _inverse(node: ast.expr) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), node), node)


def _changes_subscripts(target: ast.Tuple) -> bool:
    """Whether storing one target may change an element that another's subscript reads."""
    parts = [element for element in target.elts if isinstance(element, ast.Subscript)]
    read = {
        name.id for part in parts for name in ast.walk(part.slice) if isinstance(name, ast.Name)
    }
    return bool(read & assigned([ast.Assign([target], ast.Constant(0))]))


def _is_plain(part: ast.expr) -> bool:
    """Whether a subscript is a slice, a literal, a new axis or an ellipsis."""
    return isinstance(part, ast.Slice | ast.Constant)

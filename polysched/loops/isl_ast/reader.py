"""Convert isl's AST to the loop IR, with the names and kinds of the loops of the tree."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Access, Array, Statement
from polysched.ir.core.tree import Loop, LoopKind
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Parameter, operation
from polysched.ir.expr.functions import equal, maximum, minimum, select
from polysched.ir.expr.linear import intersection, interval, linear_form, simplify
from polysched.ir.expr.linear_form import UNBOUNDED, Interval, Intervals
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import transform
from polysched.loops.ir.nodes import Allocate, Assign, Block, If, LoopNode, block
from polysched.loops.ir.prefetches import PrefetchSpec, value_below
from polysched.loops.ir.tree_loops import fresh_name, tree_loop, with_prefetches
from polysched.loops.isl_ast.ast_kinds import (
    AND,
    BLOCK,
    FOR,
    IF,
    MARK,
    OR,
    expression_kind,
    node_kind,
    operator_kind,
)
from polysched.loops.isl_ast.schedule_tree import BufferLifetime, Mark, Nest, mark_number
from polysched.schedule.core.program import Program, value_range


def read_ast(
    program: Program,
    node: isl.AstNode,
    marks: list[Mark],
    iterators: list[str],
    known: Intervals,
    prefetches: Mapping[int, tuple[PrefetchSpec, ...]],
) -> LoopNode:
    """Convert an AST to the loop IR.

    Args:
        node: the root of the AST.
        marks: the objects that the marks in the AST stand for, by number.
        iterators: the names of the AST's iterators by depth.
        known: intervals of the parameters.
        prefetches: prefetches of the tree's loops, by the identity of the loop.
    """
    return _Reader(program, marks, iterators, prefetches).node(node, _Scope({}, known, None))


@dataclass(frozen=True, eq=False)
class _Scope:
    """Facts about isl's iterators around a node of the AST.

    Attributes:
        values: the values of isl's iterators, by name.
        known: intervals of the loop variables in scope.
        nest: the innermost mark of a band around the node; None outside of all bands.
        steps: the steps of the iterators that have a loop.
        shifted: loops of the tree whose values may differ from isl's iterator by less than a step.
    """

    values: Mapping[str, Expression]
    known: Intervals
    nest: Nest | None
    steps: Mapping[str, int] = field(default_factory=dict)
    shifted: Mapping[str, Loop] = field(default_factory=dict)


class _Reader:
    """Converts the nodes of isl's AST."""

    def __init__(
        self,
        program: Program,
        marks: list[Mark],
        iterators: list[str],
        prefetches: Mapping[int, tuple[PrefetchSpec, ...]],
    ) -> None:
        self.program = program
        self.marks = marks
        self.taken = frozenset((*program.kernel.parameters, *program.arrays))
        self.iterators = iterators
        self.prefetches = prefetches

    def node(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        kind = node_kind(node)
        if kind == MARK:
            return self._mark(node, scope)
        if kind == FOR:
            return self._for(node, scope)
        if kind == IF:
            return self._if(node, scope)
        if kind == BLOCK:
            children = node.block_get_children()
            return block(
                [self.node(children.get_at(i), scope) for i in range(children.n_ast_node())]
            )
        return self._user(node, scope)

    def _mark(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        marked = self.marks[mark_number(node.mark_get_id())]
        inner = node.mark_get_node()
        if isinstance(marked, BufferLifetime):
            body = self.node(inner, scope)
            iteration = (
                self._loop_value(name, scope, body) for name in self.iterators[: marked.depth]
            )
            return Allocate(marked.array, body, tuple(iteration))
        return self.node(inner, replace(scope, nest=marked))

    def _for(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        iterator = node.for_get_iterator().get_id().get_name()
        assert scope.nest is not None
        depth = self.iterators.index(iterator) - scope.nest.depth
        loop = scope.nest.loops[depth]
        lower = simplify(self.expression(node.for_get_init(), scope), scope.known)
        if node.for_is_degenerate():
            return self.node(node.for_get_body(), self._bound(scope, iterator, lower, loop))
        step = int(node.for_get_inc().get_val().to_python())
        variable = self._fresh(loop.name, scope)
        upper = simplify(self._upper(node.for_get_cond(), iterator, scope), scope.known)
        low, _ = interval(linear_form(lower, scope.known), scope.known)
        _, high = interval(linear_form(upper, scope.known), scope.known)
        last: Interval = (low, None if high is None else high - 1)
        if loop.kind is LoopKind.VECTOR:
            last = intersection(last, (0, loop.lanes - 1))
        inner = self._bound(scope, iterator, Index(variable), loop if step > 1 else None)
        known, steps = {**inner.known, variable: last}, {**scope.steps, iterator: step}
        inner = replace(inner, known=known, steps=steps)
        body = self.node(node.for_get_body(), inner)
        unrolled = loop.kind is LoopKind.UNROLLED
        values = self._values(loop, step) if unrolled else UNBOUNDED
        generated = tree_loop(loop, variable, (lower, upper), body, values, step)
        specs = self.prefetches.get(id(loop), ())
        return with_prefetches(generated, specs, scope.values, scope.steps, known)

    def _values(self, loop: Loop, step: int) -> Interval:
        """Literal bounds of isl's iterator.

        Statements that run at different remainders of the step may share an iterator. Each then
        adds an offset below the step to the iterator.
        """
        first, last = value_range(self.program, loop)
        return (
            None if first is None else first - (step - 1),
            None if last is None else last + (step - 1),
        )

    def _bound(
        self, scope: _Scope, iterator: str, value: Expression, shifted: Loop | None
    ) -> _Scope:
        values = {**scope.values, iterator: value}
        if shifted is None or len(shifted.values) == 1:
            return replace(scope, values=values)
        return replace(scope, values=values, shifted={**scope.shifted, iterator: shifted})

    def _loop_value(self, iterator: str, scope: _Scope, body: LoopNode) -> Expression | None:
        """The value of a loop of the tree below a node; None if no iterator has this value."""
        value, loop = scope.values.get(iterator), scope.shifted.get(iterator)
        if loop is None or value == value_below(loop, body, scope.known):
            return value
        return None

    def _fresh(self, name: str, scope: _Scope) -> str:
        used = {value.name for value in scope.values.values() if isinstance(value, Index)}
        return fresh_name(name, used | self.taken)

    def _upper(self, condition: isl.AstExpr, iterator: str, scope: _Scope) -> Expression:
        """The exclusive upper bound in isl's ``iterator < e`` or ``iterator <= e``."""
        kind = operator_kind(condition)
        left, right = condition.get_op_arg(0), condition.get_op_arg(1)
        if expression_kind(left) != isl.ast_expr_type.id or left.get_id().get_name() != iterator:
            raise LoweringError(
                f"isl made a loop condition of an unknown form: {condition.to_C_str()}"
            )
        bound = self.expression(right, scope)
        if kind == isl.ast_expr_op_type.lt:
            return bound
        if kind == isl.ast_expr_op_type.le:
            return bound + 1
        raise LoweringError(f"isl made a loop condition of an unknown form: {condition.to_C_str()}")

    def _if(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        condition = simplify(self.expression(node.if_get_cond(), scope), scope.known)
        then = self.node(node.if_get_then_node(), scope)
        otherwise = self.node(node.if_get_else_node(), scope) if node.if_has_else_node() else None
        if condition == Constant(True):
            return then
        if condition == Constant(False):
            return Block(()) if otherwise is None else otherwise
        return If(condition, then, otherwise)

    def _user(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        call = node.user_get_expr()
        statement = self.program.statements[call.get_op_arg(0).get_id().get_name()]
        instance = tuple(
            simplify(self.expression(call.get_op_arg(i + 1), scope), scope.known)
            for i in range(len(statement.indices))
        )
        return resolved(statement, instance, self.program.arrays, scope.known)

    def expression(self, expr: isl.AstExpr, scope: _Scope) -> Expression:
        kind = expression_kind(expr)
        if kind == isl.ast_expr_type.int:
            return Constant(int(expr.get_val().to_python()))
        if kind == isl.ast_expr_type.id:
            name = expr.get_id().get_name()
            return scope.values[name] if name in scope.values else Parameter(name)
        operands = [self.expression(expr.get_op_arg(i), scope) for i in range(expr.get_op_n_arg())]
        return _ast_operation(operator_kind(expr), operands)


_OPERATORS = {
    isl.ast_expr_op_type.add: Operator.ADD,
    isl.ast_expr_op_type.sub: Operator.SUBTRACT,
    isl.ast_expr_op_type.mul: Operator.MULTIPLY,
    isl.ast_expr_op_type.minus: Operator.NEGATE,
    isl.ast_expr_op_type.div: Operator.FLOOR_DIVIDE,
    isl.ast_expr_op_type.fdiv_q: Operator.FLOOR_DIVIDE,
    isl.ast_expr_op_type.pdiv_q: Operator.FLOOR_DIVIDE,
    isl.ast_expr_op_type.pdiv_r: Operator.MODULO,
    isl.ast_expr_op_type.zdiv_r: Operator.MODULO,
    AND: Operator.AND,
    isl.ast_expr_op_type.and_then: Operator.AND,
    OR: Operator.OR,
    isl.ast_expr_op_type.or_else: Operator.OR,
    isl.ast_expr_op_type.lt: Operator.LESS,
    isl.ast_expr_op_type.le: Operator.LESS_EQUAL,
}


def _ast_operation(kind: isl.ast_expr_op_type, operands: list[Expression]) -> Expression:
    if kind in _OPERATORS:
        return operation(_OPERATORS[kind], *operands)
    first, *others = operands
    if kind == isl.ast_expr_op_type.min:
        return minimum(first, *others) if others else first
    if kind == isl.ast_expr_op_type.max:
        return maximum(first, *others) if others else first
    if kind == isl.ast_expr_op_type.eq:
        return equal(first, others[0])
    if kind == isl.ast_expr_op_type.ge:
        return first >= others[0]
    if kind == isl.ast_expr_op_type.gt:
        return first > others[0]
    if kind in (isl.ast_expr_op_type.cond, isl.ast_expr_op_type.select):
        return select(first, others[0], others[1])
    raise LoweringError(f"isl made an expression with an operator that is not known here: {kind}")


def resolved(
    statement: Statement,
    instance: tuple[Expression, ...],
    arrays: Mapping[str, Array],
    known: Intervals,
) -> Assign:
    """The assignment of a statement instance, over the loop variables."""
    values = dict(zip(statement.indices, instance, strict=True))

    def subscripts(array: str, given: tuple[Expression, ...]) -> tuple[Expression, ...]:
        return tuple(simplify(subscript, known) for subscript in given[arrays[array].tile :])

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Index):
            return values[node.name]
        if isinstance(node, Load):
            return replace(node, subscripts=subscripts(node.array, node.subscripts))
        return None

    target = statement.target
    elements = tuple(transform(subscript, rule) for subscript in target.subscripts)
    return Assign(
        statement.name,
        instance,
        Access(target.array, subscripts(target.array, elements), target.location),
        transform(statement.value, rule),
    )

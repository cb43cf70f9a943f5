"""From the loop tree to imperative loops, by isl's AST generation.

The tree becomes an isl schedule tree, one band a loop. Every loop and every buffer's lifetime is
put under a *mark* that carries its number, so that the finished AST can be walked without callbacks
and each ``for`` be given its name and kind back. A ``for`` of which isl knows the value is left out
of the AST, so the depth of each is told by its iterator's name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import reduce

import islpy as isl

from polysched.errors import LoweringError
from polysched.ir.expressions import (
    Constant,
    Expression,
    Index,
    Load,
    Operator,
    Parameter,
    equal,
    maximum,
    minimum,
    operation,
    select,
    transform,
)
from polysched.ir.extrema import greatest, least
from polysched.ir.kernel import Access, Array, Statement
from polysched.ir.linear import (
    UNBOUNDED,
    Interval,
    Intervals,
    intersection,
    interval,
    linear_form,
    simplify,
)
from polysched.ir.quota import QuotaExceededError, operation_quota
from polysched.ir.tree import (
    Leaf,
    Loop,
    LoopKind,
    Node,
    Sequence,
    executed,
    path,
    statements,
)
from polysched.loops.coverage import miscovered
from polysched.loops.isl_ast import (
    AND,
    BLOCK,
    FOR,
    IF,
    MARK,
    OR,
    expression_kind,
    is_mark,
    node_kind,
    operator_kind,
)
from polysched.loops.lifetimes import merge_lifetimes
from polysched.loops.nodes import (
    Allocate,
    Assign,
    Block,
    For,
    If,
    LoopNode,
    LoopProgram,
    block,
)
from polysched.loops.separation import full_tiles
from polysched.schedule.lifetime import lifetime
from polysched.schedule.program import Program, value_range

DEFAULT_QUOTA = 4_000_000
"""Operations of isl for one program; they take it a few seconds."""


@dataclass(frozen=True, eq=False)
class _Nest:
    """The mark of a band: its loops, the outermost first, and the number of loops around them."""

    loops: tuple[Loop, ...]
    depth: int


@dataclass(frozen=True, eq=False)
class _Lifetime:
    """The mark of a buffer's lifetime, and the number of loops around it."""

    array: str
    depth: int


def generate_loops(program: Program, *, quota: int = DEFAULT_QUOTA) -> LoopProgram:
    """Turn a scheduled program into loops with full and partial tiles apart.

    What isl generates is checked to run every instance exactly once. If it does not, it is asked
    once
    more in a simpler way: whole nests at a time, full and partial tiles together.

    Args:
        quota: what isl may spend in all, in operations. 0: no limit.

    Raises:
        LoweringError: isl gave up, or made something wrong or that the loop IR cannot say.
    """
    kernel = program.kernel
    reasons = []
    for separated in (True, False):
        try:
            with operation_quota(quota // 2):
                body = _read_back(program, separated=separated)
                wrong = miscovered(body, program.statements, kernel.context)
        except (isl.Error, QuotaExceededError) as error:
            reasons.append(str(error))
            continue
        if wrong is None:
            return LoopProgram(kernel.name, kernel.parameters, kernel.context, program.arrays, body)
        reasons.append(f"statement '{wrong.statement}': the loops {wrong.what}, an error in isl")
    raise LoweringError(
        f"kernel '{kernel.name}': no loops could be generated and proved for this schedule. "
        f"Full and partial tiles apart: {reasons[0]}. Together: {reasons[1]}. Take other factors "
        f"or "
        "another order of loops"
    )


def _read_back(program: Program, *, separated: bool) -> LoopNode:
    marks: list[_Nest | _Lifetime] = []
    ast = _isl_ast(program, marks, separated=separated)
    known = parameter_intervals(program.kernel.context, program.kernel.parameters)
    return merge_lifetimes(_Reader(program, marks).node(ast, _Scope({}, known, None)), known)


def _isl_ast(program: Program, marks: list[_Nest | _Lifetime], *, separated: bool) -> isl.AstNode:
    """isl's AST of the executed tree; what the marks in it stand for goes to ``marks``.

    ``separated``: every loop is a band of its own, and full tiles are isolated.
    """
    tree = executed(program.tree)
    schedule = _schedule_tree(program, tree, 0, marks, _lifetimes(program, tree), separated)
    isolated = {
        id(part.loop): _isolate_option(part.iterations)
        for part in (full_tiles(tree, program.statements) if separated else ())
    }
    schedule = _with_options(schedule.get_root(), marks, isolated).get_schedule()
    build = isl.AstBuild.from_context(program.kernel.context)
    iterators = reduce(
        isl.IdList.add, map(isl.Id, _iterators(tree)), isl.IdList.alloc(isl.DEFAULT_CONTEXT, 0)
    )
    return build.set_iterators(iterators).node_from_schedule(schedule)


def _iterators(tree: Node) -> list[str]:
    """The names of isl's iterators by depth; no parameter can be named so."""
    depth = max((len(path(tree, name)) for name in statements(tree)), default=0)
    return [f"depth.{number}" for number in range(depth)]


def parameter_intervals(context: isl.Set, parameters: tuple[str, ...]) -> dict[str, Interval]:
    """The literal bounds that the context puts on each parameter."""
    known: dict[str, Interval] = {}
    for position, name in enumerate(parameters):
        values = context.move_dims(isl.dim_type.set, 0, isl.dim_type.param, position, 1)
        known[name] = (least(values, 0), greatest(values, 0))
    return known


# -- the isl schedule tree
# --------------------------------------------------------------------------


def _lifetimes(program: Program, tree: Node) -> dict[int, list[str]]:
    """The node (by identity) at which each buffer is born."""
    born: dict[int, list[str]] = {}
    for array in program.arrays.values():
        life = lifetime(program, tree, array) if array.tile else None
        if life is not None:
            born.setdefault(id(life.position.node), []).append(array.name)
    return born


def _schedule_tree(
    program: Program,
    node: Node,
    depth: int,
    marks: list[_Nest | _Lifetime],
    lifetimes: dict[int, list[str]],
    separated: bool,
) -> isl.Schedule:
    match node:
        case Leaf(statement=statement):
            domain = program.statements[statement].domain
            schedule = isl.Schedule.from_domain(isl.UnionSet.from_set(domain))
        case Sequence(children=children):
            first, *others = (
                _schedule_tree(program, child, depth, marks, lifetimes, separated)
                for child in children
            )
            schedule = first
            for other in others:
                schedule = schedule.sequence(other)
        case Loop():
            nest = (node,) if separated else _nest(node, lifetimes)
            inner = depth + len(nest)
            schedule = _schedule_tree(program, nest[-1].body, inner, marks, lifetimes, separated)
            schedule = schedule.insert_partial_schedule(_band(nest))
            schedule = _marked(schedule, marks, _Nest(nest, depth))
    for array in lifetimes.get(id(node), []):
        schedule = _marked(schedule, marks, _Lifetime(array, depth))
    return schedule


def _nest(outermost: Loop, lifetimes: dict[int, list[str]]) -> tuple[Loop, ...]:
    """The loops from ``outermost`` inwards with nothing but each other in between."""
    nest = [outermost]
    while isinstance(nest[-1].body, Loop) and id(nest[-1].body) not in lifetimes:
        nest.append(nest[-1].body)
    return tuple(nest)


def _band(nest: tuple[Loop, ...]) -> isl.MultiUnionPwAff:
    columns = [
        isl.MultiUnionPwAff.from_union_pw_aff(
            reduce(isl.UnionPwAff.union_add, map(isl.UnionPwAff.from_pw_aff, loop.values.values()))
        )
        for loop in nest
    ]
    return reduce(isl.MultiUnionPwAff.flat_range_product, columns)


def _isolate_option(iterations: isl.Set) -> isl.UnionSet:
    """isl's option for a band: ``isolate[[outer] -> [own]]``."""
    depth = iterations.dim(isl.dim_type.set) - 1
    option = isl.Map.from_domain(iterations).move_dims(
        isl.dim_type.out, 0, isl.dim_type.in_, depth, 1
    )
    return isl.UnionSet.from_set(option.wrap().set_tuple_name("isolate"))


def _with_options(
    node: isl.ScheduleNode, marks: list[_Nest | _Lifetime], isolated: dict[int, isl.UnionSet]
) -> isl.ScheduleNode:
    """Set the options of the bands; last of all, for then a band cannot be moved any more."""
    if is_mark(node):
        what = marks[_mark_number(node.mark_get_id())]
        option = _option(what, isolated) if isinstance(what, _Nest) else None
        if option is not None:
            node = node.child(0).band_set_ast_build_options(option).parent()
    for position in range(node.n_children()):
        node = _with_options(node.child(position), marks, isolated).parent()
    return node


def _option(nest: _Nest, isolated: dict[int, isl.UnionSet]) -> isl.UnionSet | None:
    """The option of a band: its full tiles, or that its vector loop stays one loop.

    Lanes run together, so isl must not split a vector loop with holes in it into one for each part.
    """
    if nest.loops[-1].kind is LoopKind.VECTOR:
        return isl.UnionSet(f"{{ atomic[{len(nest.loops) - 1}] }}")
    return isolated.get(id(nest.loops[0]))


def _mark_number(mark: isl.Id) -> int:
    return int(mark.get_name().removeprefix("mark"))


def _marked(
    schedule: isl.Schedule, marks: list[_Nest | _Lifetime], what: _Nest | _Lifetime
) -> isl.Schedule:
    marks.append(what)
    node = schedule.get_root().child(0).insert_mark(isl.Id(f"mark{len(marks) - 1}"))
    return node.get_schedule()


# -- reading isl's AST
# ------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Scope:
    """What is known at a place of the AST.

    Attributes:
        values: isl's iterator names with the expressions they stand for.
        known: intervals of the loop variables in scope.
        nest: the innermost mark of a band around; None outside of all.
    """

    values: Mapping[str, Expression]
    known: Intervals
    nest: _Nest | None


class _Reader:
    """Turns isl's AST into the loop IR."""

    def __init__(self, program: Program, marks: list[_Nest | _Lifetime]) -> None:
        self.program = program
        self.marks = marks
        self.taken = frozenset((*program.kernel.parameters, *program.arrays))
        self.iterators = _iterators(executed(program.tree))

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
        what = self.marks[_mark_number(node.mark_get_id())]
        inner = node.mark_get_node()
        if isinstance(what, _Lifetime):
            iteration = tuple(scope.values.get(name) for name in self.iterators[: what.depth])
            return Allocate(what.array, self.node(inner, scope), iteration)
        return self.node(inner, replace(scope, nest=what))

    def _for(self, node: isl.AstNode, scope: _Scope) -> LoopNode:
        iterator = node.for_get_iterator().get_id().get_name()
        assert scope.nest is not None
        loop = scope.nest.loops[self.iterators.index(iterator) - scope.nest.depth]
        lower = simplify(self.expression(node.for_get_init(), scope), scope.known)
        if node.for_is_degenerate():
            return self.node(node.for_get_body(), self._bound(scope, iterator, lower))
        step = int(node.for_get_inc().get_val().to_python())
        variable = self._fresh(loop.name, scope)
        upper = simplify(self._upper(node.for_get_cond(), iterator, scope), scope.known)
        low, _ = interval(linear_form(lower, scope.known), scope.known)
        _, high = interval(linear_form(upper, scope.known), scope.known)
        last: Interval = (low, None if high is None else high - 1)
        if loop.kind is LoopKind.VECTOR:
            last = intersection(last, (0, loop.lanes - 1))
        inner = self._bound(scope, iterator, Index(variable))
        inner = replace(inner, known={**inner.known, variable: last})
        body = self.node(node.for_get_body(), inner)
        unrolled = loop.kind is LoopKind.UNROLLED
        values = value_range(self.program, loop) if unrolled else UNBOUNDED
        return For(variable, loop.name, lower, upper, step, loop.kind, body, loop.lanes, values)

    def _bound(self, scope: _Scope, iterator: str, value: Expression) -> _Scope:
        return replace(scope, values={**scope.values, iterator: value})

    def _fresh(self, name: str, scope: _Scope) -> str:
        used = {value.name for value in scope.values.values() if isinstance(value, Index)}
        while name in used or name in self.taken:
            name += "_"
        return name

    def _upper(self, condition: isl.AstExpr, iterator: str, scope: _Scope) -> Expression:
        """The exclusive upper end in isl's ``iterator < e`` or ``iterator <= e``."""
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
    """The assignment that one instance of a statement makes, over the loop variables."""
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

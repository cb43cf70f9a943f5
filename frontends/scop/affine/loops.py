"""Translate the header of a for loop: its variable, first value, end and step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import EndedBinding, IntegerBinding
from polysched.frontends.scop.affine.expected import expects, unproved
from polysched.frontends.scop.affine.expressions import affine, condition
from polysched.frontends.scop.affine.integer_types import Integer, in_type, require_signed
from polysched.frontends.scop.affine.integers import floor, minus, plus, with_offset
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.stepping import overflow_is_undefined, with_step_apart
from polysched.frontends.scop.types.c_types import c_name, common_type, declared_type, type_range
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Constant, Expression, Index, Operation
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import substituted, walk

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_EXPECTED = "expected a loop such as for (i = 0; i < n; i++)"


@dataclass(frozen=True)
class Start:
    """Loop variable with its type and first value."""

    name: str
    dtype: DType
    first: Expression


@dataclass(frozen=True)
class Header:
    """Loop over ``range(first, end, step)`` that runs only if ``guard`` holds."""

    first: Expression
    end: Expression
    step: int
    guard: Expression | None


def loop_start(scope: Scope, node: c_ast.For) -> Start:
    """Translate the initialization of a loop.

    Raises:
        FrontendError: the loop sets no variable, several variables, or one that is not an integer.
    """
    match node.init:
        case c_ast.DeclList(decls=[c_ast.Decl(init=c_ast.Node() as init) as declaration]):
            ctype = declared_type(declaration.type, scope.typedefs, scope.source_map, declaration)
            name, dtype = declaration.name, ctype.dtype
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=init):
            dtype = _declared_before(scope, node.init.lvalue)
        case None:
            raise scope.error(node, f"the loop does not initialize its variable; {_EXPECTED}")
        case c_ast.ExprList() | c_ast.DeclList():
            raise scope.error(node.init, f"a loop over several variables; {_EXPECTED}")
        case other:
            raise scope.error(other, f"this initializes no loop variable; {_EXPECTED}")
    if dtype is None or not dtype.is_integer:
        raise scope.error(node.init, f"the loop variable '{name}' is not an integer; {_EXPECTED}")
    first = in_type(scope, init, affine(scope, init), dtype)
    return Start(name, dtype, require_signed(scope, init, first).value)


def _declared_before(scope: Scope, node: c_ast.ID) -> DType:
    """Return the type of a loop variable that is declared before the loop."""
    match scope.find(node.name):
        case EndedBinding(dtype=dtype):
            return dtype
        case IntegerBinding(is_index=True):
            raise scope.error(node, f"'{node.name}' is the loop variable of an enclosing loop")
        case None:
            raise scope.error(
                node,
                f"'{node.name}' is not declared; write for (int {node.name} = ...) or declare it "
                "before",
            )
    raise scope.error(
        node,
        f"'{node.name}' is assigned to outside loop headers, or is not an integer; expected a "
        f"variable that only loop headers assign to, as in for (int {node.name} = ...)",
    )


def loop_header(scope: Scope, node: c_ast.For, start: Start, index: str) -> Header:
    """Translate the condition and the step of a loop.

    Args:
        start: the loop variable and its first value.
        index: the name of the loop variable in the kernel.
    """
    stepped = with_step_apart(scope, node, start.name, start.dtype, start.first)
    node, start = stepped.node, replace(start, first=with_offset(start.first, stepped.before))
    step = _step(scope, node, start.name)
    if node.cond is None:
        raise scope.error(node, f"the loop has no condition, so it does not end; {_EXPECTED}")
    ends: list[Expression] = []
    guards: list[Expression] = []
    begun = start.first <= Index(index) if step > 0 else Index(index) <= start.first
    with scope.block(), scope.variable(index, begun):
        scope.bind(start.name, IntegerBinding(Index(index), start.dtype))
        reader = _Ends(scope, start, index, step)
        for part in _conjuncts(node.cond):
            end = reader.end(part) if _mentions(part, start.name) else None
            if end is not None:
                ends.append(end)
            else:
                guards.append(substituted(condition(scope, part), {index: start.first}))
    if not ends:
        raise scope.error(
            node.cond,
            f"'{scope.source_map.text(node.cond)}' does not bound '{start.name}', which steps by "
            f"{step}; expected a comparison such as {start.name} {'<' if step > 0 else '>'} n",
        )
    end, *others = ends
    for other in others:
        end = minimum(end, other) if step > 0 else maximum(end, other)
    guard = None
    for condition_at_first in guards:
        guard = condition_at_first if guard is None else guard & condition_at_first
    _require_no_wrap(scope, node, start, end, step)
    first, end = (with_offset(value, stepped.inside) for value in (start.first, end))
    return Header(first, end, step, guard)


def _step(scope: Scope, node: c_ast.For, name: str) -> int:
    def is_own(operand: c_ast.Node) -> bool:
        return isinstance(operand, c_ast.ID) and operand.name == name

    step: int | None = None
    match node.next:
        case c_ast.UnaryOp(op="p++" | "++", expr=operand) if is_own(operand):
            return 1
        case c_ast.UnaryOp(op="p--" | "--", expr=operand) if is_own(operand):
            return -1
        case c_ast.Assignment(op="+=" | "-=" as operator, lvalue=own, rvalue=by) if is_own(own):
            number = affine(scope, by).number
            step = number if number is None or operator == "+=" else -number
        case c_ast.Assignment(
            op="=", lvalue=own, rvalue=c_ast.BinaryOp(op="+" | "-" as operator, left=left, right=by)
        ) if is_own(own) and is_own(left):
            number = affine(scope, by).number
            step = number if number is None or operator == "+" else -number
        case c_ast.Assignment(
            op="=", lvalue=own, rvalue=c_ast.BinaryOp(op="+", left=by, right=right)
        ) if is_own(own) and is_own(right):
            step = affine(scope, by).number
        case None:
            raise scope.error(node, f"the loop does not change '{name}'; {_EXPECTED}")
        case other:
            raise scope.error(
                other,
                f"'{scope.source_map.text(other)}' is not a constant step of '{name}'; expected "
                f"{name}++, {name}-- or a literal step such as {name} += 2",
            )
    if not step:
        size = "0" if step == 0 else "a value that is not a literal"
        raise scope.error(
            node.next, f"the loop steps by {size}; expected an integer such as 2 or -1"
        )
    return step


def _conjuncts(node: c_ast.Node) -> list[c_ast.Node]:
    if isinstance(node, c_ast.BinaryOp) and node.op == "&&":
        return [*_conjuncts(node.left), *_conjuncts(node.right)]
    return [node]


def _mentions(node: c_ast.Node, name: str) -> bool:
    if isinstance(node, c_ast.ID):
        return bool(node.name == name)
    return any(_mentions(child, name) for _, child in node.children())


@dataclass(frozen=True)
class _Ends:
    """Solves comparisons with the loop variable for the loop's exclusive end."""

    scope: Scope
    start: Start
    index: str
    step: int

    def end(self, node: c_ast.Node) -> Expression | None:
        """Solve a comparison for the loop's exclusive end.

        Return None if the comparison does not end the loop: where ``i`` counts up, ``i >= 0`` holds
        at all iterations if it holds at the first, and is a guard of the whole loop.
        """
        if not isinstance(node, c_ast.BinaryOp) or node.op not in _MIRRORED:
            raise self._refused(node)
        # The operands need no `in_range`: `_require_signs` and `_require_no_wrap` prove that the
        # conversion of the comparison and the loop variable are exact.
        left, right = (
            require_signed(self.scope, side, affine(self.scope, side))
            for side in (node.left, node.right)
        )
        own_left, own_right = self._is_own(left.value), self._is_own(right.value)
        if own_left == own_right:
            raise self._refused(node)
        solved = (
            self._solved(node, left.value, right.value, node.op)
            if own_left
            else self._solved(node, right.value, left.value, _MIRRORED[node.op])
        )
        self._require_signs(node, left, right)
        return solved

    def _require_signs(self, node: c_ast.BinaryOp, left: Integer, right: Integer) -> None:
        """Check that the signed side of a mixed signed and unsigned comparison is not negative.

        C converts the signed side to unsigned. The check covers the last comparison too, which is
        evaluated once more than the loop body.
        """
        is_mixed = left.dtype.is_signed != right.dtype.is_signed
        if not is_mixed or common_type(left.dtype, right.dtype).is_signed:
            return
        sides = ((node.left, left, right), (node.right, right, left))
        side, integer, other = sides[right.dtype.is_signed]
        least = integer.value
        if self._is_own(least):
            fall = -self.step * self._slope(least)
            least = substituted(least, {self.index: self.start.first})
            if fall > 0 and node.op != "!=":
                strict = Constant(int(node.op in ("<", ">")))
                least = minimum(least, plus(minus(other.value, Constant(fall)), strict))
        shown = f"'{self.scope.source_map.text(side)}'"
        negative = f"{shown} is negative and compared as an unsigned number"
        if not expects(self.scope, side, least >= 0, negative):
            raise unproved(
                self.scope,
                side,
                f"{shown} may be negative and is compared as an unsigned number; use signed types, "
                "or promise what holds with '#pragma polysched assume ...'",
            )

    def _slope(self, own: Expression) -> int:
        """Return the coefficient of the loop variable in an affine expression."""
        if not self._is_own(own):
            return 0
        if not isinstance(own, Operation):
            return 1
        left, right = own.operands
        match own.operator:
            case Operator.ADD:
                return self._slope(left) + self._slope(right)
            case Operator.SUBTRACT:
                return self._slope(left) - self._slope(right)
        inner, factor = (left, right) if self._is_own(left) else (right, left)
        assert isinstance(factor, Constant)  # `_solved` has refused anything else
        return self._slope(inner) * int(factor.value)

    def _is_own(self, value: Expression) -> bool:
        return any(node == Index(self.index) for node in walk(value))

    def _refused(self, node: c_ast.Node) -> FrontendError:
        name = self.start.name
        relation = "<" if self.step > 0 else ">"
        return self.scope.error(
            node,
            f"'{self.scope.source_map.text(node)}' does not bound '{name}', which steps by "
            f"{self.step}; expected a comparison such as {name} {relation} n",
        )

    def _solved(
        self, node: c_ast.BinaryOp, own: Expression, other: Expression, relation: str
    ) -> Expression | None:
        """Solve ``own relation other`` for the end; ``own`` contains the loop variable."""
        match own:
            case Index():
                return self._bound(node, other, relation)
            case Operation(operator=Operator.ADD, operands=(left, right)):
                inner, term = (left, right) if self._is_own(left) else (right, left)
                if not self._is_own(term):
                    return self._solved(node, inner, minus(other, term), relation)
            case Operation(operator=Operator.SUBTRACT, operands=(left, right)):
                if not self._is_own(right):
                    return self._solved(node, left, plus(other, right), relation)
                if not self._is_own(left):
                    return self._solved(node, right, minus(left, other), _MIRRORED[relation])
            case Operation(operator=Operator.MULTIPLY, operands=(left, right)):
                inner, factor = (left, right) if self._is_own(left) else (right, left)
                if isinstance(factor, Constant) and int(factor.value) > 0 and relation != "!=":
                    divisor = int(factor.value)
                    # c*i < e means i < ceil(e / c); c*i <= e means i <= floor(e / c)
                    rounds_up = relation in ("<", ">=")
                    raised = plus(other, Constant(divisor - 1)) if rounds_up else other
                    bound = floor(raised, divisor)
                    return self._solved(node, inner, bound, relation)
        raise self._refused(node)

    def _bound(self, node: c_ast.BinaryOp, other: Expression, relation: str) -> Expression | None:
        up = self.step > 0
        if relation == "!=":
            reached = self.start.first <= other if up else other <= self.start.first
            is_promised = overflow_is_undefined(self.scope, self.start.dtype)
            if abs(self.step) != 1 or not (is_promised or self.scope.proves(reached)):
                passing = "start beyond the end" if abs(self.step) == 1 else "step over the end"
                raise self.scope.error(
                    node,
                    f"'{self.scope.source_map.text(node)}' may hold forever: "
                    f"'{self.start.name}' may {passing}; expected {'<' if up else '>'}",
                )
            return other
        if (relation in ("<", "<=")) != up:
            return None
        if relation in ("<", ">"):
            return other
        return plus(other, Constant(1 if up else -1))


def _require_no_wrap(
    scope: Scope, node: c_ast.For, start: Start, end: Expression, step: int
) -> None:
    """Check that the loop variable reaches the end without wrapping around.

    Signed variables of at least 32 bits are not checked: their overflow is undefined in C. Where
    every value satisfies ``i < end``, a loop in steps of 1 never ends unless it is left early. C
    allows to assume that it ends (C11, 6.8.5), so the end is no larger than the greatest value.
    """
    is_checked = not start.dtype.is_signed or start.dtype.bits < 32
    if not is_checked or (step > 0 and start.dtype.bits == 64):
        return
    least, greatest = type_range(start.dtype)
    wraps = f"'{start.name}' wraps around"
    if step > 0:
        last = plus(end, Constant(step - 1))
        ends = step == 1 and not scope.leaves_loops and not scope.proves(last > greatest)
        holds = (last <= greatest) | (end <= start.first)
        limit = greatest
    else:
        last = plus(end, Constant(step + 1))
        ends, holds = False, (last >= least) | (start.first <= end)
        limit = least
    if not (ends or expects(scope, node.cond, holds, wraps)):
        raise unproved(
            scope,
            node.cond,
            f"'{start.name}' is {c_name(start.dtype)} and may wrap around past {limit} before the "
            "loop ends; use a signed type, or another bound",
        )

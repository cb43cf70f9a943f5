"""Headers of for loops: the variable, where it begins and ends, and its step."""

from __future__ import annotations

from dataclasses import dataclass, replace

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine import (
    Integer,
    affine,
    condition,
    in_type,
    require_signed,
)
from polysched.frontends.scop.integers import floor, minus, moved, plus
from polysched.frontends.scop.scope import EndedBinding, IntegerBinding, Scope
from polysched.frontends.scop.stepping import with_step_apart
from polysched.frontends.scop.types import c_name, common_type, declared_type, type_range
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Constant, Expression, Index, Operation
from polysched.ir.functions import maximum, minimum
from polysched.ir.operators import Operator
from polysched.ir.traversal import transform, walk

_MIRRORED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "!=": "!="}
_EXPECTED = "expected a loop such as for (i = 0; i < n; i++)"


@dataclass(frozen=True)
class Start:
    """How a loop begins: its variable, that variable's type and first value."""

    name: str
    dtype: DType
    first: Expression


@dataclass(frozen=True)
class Header:
    """A loop from ``first`` to ``end``, excluded, run if ``guard`` holds."""

    first: Expression
    end: Expression
    step: int
    guard: Expression | None


def loop_start(scope: Scope, node: c_ast.For) -> Start:
    """The variable of a loop and its first value.

    Raises:
        FrontendError: not one variable, or one that is no integer.
    """
    match node.init:
        case c_ast.DeclList(decls=[c_ast.Decl(init=c_ast.Node() as init) as declaration]):
            found = declared_type(declaration.type, scope.typedefs, scope.places, declaration)
            name, dtype = declaration.name, found.dtype
        case c_ast.Assignment(op="=", lvalue=c_ast.ID(name=name), rvalue=init):
            dtype = _declared_before(scope, node.init.lvalue)
        case None:
            raise scope.error(node, f"the loop gives its variable no first value; {_EXPECTED}")
        case c_ast.ExprList() | c_ast.DeclList():
            raise scope.error(node.init, f"a loop over several variables; {_EXPECTED}")
        case other:
            raise scope.error(other, f"this sets no loop variable; {_EXPECTED}")
    if dtype is None or not dtype.is_integer:
        raise scope.error(node.init, f"the loop's variable '{name}' is no integer; {_EXPECTED}")
    first = in_type(scope, init, affine(scope, init), dtype)
    return Start(name, dtype, require_signed(scope, init, first).value)


def _declared_before(scope: Scope, node: c_ast.ID) -> DType:
    """The type of a variable that a loop counts and does not declare."""
    match scope.find(node.name):
        case EndedBinding(dtype=dtype):
            return dtype
        case IntegerBinding(is_index=True):
            raise scope.error(node, f"'{node.name}' is the variable of a loop around this one")
        case None:
            raise scope.error(
                node,
                f"'{node.name}' is not declared; write for (int {node.name} = ...) or declare it "
                "before",
            )
    raise scope.error(
        node,
        f"'{node.name}' is assigned to outside of the headers of loops, or is no integer; expected "
        f"a variable that only loops count, as in for (int {node.name} = ...)",
    )


def loop_header(scope: Scope, node: c_ast.For, start: Start, index: str) -> Header:
    """How a loop goes on and ends.

    Args:
        index: the name of the variable in the kernel.

    Raises:
        FrontendError: the step is no literal, the condition bounds no loop, or the variable wraps.
    """
    stepped = with_step_apart(scope, node, start.name, start.dtype, start.first)
    node, start = stepped.node, replace(start, first=moved(start.first, stepped.before))
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
                guards.append(_at_first(condition(scope, part), index, start.first))
    if not ends:
        raise scope.error(
            node.cond,
            f"'{scope.places.source_of(node.cond)}' does not bound '{start.name}', which steps by "
            f"{step}; expected a comparison such as {start.name} {'<' if step > 0 else '>'} n",
        )
    end, *others = ends
    for other in others:
        end = minimum(end, other) if step > 0 else maximum(end, other)
    guard = None
    for one in guards:
        guard = one if guard is None else guard & one
    _require_no_wrap(scope, node, start, end, step)
    return Header(moved(start.first, stepped.inside), moved(end, stepped.inside), step, guard)


def _at_first(holds: Expression, index: str, first: Expression) -> Expression:
    """A condition at the first iteration."""
    return transform(holds, lambda node: first if node == Index(index) else None)


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
                f"'{scope.places.source_of(other)}' is no constant step of '{name}'; expected "
                f"{name}++, {name}-- or a literal step such as {name} += 2",
            )
    if not step:
        what = "by 0" if step == 0 else "by a number that is no literal"
        raise scope.error(node.next, f"the loop steps {what}; expected an integer such as 2 or -1")
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
    """Reads ends, excluded, from comparisons with the loop's variable."""

    scope: Scope
    start: Start
    index: str
    step: int

    def end(self, node: c_ast.Node) -> Expression | None:
        """The end that one comparison means.

        None: it holds at all iterations or at none, as ``i >= 0`` does where ``i`` counts up.
        """
        if not isinstance(node, c_ast.BinaryOp) or node.op not in _MIRRORED:
            raise self._refused(node)
        # The loop's own variable is proved not to wrap on the whole, so what bounds it is exact.
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
        """Check that comparing a signed with an unsigned side means what it says.

        The variable's side is compared once more than the loop runs, which has to be right too.
        """
        is_mixed = left.dtype.is_signed != right.dtype.is_signed
        if not is_mixed or common_type(left.dtype, right.dtype).is_signed:
            return
        sides = ((node.left, left, right), (node.right, right, left))
        side, integer, other = sides[right.dtype.is_signed]
        least = integer.value
        if self._is_own(least):
            fall = -self.step * self._slope(least)
            least = _at_first(least, self.index, self.start.first)
            if fall > 0 and node.op != "!=":
                strict = Constant(int(node.op in ("<", ">")))
                least = minimum(least, plus(minus(other.value, Constant(fall)), strict))
        if not self.scope.proves(least >= 0):
            raise self.scope.error(
                side,
                f"'{self.scope.places.source_of(side)}' may be negative and is compared as an "
                "unsigned number; use signed types, or promise what holds with '#pragma polysched "
                "assume ...'",
            )

    def _slope(self, own: Expression) -> int:
        """By how much the variable's side grows where the variable grows by 1."""
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
        assert isinstance(factor, Constant)  # else it bounds no loop
        return self._slope(inner) * int(factor.value)

    def _is_own(self, value: Expression) -> bool:
        return any(node == Index(self.index) for node in walk(value))

    def _refused(self, node: c_ast.Node) -> FrontendError:
        name = self.start.name
        relation = "<" if self.step > 0 else ">"
        return self.scope.error(
            node,
            f"'{self.scope.places.source_of(node)}' does not bound '{name}', which steps by "
            f"{self.step}; expected a comparison such as {name} {relation} n",
        )

    def _solved(
        self, node: c_ast.BinaryOp, own: Expression, other: Expression, relation: str
    ) -> Expression | None:
        """The end that ``own relation other`` means, the variable being part of ``own``."""
        match own:
            case Index():
                return self._bound(node, other, relation)
            case Operation(operator=Operator.ADD, operands=(left, right)):
                inner, moved = (left, right) if self._is_own(left) else (right, left)
                if not self._is_own(moved):
                    return self._solved(node, inner, minus(other, moved), relation)
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
            if abs(self.step) != 1 or not self.scope.proves(reached):
                passing = "begin beyond the end" if abs(self.step) == 1 else "step over the end"
                raise self.scope.error(
                    node,
                    f"'{self.scope.places.source_of(node)}' may hold forever: "
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
    """Check that the value at which the loop ends fits the variable, so that it does end.

    Signed variables of at least 32 bits are taken at their word: their overflow is undefined.
    """
    if start.dtype.is_signed and start.dtype.bits >= 32:
        return
    least, greatest = type_range(start.dtype)
    if step > 0:
        last = plus(end, Constant(step - 1))
        fits = start.dtype.bits == 64 or scope.proves((last <= greatest) | (end <= start.first))
        what = f"pass {greatest}"
    else:
        last = plus(end, Constant(step + 1))
        fits = scope.proves((last >= least) | (start.first <= end))
        what = f"pass {least}"
    if not fits:
        raise scope.error(
            node.cond,
            f"'{start.name}' is {c_name(start.dtype)} and may {what} before the loop ends; use a "
            "signed type, or another bound",
        )

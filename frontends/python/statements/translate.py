"""Translate Python statements into statements of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace

from polysched.errors import FrontendError, KernelError, UnboundError
from polysched.frontends.python.expressions.translate import BINARY, Reader
from polysched.frontends.python.scope.array_values import ArrayValue, Operand, always, whole
from polysched.frontends.python.scope.bindings import (
    EndedBinding,
    LocalNumber,
    PartialBinding,
    merged,
)
from polysched.frontends.python.source.conditional import split
from polysched.frontends.python.source.fresh_names import fresh_name
from polysched.frontends.python.source.function_source import FunctionSource
from polysched.frontends.python.source.statement_names import node_name
from polysched.frontends.python.source.stored_names import (
    always_assigns,
    assigned,
    literals_assigned,
)
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.statements.computed_subscripts import ComputedSubscripts
from polysched.frontends.python.statements.data_bounds import with_data_bounds
from polysched.frontends.python.statements.given_label import given_label
from polysched.frontends.python.statements.hoisting import Hoister
from polysched.frontends.python.statements.loop_forms import as_range_loops
from polysched.frontends.python.statements.nested_blocks import nested_block
from polysched.frontends.python.statements.ranges import Range, ranges_of
from polysched.frontends.python.values.literal_conditions import decided, is_narrow
from polysched.frontends.python.values.value import Value, number
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Index, Load
from polysched.ir.expr.traversal import loads, walk

_SUPPORTED = (
    "supported are assignments, 'for' over ranges and arrays, 'while' that counts, 'if', 'break', "
    "'continue', 'return' of local arrays and numbers, and 'assert' on sizes"
)


@dataclass(frozen=True)
class Declarer:
    """Translator of the statements of one function.

    Attributes:
        labeled: the statements, so far, with an order policy given by ``polysched.statement``.
        conditions: the names, so far, of temporaries that hold branch conditions.
        callers: the functions into which this one is inlined, the innermost last.
    """

    assigner: Assigner
    labeled: set[str] = field(default_factory=set)
    conditions: set[str] = field(default_factory=set)
    callers: tuple[object, ...] = ()

    @property
    def reader(self) -> Reader:
        """Translator of the function's expressions."""
        return self.assigner.reader

    def block(self, body: list[ast.stmt]) -> None:
        """Declare statements one after another.

        Raises:
            TypeLearnedError: the type of a number differs from its known type.
        """
        for node in body:
            for statement in _single_targets(self.reader, node):
                parts = as_range_loops(self.reader, statement)
                if parts == [statement] and isinstance(statement, ast.For):
                    parts = with_data_bounds(self.assigner, statement) or parts
                if parts == [statement]:
                    self._statement(statement)
                else:
                    self.block(parts)

    def returned(self, node: ast.stmt) -> Operand:
        """The value of an assignment, which is not stored."""
        node = self._prepared(node)
        assert isinstance(node, ast.Assign)
        return self.reader.operand(node.value)

    def is_of_data(self, node: ast.expr) -> bool:
        """Whether data decides the value of an integer."""
        parts = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
        held = (self.reader.scope.names.get(part.id) for part in parts)
        return any(
            isinstance(binding, LocalNumber)
            or (isinstance(binding, Value) and loads(binding.expression))
            for binding in held
        )

    def _prepared(self, node: ast.stmt) -> ast.stmt:
        """A statement whose computed subscripts and calls are declared and replaced by names."""
        with suppress(FrontendError):  # a subscript that needs a call is stored later
            node = ComputedSubscripts(self.assigner).stored(node)
        node = Hoister(self.assigner, self.labeled, self.inlined).hoisted(node)
        return ComputedSubscripts(self.assigner).stored(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If):
            node = split(node, self._is_affine_test)
        is_call = isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)
        node = self._prepared(node)
        assigner = self.assigner
        match node:
            case ast.Expr(value=ast.Name() | ast.Tuple()) if is_call:
                return  # the result of a function that is inlined, which nobody reads
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str()) | ast.Tuple(elts=[])):
                return
            case ast.Assign(targets=[target], value=value):
                assigner.assign(node, target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value, simple=1):
                assigner.annotated(node, target, value)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                assigner.augmented(node, target, BINARY[type(op)], value)
            case ast.For():
                self._loop(node)
            case ast.If():
                self._branch(node)
            case ast.With():
                self._with(node)
            case ast.Assert(test=test, msg=message):
                self._assume(test, message)
            case _:
                name = node_name(node)
                raise self.reader.source.error(node, f"{name} is not supported here; {_SUPPORTED}")

    def inlined(self, source: FunctionSource, caller: object) -> Declarer:
        """The translator of a function that is inlined into this one."""
        assigner = replace(self.assigner, reader=replace(self.reader, source=source))
        return replace(self, assigner=assigner, callers=(*self.callers, caller))

    def _loop(self, node: ast.For) -> None:
        if node.orelse:
            raise self.reader.source.error(node.orelse[0], "a loop's 'else' is not supported")
        loops, scope = ranges_of(self.reader, node), self.reader.scope
        for name, literal in literals_assigned(node.body):
            known = scope.types.get(name)
            if known is None:
                scope.literals |= {name}
            elif not known.is_weak:  # an earlier iteration may have assigned it
                scope.alternatives[name] = (*scope.alternatives.get(name, ()), number(literal))
        for loop in loops:
            if isinstance(
                scope.names.get(loop.name),
                ArrayHandle | ArrayValue | LocalNumber | PartialBinding,
            ):
                raise self.reader.source.error(
                    node.target,
                    f"'{loop.name}' is already an array or a number; choose another name for the "
                    "index",
                )
        for name in self._declare_arrays(node, node.body, is_filled=True):
            self._require_iterations(node, loops, name)
        enclosing = scope.indices
        with (
            nested_block(self.assigner, node.body, "loop", tuple(loop.name for loop in loops)),
            ExitStack() as stack,
        ):
            for loop in loops:
                try:
                    index = stack.enter_context(self.reader.build.loops(**{loop.name: loop.values}))
                except KernelError as error:
                    raise loop.refused(self.reader, node, error) from None
                scope.names[loop.name] = Value(index, is_weak=loop.is_weak)
                scope.indices = {**scope.indices, loop.name: loop.ends}
            self.block(node.body)
        scope.indices = enclosing

    def _branch(self, node: ast.If) -> None:
        condition = self.reader.condition(node.test)
        is_true = decided(condition)
        if is_true is not None:
            self.block(node.body if is_true else node.orelse)
            return
        is_affine = self._is_affine(condition)
        inner = [part for statement in (*node.body, *node.orelse) for part in ast.walk(statement)]
        has_branch = any(isinstance(part, ast.If) for part in inner)
        self._declare_arrays(node, [node], is_filled=not is_affine or has_branch)
        if is_affine:
            for side, body in self._sides(condition, node):
                if body:
                    where = self.reader.build.where(side.expression)
                    with nested_block(self.assigner, body, "branch"), where:
                        if self.reader.build.is_reached():
                            self.block(body)
            scope = self.reader.scope
            scope.conditional -= {
                name for name in scope.conditional if always_assigns([node], name)
            }
            return
        if self._may_change(condition, [*node.body, *node.orelse]):
            condition = self._kept(node.test, condition)
        scope = self.reader.scope
        before = {name for name, binding in scope.names.items() if isinstance(binding, LocalNumber)}
        for side, body in self._sides(condition, node):
            scope.guards.append(side)
            with nested_block(self.assigner, body, "branch"):
                self.block(body)
            scope.guards.pop()
            for name, binding in scope.names.items():
                if isinstance(binding, LocalNumber) and name not in before:
                    scope.names[name] = PartialBinding(binding)
        for name, binding in scope.names.items():
            if isinstance(binding, PartialBinding) and always_assigns([node], name):
                scope.names[name] = binding.number

    def _require_iterations(self, node: ast.For, loops: list[Range], name: str) -> None:
        """Assume that loops run, because an array that they make is read after them."""
        build, source = self.reader.build, self.reader.source
        for loop in loops:
            least, greatest = loop.ends
            try:
                if build.assume_never(least > greatest):
                    continue
            except KernelError as error:
                raise loop.refused(self.reader, node, error) from None
            unset = source.error(
                node,
                f"'{name}' is read after this loop, which may run no iteration that gives it a "
                "value; give it a value before the loop",
            )
            raise UnboundError(str(unset), unset.reason, unset.location)

    def _declare_arrays(
        self, node: ast.stmt, body: list[ast.stmt], *, is_filled: bool
    ) -> list[str]:
        """Declare the arrays that a loop or all sides of a branch make and that are read after it.

        Args:
            body: the statements that must make them.
            is_filled: whether they start with zeros: each side of a branch over data keeps the
                elements that it does not store, also inside of a loop.

        Returns:
            the names of the arrays.
        """
        declared = []
        scope, arrays = self.reader.scope, self.assigner.arrays
        for name, array in scope.branch_arrays.items():
            is_bound = not isinstance(scope.names.get(name), EndedBinding | None)
            if not is_bound and always_assigns(body, name):
                handle = arrays.declare(node, name, array.dtype, array.shape)
                made = scope.names[name] = scope.owned[name] = whole(handle, array.shape)
                declared.append(name)
                if is_filled:
                    arrays.fill(node, made, Value(Constant(0, array.dtype)))
        return declared

    def _may_change(self, condition: Value, body: list[ast.stmt]) -> bool:
        """Whether a block may change an element that its condition reads."""
        scope = self.reader.scope
        read = {load.array for load in _loads(condition.expression)}
        names = assigned(body)
        changed: set[str] = set(names)
        for name in names:
            binding = scope.names.get(name)
            if isinstance(binding, ArrayValue) and binding.base is not None:
                changed.add(binding.base.array.name)
            elif isinstance(binding, LocalNumber):
                changed.add(binding.handle.array.name)
        new = {name for name in names if isinstance(scope.names.get(name), EndedBinding | None)}
        calls = any(isinstance(part, ast.Call) for node in body for part in ast.walk(node))
        # A new name may be a view, and a function that is called may change its arguments.
        is_unclear = bool(new) or calls
        return bool(read & changed) or (is_unclear and bool(read - scope.inputs - self._numbers()))

    def _numbers(self) -> set[str]:
        """The local numbers that are kept in memory, which only assignments to them change."""
        return {
            binding.handle.array.name
            for binding in self.reader.scope.names.values()
            if isinstance(binding, LocalNumber)
        }

    def _sides(self, condition: Value, node: ast.If) -> Iterator[tuple[Value, list[ast.stmt]]]:
        """Yield both sides of a branch; after it, a number may have the types of either side."""
        scope = self.reader.scope
        before, after = dict(scope.alternatives), []
        for side, body in ((condition, node.body), (_inverse(condition), node.orelse)):
            scope.alternatives = dict(before)
            yield side, body
            after.append(scope.alternatives)
        scope.alternatives = merged(*after)

    def _is_affine_test(self, node: ast.expr) -> bool:
        """Whether an expression is a condition on indices and sizes."""
        try:
            return self._is_affine(self.reader.condition(node))
        except FrontendError:
            return False

    def _kept(self, node: ast.expr, condition: Value) -> Value:
        """Store a condition in a temporary, because the branch changes elements that it reads."""
        build, source = self.reader.build, self.reader.source
        taken = {child.id for child in ast.walk(source.node) if isinstance(child, ast.Name)}
        taken |= {*self.reader.scope.names, *self.reader.sizes, *self.conditions}
        name = fresh_name("condition", taken)
        self.conditions.add(name)
        with build.located(self.reader.source.span(node).location):
            handle = build.temporary(name, boolean, ())
            handle[()] = condition.expression
            return Value(handle[()])

    def _is_affine(self, condition: Value) -> bool:
        if _loads(condition.expression) or is_narrow(condition.expression):
            return False
        names = {n.name: None for n in walk(condition.expression) if isinstance(n, Index)}
        try:
            to_set(condition.expression, instance_space(self.reader.sizes, "", list(names)))
        except KernelError:
            return False
        return True

    def _with(self, node: ast.With) -> None:
        """Translate ``with polysched.statement("name", order="any"):`` around one assignment."""
        name, order = given_label(self.reader, node)
        if order is not None:
            self.labeled.add(name)
        try:
            with self.reader.build.statement(name, order=order):
                self.block(node.body)
        except KernelError as error:
            raise self.reader.source.error(node.items[0].context_expr, str(error)) from None

    def _assume(self, test: ast.expr, message: ast.expr | None) -> None:
        condition = self.reader.condition(test)
        is_true = decided(condition)
        if is_true is False and isinstance(message, ast.Constant):
            raise self.reader.source.error(test, str(message.value))
        if is_true or always(self.reader.build, condition.expression):
            return
        if not self.callers:
            self._require_top(test, "a size can be asserted")
        try:
            self.reader.build.assume(condition.expression)
        except KernelError as error:
            reason = f"an assertion states a fact about sizes, which every call checks: {error}"
            raise self.reader.source.error(test, reason) from None

    def _require_top(self, node: ast.AST, action: str) -> None:
        body = self.reader.source.node.body
        is_assertion = any(isinstance(item, ast.Assert) and item.test is node for item in body)
        if node not in body and not is_assertion:
            raise self.reader.source.error(node, f"{action} only outside of loops and branches")


def _single_targets(reader: Reader, node: ast.stmt) -> list[ast.stmt]:
    """``a = b = value`` as ``a = value`` and ``b = a``; other statements as they are."""
    if not isinstance(node, ast.Assign) or len(node.targets) == 1:
        return [node]
    first, targets = node.targets[0], node.targets
    same: ast.expr = node.value
    values = [node.value]
    if not isinstance(same, ast.Constant | ast.Name):
        if not isinstance(first, ast.Name):
            name = reader.scope.variable("value")
            first = ast.copy_location(ast.Name(name, ast.Store()), node.value)
            targets = [first, *targets]
        same = ast.copy_location(ast.Name(first.id, ast.Load()), first)
    values += [same] * (len(targets) - 1)
    return [
        ast.copy_location(ast.Assign([target], value), node)
        for target, value in zip(targets, values, strict=True)
    ]


def _inverse(condition: Value) -> Value:
    return Value(~condition.expression)


def _loads(expression: Expression) -> list[Load]:
    return [node for node in walk(expression) if isinstance(node, Load)]

"""Translate Python statements into statements of a kernel."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from itertools import count
from operator import and_

from polysched.errors import FrontendError, KernelError
from polysched.frontends.limits import MOST_STATEMENTS, TOO_MANY_STATEMENTS
from polysched.frontends.python.affinity import is_affine_number
from polysched.frontends.python.annotations import dtype_named
from polysched.frontends.python.conditional import split
from polysched.frontends.python.expressions import BINARY, Reader
from polysched.frontends.python.given_label import given_label
from polysched.frontends.python.integer_ranges import Need
from polysched.frontends.python.local_arrays import declare_array, is_array_maker
from polysched.frontends.python.ranges import ranges_of
from polysched.frontends.python.scope import (
    EndedBinding,
    LocalNumber,
    NumberType,
    PartialBinding,
    TypeLearnedError,
    always_assigns,
    assigned,
    indices_of,
    literals_assigned,
    merged,
    require_type,
)
from polysched.frontends.python.statement_names import statement_name
from polysched.frontends.python.values import Value, bare, chosen, number, stored
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.dtypes import boolean, i64
from polysched.ir.expr.expressions import Expression, Index, Load
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk

_SUPPORTED = (
    "supported are assignments, 'for' over range(...), 'if', 'assert' on sizes, and at the end "
    "'return' of local arrays"
)


@dataclass(frozen=True)
class Declarer:
    """Translator of the statements of one function.

    Attributes:
        reader: translator of its expressions.
        returned: the local arrays that the function returns.
        labeled: the statements, so far, with an order policy given by ``polysched.statement``.
        conditions: the names, so far, of temporaries that hold branch conditions.
        stored: counts the statements.
    """

    reader: Reader
    returned: frozenset[str]
    labeled: set[str] = field(default_factory=set)
    conditions: set[str] = field(default_factory=set)
    stored: Iterator[int] = field(default_factory=count)

    def block(self, body: list[ast.stmt]) -> None:
        """Declare statements one after another.

        Raises:
            FrontendError: a kernel cannot have such a statement; the message points at the part.
            TypeLearnedError: the type of a number differs from its known type.
        """
        for node in body:
            self._statement(node)

    def _statement(self, node: ast.stmt) -> None:
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign | ast.If):
            node = split(node, self._is_affine_test)
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant(value=str())):
                return
            case ast.Assign(targets=[target], value=value):
                self._assign(node, target, value)
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value, simple=1):
                self._annotated(node, target, value)
            case ast.AugAssign(target=target, op=op, value=value) if type(op) in BINARY:
                self._augmented(node, target, BINARY[type(op)], value)
            case ast.For():
                self._loop(node)
            case ast.If():
                self._branch(node)
            case ast.With():
                self._with(node)
            case ast.Assert(test=test):
                self._assume(test)
            case _:
                name = statement_name(node)
                raise self.reader.source.error(node, f"{name} is not supported here; {_SUPPORTED}")

    def _assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> None:
        reader = self.reader
        match target, value:
            case ast.Tuple(elts=names), ast.Attribute(attr="shape", value=owner):
                shape = reader.array(owner).array.shape
                if len(shape) != len(names):
                    raise reader.source.error(
                        target, f"expected {len(shape)} names, one for each dimension"
                    )
                for name, extent in zip(names, shape, strict=True):
                    self._set_name(node, name, Value(extent, is_weak=True))
            case ast.Name(id=name), ast.Call() if is_array_maker(reader, value):
                self._require_top(node, "an array can be made")
                role = Role.OUTPUT if name in self.returned else Role.TEMPORARY
                reader.scope.names[name] = declare_array(reader, target, value, role)
            case ast.Name(), _:
                self._set_name(node, target, reader.value(value))
            case ast.Subscript(), _:
                self._set_element(node, target, reader.value(value))
            case _:
                raise reader.source.error(
                    target, "expected one name or one element such as a[i, j] here"
                )

    def _annotated(self, node: ast.AnnAssign, target: ast.Name, value: ast.expr) -> None:
        """Translate ``x: T = value``: Python types are ignored, an element type is enforced."""
        annotation = node.annotation
        is_python = isinstance(annotation, ast.Name) and annotation.id in ("int", "float", "bool")
        if is_python and target.id not in self.reader.scope.types:
            self._assign(node, target, value)
            return
        if not is_python:
            try:
                dtype = dtype_named(self.reader.source, annotation)
            except KernelError as error:
                raise self.reader.source.error(annotation, str(error)) from None
            if target.id not in self.reader.scope.types:
                raise TypeLearnedError(target.id, NumberType(dtype, is_weak=False))
        self._set_name(node, target, self.reader.value(value))

    def _augmented(
        self, node: ast.stmt, target: ast.expr, operator: Operator, value: ast.expr
    ) -> None:
        if not isinstance(target, ast.Name | ast.Subscript):
            raise self.reader.source.error(target, "expected a name or an element here")
        read = self.reader.value(target)
        try:
            result = self.reader.binary(operator, read, self.reader.value(value), node)
        except KernelError as error:
            raise self.reader.source.error(node, str(error)) from None
        if isinstance(target, ast.Name):
            self._set_name(node, target, result)
        else:
            self._set_element(node, target, result)

    def _set_name(self, node: ast.stmt, target: ast.expr, value: Value) -> None:
        """Assign to a local number: bind an affine value to the name, or store it in memory."""
        scope, name = self.reader.scope, self._assigned_name(target)
        binding = scope.names.get(name)
        known = scope.types.get(name)
        if known is None and is_affine_number(value):
            scope.names[name] = value
            return
        if known is None:
            raise TypeLearnedError(name, NumberType(value.dtype, value.is_weak))
        if known.is_weak and (not value.is_weak or value.dtype.is_float > known.dtype.is_float):
            raise TypeLearnedError(name, NumberType(value.dtype, value.is_weak))
        try:
            require_type(value, known)
        except KernelError as error:
            raise self.reader.source.error(node, str(error)) from None
        if isinstance(binding, PartialBinding):
            binding = scope.names[name] = binding.number
        is_new = not isinstance(binding, LocalNumber)
        if not isinstance(binding, LocalNumber):
            build = self.reader.build
            try:
                with build.located(self.reader.source.span(target).location):
                    handle = build.temporary(name, known.dtype, ())
            except KernelError as error:
                raise self.reader.source.error(target, str(error)) from None
            binding = LocalNumber(handle, known.is_weak)
            scope.names[name] = binding
        self._store(node, binding.handle, (), value, is_new=is_new)
        if known.is_weak and known.dtype == i64:
            self.reader.uses.store(name, Need(node, value.expression, scope.indices))
        scope.alternatives[name] = value.alternatives
        if (value.dtype, value.is_weak) != (known.dtype, known.is_weak):
            scope.alternatives[name] = (bare(value), *value.alternatives)

    def _assigned_name(self, target: ast.expr) -> str:
        """The name of an assignment's target, which must not be an array or a loop index."""
        if not isinstance(target, ast.Name):
            raise self.reader.source.error(target, "expected a name here")
        binding = self.reader.scope.names.get(target.id)
        if isinstance(binding, ArrayHandle):
            raise self.reader.source.error(
                target, f"'{target.id}' is an array or an argument; expected another name"
            )
        if target.id in indices_of(binding):
            raise self.reader.source.error(
                target, f"'{target.id}' is the index of a loop; expected another name"
            )
        return target.id

    def _set_element(self, node: ast.stmt, target: ast.Subscript, value: Value) -> None:
        array, subscripts = self.reader.element(target)
        self._store(node, array, subscripts, value)

    def _store(
        self,
        node: ast.stmt,
        array: ArrayHandle,
        subscripts: tuple[Expression, ...],
        value: Value,
        *,
        is_new: bool = False,
    ) -> None:
        """Declare one statement; in a branch that is not taken, the element keeps its value."""
        if next(self.stored) == MOST_STATEMENTS:
            raise self.reader.source.error(node, TOO_MANY_STATEMENTS)
        build, guards = self.reader.build, self.reader.scope.guards
        with build.located(self.reader.source.span(node).location):
            try:
                expression = stored(value, array.array.dtype)
                if guards and not is_new:
                    condition = Value(reduce(and_, (guard.expression for guard in guards)))
                    kept = Value(array[subscripts])
                    expression = chosen(condition, Value(expression), kept).expression
                array[subscripts] = expression
            except KernelError as error:
                raise self.reader.source.error(node, str(error)) from None

    def _loop(self, node: ast.For) -> None:
        if node.orelse:
            raise self.reader.source.error(node.orelse[0], "a loop's 'else' is not supported")
        loops, scope = ranges_of(self.reader, node), self.reader.scope
        for name, literal in literals_assigned(node.body):
            known = scope.types.get(name)
            if known is not None and not known.is_weak:  # an earlier iteration may have assigned it
                scope.alternatives[name] = (*scope.alternatives.get(name, ()), number(literal))
        for loop in loops:
            if isinstance(scope.names.get(loop.name), ArrayHandle | LocalNumber | PartialBinding):
                raise self.reader.source.error(
                    node.target,
                    f"'{loop.name}' is already an array or a number; choose another name for the "
                    "index",
                )
        enclosing = scope.indices
        with (
            self._inner(node.body, "a loop", tuple(loop.name for loop in loops)),
            ExitStack() as stack,
        ):
            for loop in loops:
                try:
                    index = stack.enter_context(self.reader.build.loops(**{loop.name: loop.values}))
                except KernelError as error:
                    raise loop.refused(self.reader, node, error) from None
                scope.names[loop.name] = Value(index, is_weak=True)
                scope.indices = {**scope.indices, loop.name: loop.ends}
            self.block(node.body)
        scope.indices = enclosing

    def _branch(self, node: ast.If) -> None:
        condition = self.reader.condition(node.test)
        if self._is_affine(condition):
            for side, body in self._sides(condition, node):
                if body:
                    where = self.reader.build.where(side.expression)
                    with self._inner(body, "a branch"), where:
                        if self.reader.build.is_reached():
                            self.block(body)
            return
        written = assigned([*node.body, *node.orelse])
        if any(load.array in written for load in _loads(condition.expression)):
            condition = self._kept(node.test, condition)
        scope = self.reader.scope
        before = {name for name, binding in scope.names.items() if isinstance(binding, LocalNumber)}
        for side, body in self._sides(condition, node):
            scope.guards.append(side)
            with self._inner(body, "a branch"):
                self.block(body)
            scope.guards.pop()
            for name, binding in scope.names.items():
                if isinstance(binding, LocalNumber) and name not in before:
                    scope.names[name] = PartialBinding(binding)
        for name, binding in scope.names.items():
            if isinstance(binding, PartialBinding) and always_assigns([node], name):
                scope.names[name] = binding.number

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
        build, number, source = self.reader.build, 1, self.reader.source
        taken = {child.id for child in ast.walk(source.node) if isinstance(child, ast.Name)}
        taken |= {*self.reader.scope.names, *self.reader.sizes, *self.conditions}
        name = "condition"
        while name in taken:
            number += 1
            name = f"condition_{number}"
        self.conditions.add(name)
        with build.located(self.reader.source.span(node).location):
            handle = build.temporary(name, boolean, ())
            handle[()] = condition.expression
            return Value(handle[()])

    def _is_affine(self, condition: Value) -> bool:
        if _loads(condition.expression) or _is_narrow(condition.expression):
            return False
        names = {n.name: None for n in walk(condition.expression) if isinstance(n, Index)}
        try:
            to_set(condition.expression, instance_space(self.reader.sizes, "", list(names)))
        except KernelError:
            return False
        return True

    @contextmanager
    def _inner(
        self, body: list[ast.stmt], kind: str, indices: tuple[str, ...] | None = None
    ) -> Iterator[None]:
        """Enter a nested block, and end the bindings of the affine values that it assigns.

        A name assigned in the block has a single value only inside. After the block, and in a loop
        also before the assignment, it has none, so a number that is read there is kept in memory.

        Args:
            body: the block.
            kind: the name of the block in messages.
            indices: the indices of the loops that it opens; None for a branch.
        """
        scope = self.reader.scope
        ended = EndedBinding(f"is read outside of {kind} that gives it a value")
        changed = [name for name in assigned(body) if name not in indices_of(scope.names.get(name))]
        if indices is not None:
            for name in changed:
                if isinstance(scope.names.get(name), Value):
                    scope.names[name] = ended
        yield
        for name in changed:
            if isinstance(scope.names.get(name), Value):
                scope.names[name] = ended
        for name in indices or ():
            scope.names[name] = replace(ended, is_number=False)

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

    def _assume(self, test: ast.expr) -> None:
        self._require_top(test, "a size can be asserted")
        condition = self.reader.condition(test)
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


def _inverse(condition: Value) -> Value:
    return Value(~condition.expression)


def _is_narrow(expression: Expression) -> bool:
    """Whether a part of an expression has a type other than i64 and bool."""
    dtypes = {node.dtype for node in walk(expression)}
    return not dtypes <= {None, boolean, i64}


def _loads(expression: Expression) -> list[Load]:
    return [node for node in walk(expression) if isinstance(node, Load)]

"""Calls that need statements of their own: reductions, products and functions of the user.

They are declared before the statement that contains them, the inner ones first, and replaced by a
name that is bound to their result.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from types import FunctionType
from typing import Any, Protocol

import numpy as np

from polysched.errors import FrontendError, KernelError
from polysched.frontends.python.arrays.accumulation import Accumulation
from polysched.frontends.python.arrays.array_literals import MAKERS, array_literal, is_literal
from polysched.frontends.python.arrays.contractions import einsum, product
from polysched.frontends.python.arrays.joins import Joins, is_join
from polysched.frontends.python.arrays.reductions import Reductions, is_reduction, reduction_named
from polysched.frontends.python.scope.array_values import ArrayValue, Operand
from polysched.frontends.python.scope.inlining import (
    bound_arguments,
    inlined_body,
    with_own_names,
)
from polysched.frontends.python.scope.specialized import static_value
from polysched.frontends.python.source.called_functions import (
    is_library,
    original,
    split_output,
)
from polysched.frontends.python.source.changed_nodes import NodeT, with_fields
from polysched.frontends.python.source.function_source import (
    FunctionSource,
    function_source,
    library_source,
)
from polysched.frontends.python.source.local_functions import signature_of
from polysched.frontends.python.source.numpy_in_python import (
    masked_in_python,
    method_in_python,
    written_in_python,
)
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.statements.comprehensions import comprehension, is_comprehension
from polysched.frontends.python.statements.element_builtins import ElementBuiltins, is_of_elements
from polysched.ir.declare.array_handle import ArrayHandle

DEEPEST_CALLS = 16


class Inner(Protocol):
    """The translator of a function that is inlined."""

    @property
    def callers(self) -> tuple[object, ...]:
        """The functions that are being inlined, this one last."""

    def block(self, body: list[ast.stmt]) -> None:
        """Declare statements."""

    def returned(self, node: ast.stmt) -> Operand:
        """The value of an assignment, which is not stored."""


@dataclass(frozen=True)
class Hoister:
    """Translator of the calls in one statement.

    Attributes:
        labeled: the statements with an order policy of their own.
        inner: makes the translator of a function that is inlined.
    """

    assigner: Assigner
    labeled: set[str]
    inner: Callable[[FunctionSource, object], Inner]

    def hoisted(self, node: ast.stmt) -> ast.stmt:
        """A statement whose calls of this kind are declared and replaced by names."""
        match node:
            case ast.For():
                return with_fields(node, iter=self._visit(node.iter, node))
            case ast.If():
                return with_fields(node, test=self._visit(node.test, node))
            case ast.Assign() | ast.AugAssign() | ast.AnnAssign() | ast.Expr():
                return self._visit(node, node)
        return node

    def _visit(self, node: NodeT, statement: ast.stmt) -> NodeT:
        """Replace the calls in a node, the inner ones first."""
        result = node
        if isinstance(node, ast.GeneratorExp | ast.ListComp):
            return node  # its calls belong to each term
        for name, value in ast.iter_fields(node):
            new: Any = value
            if isinstance(value, ast.AST):
                new = self._visit(value, statement)
            elif isinstance(value, list):
                new = [
                    self._visit(item, statement) if isinstance(item, ast.AST) else item
                    for item in value
                ]
                if all(rewritten is other for rewritten, other in zip(new, value, strict=True)):
                    new = value
            if new is not value:
                if result is node:
                    result = copy(node)
                setattr(result, name, new)
        replaced: Any = result
        if isinstance(result, ast.BinOp) and isinstance(result.op, ast.MatMult):
            replaced = self._product(result, statement)
        elif isinstance(result, ast.Call):
            replaced = self._masked(result, statement) or self._call(result, statement)
        return replaced  # type: ignore[no-any-return]

    def _product(self, node: ast.BinOp, statement: ast.stmt) -> ast.expr:
        reader = self.assigner.reader
        left, right = reader.operand(node.left), reader.operand(node.right)
        accumulation = self._accumulation(node, statement)
        try:
            result = product(accumulation, node, left, right, np.matmul)
        except KernelError as error:
            raise reader.source.error(node, str(error)) from None
        return self._named(node, result)

    def _call(self, node: ast.Call, statement: ast.stmt) -> ast.expr:
        reader, array = self.assigner.reader, None
        func = node.func
        if isinstance(func, ast.Attribute) and reader.is_inside(func.value):
            function = reduction_named(func.attr)
            if function is None:
                return self._method(node, func, statement)
            array = reader.array(func.value)
        elif isinstance(func, ast.Name) and func.id in reader.source.functions:
            name = func.id
            arguments = self._bound(node, name, signature_of(reader.source.functions[name]))
            return self._inlined(node, reader.source.local(name), arguments, statement)
        else:
            function = reader.outer(func)
            user: FunctionType | None = written_in_python(function) or original(
                function, reader.source.outer.get("__name__")
            )
            if user is not None:
                return self._inline(node, user, statement)
            made = self._made(function, node, statement)
            if made is not None:
                return self._named(node, made)
            split = split_output(function, node)
            if split is not None:
                return self._into(*split, statement)
            if is_of_elements(function, node):
                return self._of_elements(node, function, statement)
            if is_join(function):
                return self._join(node, function, statement)
            if not is_reduction(function) and function is not np.einsum:
                return node
        accumulation = self._accumulation(node, statement)
        try:
            if function is np.einsum:
                result = einsum(accumulation, node)
            else:
                result = Reductions(accumulation).reduced(node, function, array)
        except KernelError as error:
            raise reader.source.error(node, str(error)) from None
        return self._named(node, result)

    def _masked(self, node: ast.Call, statement: ast.stmt) -> ast.expr | None:
        """``np.sum(x[m] ** 2)`` of the elements that a mask selects; None for other calls."""
        reader, func, arguments = self.assigner.reader, node.func, node.args
        computed = ast.Subscript | ast.BinOp | ast.Compare | ast.UnaryOp
        if isinstance(func, ast.Attribute) and isinstance(func.value, computed):
            function, arguments = reduction_named(func.attr), [func.value, *arguments]
        elif reader.is_inside(func) or _name_of(func) in reader.source.functions:
            return None
        elif isinstance(func, ast.Name | ast.Attribute):
            function = reader.outer(func)
        else:
            return None
        form = masked_in_python(function)
        if form is None or len(arguments) != 1 or node.keywords:
            return None
        selected = self.assigner.masked.selected(arguments[0])
        if selected is None:
            return None
        return self._inline(with_fields(node, args=[*selected]), form, statement)

    def _of_elements(self, node: ast.Call, function: Any, statement: ast.stmt) -> ast.expr:
        """``sum(x)``, ``max(v * v for v in x)`` and the like."""
        source = self.assigner.reader.source
        block = lambda name: self.inner(source, name).block  # noqa: E731
        new = ElementBuiltins(self.assigner, block).replaced(node, function)
        return new if isinstance(new, ast.Name) else self._visit(new, statement)

    def _made(self, function: Any, node: ast.Call, statement: ast.stmt) -> ArrayValue | None:
        """The array that ``np.array`` makes of a list; None for other calls."""
        if not any(function is maker for maker in MAKERS):
            return None
        if is_literal(node):
            hint = self._hint(node, statement, "values")
            return array_literal(self.assigner.arrays, node, hint)
        if is_comprehension(node):
            source = self.assigner.reader.source
            block = lambda name: self.inner(source, name).block  # noqa: E731
            return comprehension(self.assigner.arrays, node, block)
        return None

    def _join(self, node: ast.Call, function: Any, statement: ast.stmt) -> ast.expr:
        joins = Joins(self.assigner.arrays, self._hint(node, statement, "joined"))
        try:
            return self._named(node, joins.joined(node, function))
        except KernelError as error:
            raise self.assigner.reader.source.error(node, str(error)) from None

    def _accumulation(self, node: ast.expr, statement: ast.stmt) -> Accumulation:
        """The translator of sums, which names arrays after the variable if there is one."""
        hint = self._hint(node, statement, "total")
        return Accumulation(self.assigner.arrays, self.labeled, hint)

    def _hint(self, node: ast.expr, statement: ast.stmt, default: str) -> str:
        """A name for the array of a result."""
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) if self._is_whole(node, statement):
                return default if name in self.assigner.reader.scope.names else name
        return default

    def _into(self, node: ast.Call, out: ast.expr, statement: ast.stmt) -> ast.expr:
        """Store the result of a call in an array that the caller gives: ``out=``."""
        reader = self.assigner.reader
        if not self._is_whole(node, statement):
            raise reader.source.error(out, "call a function with out= in a statement of its own")
        function, target = reader.outer(node.func), reader.array(out)
        value = reader.operand(self._call(node, statement))
        expected, found = target.dtype.numpy(), value.dtype.numpy()
        if not np.can_cast(found, expected, "same_kind") or (
            found != expected and not isinstance(function, np.ufunc)
        ):
            raise reader.source.error(
                out, f"the result is {value.dtype}, and out= is an array of {target.dtype}"
            )
        self.assigner.arrays.store(node, target, value)
        return (
            ast.copy_location(ast.Tuple([], ast.Load()), node)
            if isinstance(statement, ast.Expr)
            else out
        )

    def _method(self, node: ast.Call, func: ast.Attribute, statement: ast.stmt) -> ast.expr:
        form = method_in_python(func.attr)
        if form is None:
            return self._in_place(node, func)
        whole = copy(node)
        whole.args = [func.value, *node.args]
        return self._inline(whole, form, statement)

    def _in_place(self, node: ast.Call, func: ast.Attribute) -> ast.expr:
        """``x.fill(value)``, a statement."""
        if func.attr in ("partition", "sort"):
            raise self.assigner.reader.source.error(
                node,
                f"'{func.attr}' moves elements by comparing data, which is not supported; call it "
                "outside of the compiled function",
            )
        if func.attr != "fill" or len(node.args) != 1 or node.keywords:
            return node
        reader = self.assigner.reader
        self.assigner.arrays.store(node, reader.array(func.value), reader.value(node.args[0]))
        return ast.copy_location(ast.Tuple([], ast.Load()), node)

    def _named(self, node: ast.expr, result: Operand) -> ast.Name:
        """A name bound to a result."""
        scope = self.assigner.reader.scope
        name = scope.variable("result")
        scope.names[name] = result
        if isinstance(result, ArrayValue) and result.base is not None:
            scope.unnamed = {**scope.unnamed, result.base.array.name: result}
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _inline(self, node: ast.Call, function: FunctionType, statement: ast.stmt) -> ast.expr:
        is_foreign = is_library(function)
        source = (
            library_source(function) if is_foreign else function_source(function, is_inlined=True)
        )
        signature = inspect.signature(function)
        scope = self.assigner.reader.scope
        prefix = f"{source.node.name}_{scope.calls + 1}_"
        source = with_own_names(source, prefix, scope.names)
        hint = f"; supported are the arguments {signature}" if is_foreign else ""
        arguments = self._bound(node, function.__name__, signature, hint)
        try:
            return self._inlined(node, source, arguments, statement)
        except FrontendError as error:
            if not is_foreign:
                raise
            reason = f"'{function.__name__}': {error.reason}"
            raise self.assigner.reader.source.error(node, reason) from None

    def _bound(
        self, node: ast.Call, name: str, signature: inspect.Signature, hint: str = ""
    ) -> Mapping[str, Any]:
        try:
            return bound_arguments(signature, node)
        except TypeError as error:
            reason = f"'{name}': {error}{hint}"
            raise self.assigner.reader.source.error(node, reason) from None

    def _inlined(
        self,
        node: ast.Call,
        source: FunctionSource,
        arguments: Mapping[str, Any],
        statement: ast.stmt,
    ) -> ast.expr:
        reader, scope, name = self.assigner.reader, self.assigner.reader.scope, source.node.name
        inner = self.inner(source, (source.path, source.node.lineno + source.first_line, name))
        if inner.callers[-1] in inner.callers[:-1] or len(inner.callers) > DEEPEST_CALLS:
            raise reader.source.error(
                node, f"'{name}' calls itself; expected a function without recursion"
            )
        scope.calls += 1
        prefix = f"{name}_{scope.calls}_"
        before, changed = set(scope.arrays), set(self.assigner.changed)
        enclosing, scope.inlined = scope.inlined, prefix
        self.assigner.changed.clear()
        inlined = inlined_body(source, prefix, arguments)
        scope.taken |= inlined.names
        is_expression = (
            len(inlined.body) == 1
            and isinstance(inlined.body[0], ast.Assign)
            and isinstance(inlined.result, ast.Name)
        )
        for parameter, argument in arguments.items():
            self._bind(node, prefix + parameter, argument, is_kept=not is_expression)
        if is_expression:
            result = inner.returned(inlined.body[0])
        else:
            inner.block(inlined.body)
        scope.inlined = enclosing
        results = {
            part.id for part in ast.walk(inlined.result or node) if isinstance(part, ast.Name)
        }
        for local in inlined.names - results:  # its arrays are shown by no other name now
            if isinstance(scope.names.get(local), ArrayHandle | ArrayValue):
                del scope.names[local]
        outside = self.assigner.changed & before
        if outside and not self._is_whole(node, statement):
            raise reader.source.error(
                node,
                f"'{name}' changes '{min(outside)}'; call it in a statement of its own",
            )
        self.assigner.changed.update(changed)
        if is_expression:
            return self._named(node, result)
        if inlined.result is None:
            return ast.copy_location(ast.Tuple([], ast.Load()), node)
        for part in ast.walk(inlined.result):
            ast.copy_location(part, node)
        return inlined.result

    def _is_whole(self, node: ast.expr, statement: ast.stmt) -> bool:
        """Whether a statement consists of a call, and at most stores its result in names."""
        value = getattr(statement, "value", None)
        is_same = isinstance(value, type(node)) and _extent(value) == _extent(node)
        return is_same and isinstance(statement, ast.Expr | ast.Assign)

    def _bind(self, node: ast.Call, name: str, argument: Any, *, is_kept: bool) -> None:
        """Bind a parameter: to an array, to a number that is computed once, or to a default."""
        reader, scope = self.assigner.reader, self.assigner.reader.scope
        scope.taken.add(name)
        static = static_value(argument)
        if static is not None and not _is_condition(static):
            return  # its value stands in the place of its name
        if not isinstance(argument, ast.expr):
            argument = ast.copy_location(ast.Constant(argument), node)
        operand = reader.operand(argument)
        if is_kept or not hasattr(operand, "is_weak"):
            target = ast.copy_location(ast.Name(name, ast.Store()), argument)
            self.assigner.set(ast.copy_location(ast.Pass(), node), target, operand)
        else:
            scope.names[name] = operand


def _name_of(node: ast.expr) -> str:
    return node.id if isinstance(node, ast.Name) else ""


def _is_condition(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, bool)


def _extent(node: ast.expr) -> tuple[int | None, ...]:
    """Where a node begins and ends in the source."""
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset

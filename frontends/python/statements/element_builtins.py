"""Python's ``sum``, ``max``, ``min``, ``any`` and ``all`` of the elements of an array, as loops.

::

    top = max(x)                        top = x[0]
                                  ->    for at in range(1, len(x)):
                                            top = max(top, x[at])

    any(v > top for v in x)             found = False
                                  ->    for v in x:
                                            if v > top:
                                                found = True
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from typing import Any

from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import ArrayValue
from polysched.frontends.python.scope.inlining import Renamer
from polysched.frontends.python.source.changed_nodes import NodeT
from polysched.frontends.python.statements.assignments import Assigner
from polysched.frontends.python.statements.comprehensions import Block, comprehension
from polysched.frontends.python.statements.literal_loops import summed, summing

Generator = ast.GeneratorExp | ast.ListComp


def is_of_elements(function: Any, node: ast.Call) -> bool:
    """Whether a call is one of Python's functions of the elements of a sequence."""
    names = (sum, max, min, any, all)
    return any(function is name for name in names) and len(node.args) == 1 and not node.keywords


@dataclass(frozen=True)
class ElementBuiltins:
    """Translator of these calls at one place of a function.

    Attributes:
        block: gives the translator of statements for the name of a result.
    """

    assigner: Assigner
    block: Callable[[str], Block]

    @property
    def _reader(self) -> Reader:
        return self.assigner.reader

    def replaced(self, node: ast.Call, function: Any) -> ast.expr:
        """The name of the result, which new statements compute, or an equal expression."""
        (given,) = node.args
        if function is sum:
            whole = summed(self._reader, given)
            if whole is not None:
                return whole
        name = self._reader.scope.variable(function.__name__)
        if function in (max, min):
            self._extreme(node, name, given)
            return ast.copy_location(ast.Name(name, ast.Load()), node)
        if not isinstance(given, Generator):
            given = self._generator(given, function)
        inner = {
            part.id
            for generator in given.generators
            for part in ast.walk(generator.target)
            if isinstance(part, ast.Name)
        }
        renamed = Renamer(inner, f"{name}_").visit(deepcopy(given))
        self._reader.scope.taken |= {f"{name}_{local}" for local in inner}
        made = summing(renamed, name) if function is sum else _deciding(renamed, name, function)
        self.block(name)(made)
        return ast.copy_location(ast.Name(name, ast.Load()), node)

    def _generator(self, node: ast.expr, function: Any) -> ast.GeneratorExp:
        """The elements of an array."""
        element = self._reader.scope.variable("element")
        target, load = (
            _at(node, ast.Name(element, context)) for context in (ast.Store(), ast.Load())
        )
        each = ast.comprehension(target, self._array(node, function), [], 0)
        return _at(node, ast.GeneratorExp(load, [each]))

    def _array(self, node: ast.expr, function: Any) -> ast.expr:
        """A name of an array with one dimension."""
        operand = self._reader.operand(node)
        if not isinstance(operand, ArrayValue):
            found = operand.type_name
        else:
            found = "" if operand.rank == 1 else "an array with several dimensions"
        if found:
            name = function.__name__
            raise self._reader.source.error(
                node,
                f"this is {found}; '{name}' expects an array with one dimension; np.{name} takes "
                "others",
            )
        if isinstance(node, ast.Name):
            return node
        name = self._reader.scope.variable("elements")
        self.block(name)([_placed(ast.Assign([ast.Name(name, ast.Store())], node), node)])
        return _at(node, ast.Name(name, ast.Load()))

    def _extreme(self, node: ast.Call, name: str, given: ast.expr) -> None:
        """Declare the statements that compute ``max(x)`` or ``min(x)``."""
        if isinstance(given, Generator):
            listed = _at(given, ast.ListComp(given.elt, given.generators))
            whole = _at(node, ast.Call(node.func, [listed], []))
            elements = self._reader.scope.variable("elements")
            listed_values = comprehension(self.assigner.arrays, whole, self.block)
            self._reader.scope.names[elements] = listed_values
            array: ast.expr = _at(given, ast.Name(elements, ast.Load()))
        else:
            array = self._array(given, self._reader.outer(node.func))
        at = self._reader.scope.variable(f"{name}_at")

        def element(index: ast.expr) -> ast.expr:
            return ast.Subscript(array, index, ast.Load())

        length = ast.Call(ast.Name("len", ast.Load()), [array], [])
        both = [ast.Name(name, ast.Load()), element(ast.Name(at, ast.Load()))]
        indices = ast.Call(ast.Name("range", ast.Load()), [ast.Constant(1), length], [])
        store = ast.Name(name, ast.Store())
        better: ast.stmt = ast.Assign([store], ast.Call(node.func, both, []))
        made: list[ast.stmt] = [
            ast.Assign([store], element(ast.Constant(0))),
            ast.For(ast.Name(at, ast.Store()), indices, [better], []),
        ]
        self.block(name)([_placed(statement, node) for statement in made])


def _deciding(node: Generator, name: str, function: Any) -> list[ast.stmt]:
    """The statements that compute ``any`` or ``all`` of a generator."""
    is_any = function is any
    store = ast.Name(name, ast.Store())
    test = node.elt if is_any else ast.UnaryOp(ast.Not(), node.elt)
    body: ast.stmt = ast.If(test, [ast.Assign([store], ast.Constant(is_any))], [])
    for generator in reversed(node.generators):
        for condition in reversed(generator.ifs):
            body = ast.If(condition, [body], [])
        body = ast.For(generator.target, generator.iter, [body], [])
    start: ast.stmt = ast.Assign([store], ast.Constant(not is_any))
    return [_placed(statement, node) for statement in (start, body)]


def _at(place: ast.expr, node: NodeT) -> NodeT:
    return ast.copy_location(node, place)


def _placed(node: ast.stmt, place: ast.expr) -> ast.stmt:
    for part in ast.walk(node):
        if isinstance(part, ast.expr | ast.stmt) and not hasattr(part, "lineno"):
            ast.copy_location(part, place)
    return node

"""Arrays of list comprehensions: ``np.array([f(v) for v in x])`` as a loop that stores elements.

::

    y = np.array([f(v) for v in x])         listed = np.empty(len(x), (type of f(v)))
                                      ->    for at in range(len(x)):
                                                v = x[at]
                                                listed[at] = f(v)

The type and the shape of the elements are learned in a first reading.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from copy import deepcopy

from polysched.errors import KernelError
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import ArrayValue, always
from polysched.frontends.python.scope.bindings import BranchArray
from polysched.frontends.python.scope.inlining import Renamer
from polysched.frontends.python.source.changed_nodes import with_fields
from polysched.frontends.python.statements.literal_loops import literal_items
from polysched.frontends.python.statements.loop_forms import as_range_loops
from polysched.frontends.python.values.value import Value
from polysched.ir.expr.dtypes import f64
from polysched.ir.expr.expressions import Constant, Index
from polysched.ir.expr.traversal import walk

_EXPECTED = "expected a list comprehension with one 'for' and without 'if'"

Block = Callable[[list[ast.stmt]], None]
"""Declares statements."""


def is_comprehension(node: ast.Call) -> bool:
    """Whether a call takes a list comprehension."""
    return bool(node.args) and isinstance(node.args[0], ast.ListComp)


def comprehension(stores: ArrayStores, node: ast.Call, block: Callable[[str], Block]) -> ArrayValue:
    """The array that ``np.array([... for ...])`` makes.

    Args:
        block: gives the translator of statements for the name of the array.

    Raises:
        BranchArrayLearnedError: this is the first reading.
    """
    scope, source, listed = stores.reader.scope, stores.reader.source, node.args[0]
    assert isinstance(listed, ast.ListComp)
    if len(node.args) > 1 or node.keywords:
        raise source.error(node, "expected np.array([...]) without a type; write .astype(...)")
    if len(listed.generators) > 1 or listed.generators[0].ifs:
        raise source.error(listed, _EXPECTED)
    name = scope.variable("listed")
    at = scope.variable(f"{name}_at")
    learned = scope.branch_arrays.get(name)
    target: ast.expr = ast.Name(name, ast.Store())
    if learned is None:
        scope.listed.add(name)
    else:
        target = ast.Subscript(ast.Name(name, ast.Load()), ast.Name(at, ast.Load()), ast.Store())
    loop = _loop(stores.reader, node, name, at, target)
    statements = as_range_loops(stores.reader, loop)
    if learned is not None:
        items = literal_items(stores.reader, listed.generators[0].iter)
        length: ast.expr = ast.copy_location(ast.Constant(len(items or ())), node)
        if items is None:
            *before, last = statements
            assert isinstance(last, ast.For)
            assert isinstance(last.iter, ast.Call)
            block(name)(before)
            statements, (length,) = [last], last.iter.args
        scope.names[name] = _declared(stores, node, name, length, learned)
    block(name)(statements)
    result = scope.names.pop(name)
    assert isinstance(result, ArrayValue)
    return result


def _loop(reader: Reader, node: ast.Call, name: str, at: str, target: ast.expr) -> ast.For:
    """The loop that stores the elements in a target, with variables of its own."""
    listed = node.args[0]
    assert isinstance(listed, ast.ListComp)
    (generator,) = listed.generators
    variables = {part.id for part in ast.walk(generator.target) if isinstance(part, ast.Name)}
    reader.scope.taken |= {f"{name}_{variable}" for variable in variables}
    own = Renamer(variables, f"{name}_")
    element, variable = own.visit(deepcopy(listed.elt)), own.visit(deepcopy(generator.target))
    if isinstance(element, ast.ListComp | ast.List | ast.Tuple):
        element = with_fields(node, args=[element])
    numbered = ast.Tuple([ast.Name(at, ast.Store()), variable], ast.Store())
    each = ast.Call(ast.Name("enumerate", ast.Load()), [generator.iter], [])
    loop = ast.For(numbered, each, [ast.Assign([target], element)], [])
    for part in ast.walk(loop):
        if not hasattr(part, "lineno"):
            ast.copy_location(part, node)
    return loop


def _declared(
    stores: ArrayStores, node: ast.Call, name: str, length: ast.expr, learned: BranchArray
) -> ArrayValue:
    """The new array, whose elements have no values yet."""
    reader, dtype = stores.reader, learned.dtype
    extent = reader.calls.extent(length)
    indices = {
        part.name for extent in learned.shape for part in walk(extent) if isinstance(part, Index)
    }
    if indices - reader.scope.indices.keys():
        raise reader.source.error(node.args[0], "expected elements of the same shape")
    is_as_empty = dtype == f64 and not learned.shape
    if not is_as_empty and not always(reader.build, extent >= Constant(1)):
        # numpy makes an array of float64 with one dimension of an empty list.
        try:
            reader.build.assume(extent >= Constant(1))
        except KernelError as error:
            raise reader.source.error(node, f"the list may be empty: {error}") from None
    empty = Value(Constant(0, dtype))
    made = ArrayValue((extent, *learned.shape), dtype, lambda _: empty, is_undefined=True)
    return stores.temporary(node, made, name)

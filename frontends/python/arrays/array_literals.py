"""``np.array([[1, 2], [3, 4]])``: a new array from a list of numbers."""

from __future__ import annotations

import ast

import numpy as np

from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.scope.array_values import ArrayValue, whole
from polysched.frontends.python.values.value import Value, stored
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant

MAKERS = (np.array, np.asarray)
_EXPECTED = "expected a list of numbers, or a list of lists of the same length"


def is_literal(node: ast.Call) -> bool:
    """Whether a call of ``np.array`` takes a list or tuple."""
    return bool(node.args) and isinstance(node.args[0], ast.List | ast.Tuple)


def array_literal(stores: ArrayStores, node: ast.Call, hint: str) -> ArrayValue:
    """The array that ``np.array(list, dtype)`` makes."""
    source = stores.reader.source
    keywords = {str(keyword.arg): keyword.value for keyword in node.keywords}
    arguments = dict(zip(("dtype",), node.args[1:], strict=False)) | keywords
    if set(arguments) - {"dtype"} or len(node.args) > 2:
        raise source.error(node, "expected np.array([...]), and a type such as dtype=np.float32")
    elements: list[tuple[tuple[int, ...], ast.expr]] = [((), node.args[0])]
    shape: list[int] = []
    while any(isinstance(part, ast.List | ast.Tuple) for _, part in elements):
        inner = []
        for index, part in elements:
            if not isinstance(part, ast.List | ast.Tuple):
                raise source.error(part, _EXPECTED)
            if len(shape) == len(index):
                shape.append(len(part.elts))
            if len(part.elts) != shape[len(index)]:
                raise source.error(part, _EXPECTED)
            inner += [((*index, number), element) for number, element in enumerate(part.elts)]
        elements = inner
    if not elements:
        raise source.error(node, "expected at least one number")
    values = [(index, part, stores.reader.value(part)) for index, part in elements]
    if "dtype" in arguments:
        dtype = stores.reader.calls.dtype(arguments["dtype"])
    else:
        dtype = as_dtype(np.result_type(*(value.dtype.numpy() for _, _, value in values)))
    handle = stores.declare(node, hint, dtype, tuple(map(Constant, shape)))
    for index, part, value in values:
        element = Value(stored(value, dtype))
        stores.put(part, handle, tuple(map(Constant, index)), element, is_new=True)
    return whole(handle)

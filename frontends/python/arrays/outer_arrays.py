"""Arrays of numbers outside of a function: constants of the kernel, as the call compiles it.

::

    KERNEL = np.array([0.25, 0.5, 0.25])      # or a list or tuple of numbers

    def smooth(x):
        return np.convolve(x, KERNEL, mode="same")

The elements are stored in a local array when the kernel starts. A kernel cannot change them.
"""

from __future__ import annotations

import ast

import numpy as np

from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.scope.array_values import ArrayValue, whole
from polysched.frontends.python.scope.bindings import OuterArray
from polysched.frontends.python.values.value import Value, constant
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.expressions import Constant


def declared(stores: ArrayStores, node: ast.AST, outer: OuterArray) -> ArrayValue:
    """Declare the local array of an array outside, and store its elements."""
    numbers = outer.numbers
    dtype = as_dtype(numbers.dtype)
    handle = stores.declare(node, outer.name, dtype, tuple(map(Constant, numbers.shape)))
    for index, element in np.ndenumerate(numbers):
        value = constant(element)
        assert value is not None
        place = tuple(map(Constant, index))
        stores.put(node, handle, place, Value(value.expression), is_new=True)
    return whole(handle)

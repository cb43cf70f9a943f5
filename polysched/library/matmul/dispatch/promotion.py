"""Operands of different types: conversion to the type in which a product is computed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.expr.functions import cast
from polysched.library.matmul.dispatch.computed import Computed
from polysched.library.matmul.dispatch.options import BYTES
from polysched.library.matmul.dispatch.shapes import NumpyArray


def promoted(
    a: NumpyArray | Computed, b: NumpyArray | Computed
) -> tuple[NumpyArray | Computed, NumpyArray | Computed]:
    """Convert operands of different types to their common type, by numpy's promotion rules.

    Arrays of bytes of either sign stay, and so do their sums, which are exact in int32.
    """
    is_stored = not (isinstance(a, Computed) or isinstance(b, Computed))
    if a.dtype == b.dtype != np.uint8 or (is_stored and {a.dtype, b.dtype} <= BYTES):
        return a, b
    try:
        common = np.result_type(a.dtype, b.dtype)
    except TypeError:
        raise CallError(
            f"matmul: 'a' has elements of type {a.dtype} and 'b' of type {b.dtype}, and no type "
            "holds both; expected types that numpy promotes: convert one of them with .astype(...)"
        ) from None
    common = np.dtype(np.int16) if common == np.uint8 else common
    return _converted(a, common), _converted(b, common)


def _converted(operand: NumpyArray | Computed, dtype: np.dtype[Any]) -> NumpyArray | Computed:
    if operand.dtype == dtype:
        return operand
    if not isinstance(operand, Computed):
        return operand.astype(dtype)
    recipe = operand.recipe
    expression = cast(recipe.expression, as_dtype(dtype))
    recipe = replace(recipe, text=repr(expression), expression=expression)
    return replace(operand, dtype=dtype, recipe=recipe)

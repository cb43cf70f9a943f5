"""Translate the header of a ``for``: ``range``, ``np.ndindex`` and products of ranges."""

from __future__ import annotations

import ast
import itertools
from dataclasses import dataclass

import numpy as np

from polysched.errors import KernelError
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.values.value import number
from polysched.ir.expr.dtypes import i64
from polysched.ir.expr.expressions import Expression

_EXPECTED = (
    "expected the name of an array, range(...), literal integers at equal distances such as "
    "(-1, 0, 1), or for several indices np.ndindex(n, m)"
)


@dataclass(frozen=True)
class Range:
    """One loop.

    Attributes:
        name: the name of its index.
        bounds: the arguments of ``range``, as syntax trees.
        values: the start, the (exclusive) end and the step.
        is_weak: whether the index is a Python integer, and not numpy's.
    """

    name: str
    bounds: tuple[ast.expr, ...]
    values: tuple[Expression, Expression, int]
    is_weak: bool = True

    @property
    def ends(self) -> tuple[Expression, Expression]:
        """The least and the greatest value of the index; the least is greater if nothing runs."""
        start, end, step = self.values
        return (start, end - 1) if step > 0 else (end + 1, start)

    def refused(self, reader: Reader, node: ast.For, error: KernelError) -> Exception:
        """The error that points at the part of the bounds that is not affine, else at the index."""
        culprit, reason = reader.not_affine(list(self.bounds))
        return reader.source.error(culprit or node.target, reason or str(error))


def ranges_of(reader: Reader, node: ast.For) -> list[Range]:
    """The loops of a ``for``, outermost first; all bounds are evaluated before the first loop."""
    targets = node.target.elts if isinstance(node.target, ast.Tuple) else [node.target]
    names = [target.id for target in targets if isinstance(target, ast.Name)]
    if len(names) != len(targets):
        raise reader.source.error(node.target, "expected a name for the index")
    is_weak = not (isinstance(node.iter, ast.Call) and _is_arange(reader, node.iter))
    return [
        Range(name, tuple(bounds), _values(reader, bounds), is_weak)
        for name, bounds in zip(names, _bounds(reader, node, len(names)), strict=True)
    ]


def _bounds(reader: Reader, node: ast.For, count: int) -> list[list[ast.expr]]:
    """The arguments of ``range`` for each index."""
    if isinstance(node.iter, ast.Tuple | ast.List) and count == 1:
        return [_spaced(reader, node.iter)]
    if not isinstance(node.iter, ast.Call) or node.iter.keywords:
        raise reader.source.error(node.iter, _EXPECTED)
    function, arguments = reader.outer(node.iter.func), node.iter.args
    bounds: list[list[ast.expr]] = []
    if (
        (is_range(function) or _is_arange(reader, node.iter))
        and count == 1
        and 1 <= len(arguments) <= 3
    ):
        bounds = [arguments]
    elif function is np.ndindex and len(arguments) == count:
        bounds = [[extent] for extent in arguments]
    elif function is itertools.product and len(arguments) == count:
        for factor in arguments:
            is_builtin = isinstance(factor, ast.Call) and reader.outer(factor.func) is range
            if isinstance(factor, ast.Call) and is_builtin and 1 <= len(factor.args) <= 3:
                bounds.append(factor.args)
    if len(bounds) != count:
        raise reader.source.error(node.iter, _EXPECTED)
    return bounds


def _spaced(reader: Reader, node: ast.Tuple | ast.List) -> list[ast.expr]:
    """The arguments of the ``range`` of some literal integers."""
    values = []
    for element in node.elts:
        try:
            value = ast.literal_eval(element)
        except ValueError:
            value = None
        if type(value) is not int:
            raise reader.source.error(element, _EXPECTED)
        values.append(value)
    step = values[1] - values[0] if len(values) > 1 else 1
    if not values or not step or values != list(range(values[0], values[-1] + step, step)):
        raise reader.source.error(node, _EXPECTED)
    ends = (values[0], values[-1] + step, step)
    return [ast.copy_location(ast.Constant(end), node) for end in ends]


def is_range(function: object) -> bool:
    """Whether a callable is ``range``, or numba's ``prange``, which counts alike."""
    module, name = (getattr(function, attribute, "") for attribute in ("__module__", "__name__"))
    return function is range or (name == "prange" and str(module).partition(".")[0] == "numba")


def _is_arange(reader: Reader, node: ast.Call) -> bool:
    """Whether a call is ``np.arange`` of integers of 64 bits, whose elements are ``np.int64``."""
    return reader.outer(node.func) is np.arange and all(
        reader.value(argument).dtype == i64 for argument in node.args
    )


def _values(reader: Reader, bounds: list[ast.expr]) -> tuple[Expression, Expression, int]:
    values = [reader.value(bound) for bound in bounds]
    for bound, value in zip(bounds, values, strict=True):
        if not value.dtype.is_integer:
            raise reader.source.error(bound, f"this is {value.dtype}; expected an integer")
        reader.require_exact(bound, value)
    step = values[2].literal if len(values) == 3 else 1
    if not isinstance(step, int) or step == 0:
        raise reader.source.error(bounds[2], "expected a step that is a literal other than 0")
    start, end = (number(0), values[0]) if len(values) == 1 else values[:2]
    return start.expression, end.expression, step

"""Parse MLIR affine maps: ``(m, n, k) -> (m, k)``, ``(d0)[s0] -> (d0 floordiv 2 + s0)``.

The surrounding ``affine_map<...>`` is optional. A result is a sum of dimensions, symbols and
integers, which may be multiplied by, and take ``floordiv``, ``ceildiv`` and ``mod`` by, integers.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from polysched.errors import FrontendError
from polysched.frontends.source_text import Span
from polysched.ir.expr.expressions import DEEPEST, Constant, Expression, operation
from polysched.ir.expr.operators import Operator

_FORM = re.compile(
    r"\s*(?:affine_map\s*<)?\s*\((?P<dimensions>[^()\[\]]*)\)\s*(?:\[(?P<symbols>[^\]]*)\])?"
    r"\s*->\s*\((?P<results>.*)\)\s*>?\s*"
)
# Each replacement is as long as the word, so the columns in error messages stay correct.
_WORDS = (("floordiv", "//      "), ("ceildiv", "@      "), ("mod", "%  "))
_EXPECTED = "expected a map such as '(m, n, k) -> (m, k)'"


@dataclass(frozen=True)
class AffineMap:
    """An affine map from iterators to subscripts.

    Attributes:
        dimensions: the iterators.
        symbols: names of sizes.
        results: the subscripts, as syntax trees.
        start: number of columns of the text before the results.
    """

    name: str
    text: str
    dimensions: tuple[str, ...]
    symbols: tuple[str, ...]
    results: tuple[ast.expr, ...] = field(compare=False)
    start: int

    def subscripts(self, values: Mapping[str, Expression]) -> tuple[Expression, ...]:
        """The subscripts for given values of the dimensions and symbols.

        Raises:
            FrontendError: a subscript is not affine; the message points at it.
        """
        return tuple(self._expression(node, values) for node in self.results)

    def bounds(
        self, values: Mapping[str, tuple[Expression, Expression]]
    ) -> tuple[tuple[Expression, Expression], ...]:
        """The smallest and largest value of each subscript, for given ranges of the names."""
        return tuple(self._range(node, values) for node in self.results)

    def error(self, node: ast.expr, reason: str) -> FrontendError:
        """The error that points at a part of a result."""
        assert node.end_col_offset is not None
        start = self.start + node.col_offset
        return _span(self.name, self.text, start, self.start + node.end_col_offset).error(reason)

    def uses(self, name: str) -> bool:
        """Whether a result names a dimension or symbol."""
        return any(
            isinstance(node, ast.Name) and node.id == name
            for result in self.results
            for node in ast.walk(result)
        )

    def _expression(self, node: ast.expr, values: Mapping[str, Expression]) -> Expression:
        match node:
            case ast.Constant(value=int(value)) if not isinstance(value, bool):
                return Constant(value)
            case ast.Name(id=name):
                if name not in values:
                    raise self.error(
                        node,
                        f"'{name}' is not a dimension of the map; known are {', '.join(values)}",
                    )
                return values[name]
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self._expression(operand, values)
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() | ast.Mult() as op, right=right):
                sides = (self._expression(left, values), self._expression(right, values))
                if isinstance(op, ast.Mult):
                    return self._scaled(node, *sides)
                return operation(
                    Operator.ADD if isinstance(op, ast.Add) else Operator.SUBTRACT, *sides
                )
            case ast.BinOp(left=left, op=ast.FloorDiv() | ast.MatMult() | ast.Mod() as op):
                divisor = self._divisor(node)
                dividend = self._expression(left, values)
                if isinstance(op, ast.Mod):
                    return dividend % divisor
                if isinstance(op, ast.MatMult):
                    dividend = dividend + (divisor - 1)
                return dividend // divisor
        raise self.error(
            node, "expected dimensions and integers joined by + - * floordiv ceildiv mod"
        )

    def _scaled(self, node: ast.expr, left: Expression, right: Expression) -> Expression:
        if not isinstance(left, Constant) and not isinstance(right, Constant):
            raise self.error(node, "not affine: one factor of a product must be an integer")
        return left * right

    def _divisor(self, node: ast.BinOp) -> int:
        divisor = node.right.value if isinstance(node.right, ast.Constant) else None
        if not isinstance(divisor, int) or divisor < 1:
            raise self.error(node, "not affine: a divisor must be a positive integer")
        return divisor

    def _range(
        self, node: ast.expr, values: Mapping[str, tuple[Expression, Expression]]
    ) -> tuple[Expression, Expression]:
        match node:
            case ast.Name(id=name):
                return values[name]
            case ast.UnaryOp(operand=operand):
                low, high = self._range(operand, values)
                return -high, -low
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                (a, b), (c, d) = self._range(left, values), self._range(right, values)
                return a + c, b + d
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                (a, b), (c, d) = self._range(left, values), self._range(right, values)
                return a - d, b - c
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                (a, b), (c, d) = self._range(left, values), self._range(right, values)
                if not (isinstance(a, Constant) and a == b):
                    a, b, c, d = c, d, a, b
                is_negative = isinstance(a, Constant) and a.value < 0
                return (a * d, a * c) if is_negative else (a * c, a * d)
            case ast.BinOp(left=left, op=ast.Mod()):
                return Constant(0), Constant(self._divisor(node) - 1)
            case ast.BinOp(left=left, op=op):
                divisor, (low, high) = self._divisor(node), self._range(left, values)
                more = divisor - 1 if isinstance(op, ast.MatMult) else 0
                return (low + more) // divisor, (high + more) // divisor
        value = self._expression(node, {})
        return value, value


_TOO_LONG = f"a result is nested more than {DEEPEST} operations deep; expected less"


def parse_map(name: str, text: str) -> AffineMap:
    """Parse an affine map.

    Raises:
        FrontendError: it is not an affine map; the message points at the part that cannot be read.
    """
    if not isinstance(text, str):
        raise FrontendError(f"{name} is of type {type(text).__name__}; {_EXPECTED}")
    form = _FORM.fullmatch(text)
    if form is None:
        raise _span(name, text, 0, len(text)).error(f"this is not an affine map; {_EXPECTED}")
    plain = form["results"]
    for word, operator in _WORDS:
        plain = re.sub(rf"\b{word}\b", operator, plain)
    start = form.start("results")
    try:
        # Brackets make Python ignore leading blanks.
        tree = ast.parse(f"[{plain}]", mode="eval").body
    except (SyntaxError, ValueError) as error:  # a null character raises either, by Python version
        column = start + max(0, (getattr(error, "offset", None) or 2) - 2)
        raise _span(name, text, column, column + 1).error(
            f"the results cannot be read here; {_EXPECTED}"
        ) from None
    except (RecursionError, MemoryError):
        raise _span(name, text, start, len(text)).error(_TOO_LONG) from None
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
    if level:
        raise _span(name, text, start, len(text)).error(_TOO_LONG)
    if not isinstance(tree, ast.List):
        raise _span(name, text, start, len(text)).error(f"the results cannot be read; {_EXPECTED}")
    return AffineMap(
        name,
        text,
        _names(name, text, form, "dimensions"),
        _names(name, text, form, "symbols"),
        tuple(tree.elts),
        start - 1,
    )


def _names(name: str, text: str, form: re.Match[str], group: str) -> tuple[str, ...]:
    text_of_group = form[group] or ""
    names: list[str] = []
    start = form.start(group)
    for part in text_of_group.split(",") if text_of_group.strip() else []:
        word = part.strip()
        span = _span(name, text, start, start + len(part))
        if not word.isidentifier() or word in {known for known, _ in _WORDS}:
            raise span.error(f"'{word}' is not the name of a dimension; {_EXPECTED}")
        if word in names:
            raise span.error(f"dimension '{word}' occurs twice")
        names.append(word)
        start += len(part) + 1
    return tuple(names)


def _span(name: str, text: str, start: int, end: int) -> Span:
    return Span(name, 1, start + 1, end + 1, text)


def names_of(maps: Sequence[AffineMap]) -> tuple[str, ...]:
    """The symbols of affine maps, each once."""
    return tuple(dict.fromkeys(symbol for each in maps for symbol in each.symbols))

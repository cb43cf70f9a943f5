"""Sizes and other integers that are computed at the entry of a generated function."""

from __future__ import annotations

from dataclasses import dataclass

from pycparser import c_ast, c_generator

from polysched.frontends.scop.source.trees import StandIn, names_in
from polysched.ir.expr.dtypes import DType, i64, u8
from polysched.ir.expr.expressions import Constant, Expression, Parameter, operation, typed
from polysched.ir.expr.functions import maximum, select
from polysched.ir.expr.operators import Operator

_OPERATORS = {
    "+": Operator.ADD,
    "-": Operator.SUBTRACT,
    "*": Operator.MULTIPLY,
    "/": Operator.QUOTIENT,
    "%": Operator.REMAINDER,
}

COMPARISONS = {
    "<": (Operator.LESS, 1),
    "<=": (Operator.LESS_EQUAL, 1),
    ">": (Operator.LESS, -1),
    ">=": (Operator.LESS_EQUAL, -1),
    "==": (Operator.EQUAL, 1),
    "!=": (Operator.NOT_EQUAL, 1),
}
"""Comparisons that may decide between two sizes: the operator, and -1 for exchanged operands."""


class _Text(c_generator.CGenerator):  # type: ignore[misc]  # pycparser is untyped
    """C text of an expression, with the names of new variables."""

    def visit_StandIn(self, node: StandIn) -> str:  # pycparser names it
        """Return the name, which the generator leaves out of the text for other classes than ID."""
        return str(node.name)


@dataclass(frozen=True)
class DerivedSize:
    """Size that is computed from others.

    Attributes:
        node: the expression, over names outside the region.
        dtype: its type in C: int, long or unsigned long.
    """

    node: c_ast.Node
    dtype: DType

    @property
    def sizes(self) -> list[str]:
        """The parameters of the kernel that the expression uses."""
        return names_in(self.node)

    @property
    def value(self) -> Expression:
        """The expression over the parameters of the kernel, in 64 bits, at least 0 if unsigned."""
        value = _in_64_bits(self.node)
        return value if self.dtype.is_signed else maximum(value, Constant(0, i64))

    @property
    def text(self) -> str:
        """The expression in C, of type long."""
        text = _in_long(self.node)
        return text if self.dtype.is_signed else f"({text} > 0 ? {text} : 0)"


@dataclass(frozen=True)
class EntryValue:
    """Integer that the code around a part of a function computes in C.

    Attributes:
        node: the expression in C.
    """

    node: c_ast.Node
    dtype: DType
    sizes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The expression in C, of type long."""
        return f"(long)({c_text(self.node)})"


@dataclass(frozen=True)
class PointerTest:
    """Size that is 1 if a pointer leads to something, and 0 if it is null.

    Attributes:
        node: the pointer in the source.
        pointer: the variable of the region: a parameter, or what stands for a member of a struct.
        pointer_text: the pointer in C.
        dtype: the type of the size.
    """

    node: c_ast.Node
    pointer: str
    pointer_text: str
    dtype: DType = u8
    sizes: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        """The test in C, of type long."""
        return f"(long)({self.pointer_text} != 0)"


@dataclass(frozen=True)
class RowStep:
    """Distance of the rows that an array of pointers leads to, in elements.

    Attributes:
        node: the array in the source.
        rows: the variable that stands for the elements of all rows.
        dtype: the type of the size.
    """

    node: c_ast.Node
    rows: str
    dtype: DType = i64
    sizes: tuple[str, ...] = ()

    @property
    def table(self) -> str:
        """The name of the array."""
        return str(self.node.name)


SizeValue = DerivedSize | EntryValue | PointerTest | RowStep
"""Sizes that are computed at the entry."""


def c_text(node: c_ast.Node) -> str:
    """Return an expression as C text."""
    text: str = _Text().visit(node)
    return text


def _in_long(node: c_ast.Node) -> str:
    """Return a function of sizes as C text whose operations have type long."""
    match node:
        case c_ast.ID(name=name):
            return f"(long){name}"
        case c_ast.Constant(value=text):
            return f"{text}L"
        case c_ast.Cast(expr=inner):
            return _in_long(inner)
        case c_ast.UnaryOp(op=operator, expr=inner):
            return f"({operator}{_in_long(inner)})"
        case c_ast.BinaryOp(op="/" | "%" as operator, left=left, right=right) if names_in(right):
            divisor = _in_long(right)  # the loops that divide may not run
            return f"({divisor} ? {_in_long(left)} {operator} {divisor} : 0)"
        case c_ast.BinaryOp(op=operator, left=left, right=right):
            return f"({_in_long(left)} {operator} {_in_long(right)})"
        case c_ast.TernaryOp(cond=cond, iftrue=one, iffalse=other):
            return f"({_in_long(cond)} ? {_in_long(one)} : {_in_long(other)})"
    raise AssertionError(node)


def _in_64_bits(node: c_ast.Node) -> Expression:
    match node:
        case c_ast.ID(name=name):
            return typed(Parameter(name), i64)
        case c_ast.Constant(value=text):
            return Constant(int(text), i64)
        case c_ast.Cast(expr=inner):
            return _in_64_bits(inner)
        case c_ast.UnaryOp(expr=inner):
            return -_in_64_bits(inner)
        case c_ast.BinaryOp(op=">>", left=left, right=c_ast.Constant(value=text)):
            return _in_64_bits(left) // (1 << int(text))
        case c_ast.BinaryOp(op="<<", left=left, right=c_ast.Constant(value=text)):
            return _in_64_bits(left) * (1 << int(text))
        case c_ast.TernaryOp(
            cond=c_ast.BinaryOp(op=symbol, left=left, right=right), iftrue=one, iffalse=other
        ):
            operator, order = COMPARISONS[symbol]
            holds = operation(operator, *(_in_64_bits(left), _in_64_bits(right))[::order])
            return select(holds, _in_64_bits(one), _in_64_bits(other))
        case c_ast.BinaryOp(op=symbol, left=left, right=right):
            return operation(_OPERATORS[symbol], _in_64_bits(left), _in_64_bits(right))
    raise AssertionError(node)

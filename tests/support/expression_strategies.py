"""Random expressions over two arrays, two indices and a parameter."""

from collections.abc import Sequence

from hypothesis import strategies as st

from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import (
    Expression,
    Index,
    Load,
    Parameter,
    as_expression,
    operation,
    typed,
)
from polysched.ir.expr.functions import select
from polysched.ir.expr.operators import Operator

_ARITHMETIC = (
    Operator.ADD,
    Operator.SUBTRACT,
    Operator.MULTIPLY,
    Operator.MINIMUM,
    Operator.MAXIMUM,
)
_DIVISIONS = {True: (Operator.DIVIDE,), False: (Operator.FLOOR_DIVIDE, Operator.MODULO)}


def expressions(dtype: DType) -> st.SearchStrategy[Expression]:
    """Expressions of type ``dtype``; loads are ``x[i]`` and ``y[i]``."""
    elements = [Load(name, (Index("i"),), dtype) for name in "xy"]
    return _trees([*elements, Index("i"), Parameter("n")] if dtype == i64 else elements, dtype)


def index_expressions() -> st.SearchStrategy[Expression]:
    """Expressions over the indices i and j, the parameter n and literals."""
    return _trees(_VARIABLES, i64)


_VARIABLES: list[Expression] = [Index("i"), Index("j"), Parameter("n")]


def _trees(leaves: Sequence[Expression], dtype: DType) -> st.SearchStrategy[Expression]:
    literals = st.integers(0, 100).map(lambda value: typed(as_expression(value), dtype))
    # At most 8 leaves up to 100: index arithmetic stays within 64 bits.
    return st.recursive(
        st.sampled_from(leaves) | literals, lambda smaller: _larger(smaller, dtype), max_leaves=8
    )


def _larger(smaller: st.SearchStrategy[Expression], dtype: DType) -> st.SearchStrategy[Expression]:
    binary = st.sampled_from(_ARITHMETIC + _DIVISIONS[dtype.is_float])
    return st.one_of(
        st.builds(operation, binary, smaller, smaller),
        st.builds(lambda operand: operation(Operator.NEGATE, operand), smaller),
        st.builds(lambda a, b, c: select(a < b, c, b), smaller, smaller, smaller),
    )

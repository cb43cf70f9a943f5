import pytest
from hypothesis import given
from hypothesis import strategies as st

from polysched.errors import KernelError
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Expression, Index, Parameter, as_expression
from polysched.ir.expr.functions import absolute, cast, equal, maximum, minimum, not_equal, select

N, M = Parameter("N"), Parameter("M")


@given(st.integers(-(2**70), 2**70), st.integers(-(2**70), 2**70), st.integers(1, 99))
def test_values_are_those_of_python(n: int, m: int, literal: int) -> None:
    values = {"N": n, "M": m}
    cases = [
        (N + M, n + m),
        (N - M, n - m),
        (N * M, n * m),
        (-N, -n),
        (N // literal, n // literal),
        (N % literal, n % literal),
        (N // -literal, n // -literal),
        (N % -literal, n % -literal),
        (minimum(N, M), min(n, m)),
        (maximum(N, M, 3), max(n, m, 3)),
        (absolute(N), abs(n)),
        (N < M, n < m),
        (N <= M, n <= m),
        (N > M, n > m),
        (N >= M, n >= m),
        (equal(N, M), n == m),
        (not_equal(N, M), n != m),
        ((N < M) & (N < 0), n < m and n < 0),
        ((N < M) | (N < 0), n < m or n < 0),
        (~(N < M), not n < m),
        (select(N < M, N + 1, M * 2), n + 1 if n < m else m * 2),
    ]
    for expression, expected in cases:
        assert evaluate(expression, values) == expected, str(expression)


def test_literals_are_themselves() -> None:
    assert evaluate(as_expression(7), {}) == 7
    assert evaluate(as_expression(True), {}) == 1


def test_parameter_without_a_value() -> None:
    with pytest.raises(KernelError, match=r"parameter 'M' has no value; pass M=\.\.\."):
        evaluate(N + M, {"N": 1})


@pytest.mark.parametrize("expression", [N // M, N % M])
def test_division_by_zero(expression: Expression) -> None:
    with pytest.raises(KernelError, match="divides by zero"):
        evaluate(expression, {"N": 1, "M": 0})


@pytest.mark.parametrize(
    "expression", [Index("i"), as_expression(1.5), cast(N, f32), cast(N, f32) / cast(M, f32)]
)
def test_what_has_no_integer_value(expression: Expression) -> None:
    with pytest.raises(KernelError, match="has no integer value; expected parameters"):
        evaluate(expression, {"N": 1, "M": 1})

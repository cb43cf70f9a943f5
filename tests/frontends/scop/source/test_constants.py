import math
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import load_c, parse_c
from polysched.frontends.scop.source.constants import CONSTANTS, header_of
from polysched.ir.expr.expressions import Constant, Expression
from polysched.ir.semantics.scalar import compile_expression
from tests.frontends.scop.calling import needs_gcc
from tests.support.effort import covering

NAMES = [name for names in CONSTANTS.values() for name in names]
NOT_PREPROCESSED = {"DBL_MIN", "DBL_MAX", "DBL_EPSILON"}
"""What preprocessors make of them is refused: long doubles."""


def text(name: str, type_: str = "unsigned long") -> str:
    return f"#include <{header_of(name)}>\nvoid f({type_} A[8]) {{ A[0] = {name}; }}\n"


def value(text: str) -> Expression:
    (statement,) = parse_c(text).kernel.statements.values()
    return statement.value


def number(constant: Expression) -> object:
    return compile_expression(constant, lambda *_: None)({})  # type: ignore[arg-type, return-value]


@needs_gcc
@covering(1, name=sorted({*NAMES} - NOT_PREPROCESSED), type_=["char", "unsigned long", "double"])
def test_they_are_what_the_preprocessor_leaves(name: str, type_: str, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(f"#define NEEDED\n{text(name, type_)}")
    (statement,) = load_c(path).kernel.statements.values()
    found = value(text(name, type_))
    assert found.dtype == statement.value.dtype
    np.testing.assert_equal(number(found), number(statement.value))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("DBL_MAX", np.finfo(np.float64).max),
        ("DBL_MIN", np.finfo(np.float64).tiny),
        ("DBL_EPSILON", np.finfo(np.float64).eps),
        ("INFINITY", math.inf),
        ("HUGE_VAL", math.inf),
        ("HUGE_VALF", math.inf),
        ("NAN", math.nan),
    ],
)
def test_numbers_of_double(name: str, expected: float) -> None:
    found = value(text(name, "double"))
    assert isinstance(found, Constant)
    np.testing.assert_equal(found.value, expected)


def test_a_constant_where_indices_are_computed() -> None:
    loop = "void f(int n, float A[n]) { for (int i = 0; i < n && i <= INT_MAX; i++) A[i] = 1; }"
    (statement,) = parse_c(f"#include <limits.h>\n{loop}").kernel.statements.values()
    (plain,) = parse_c(loop.replace("INT_MAX", "2147483647")).kernel.statements.values()
    assert statement.domain.is_equal(plain.domain)


def test_the_header_is_needed() -> None:
    with pytest.raises(
        FrontendError, match="'INT_MAX' is not declared; write '#include <limits.h>"
    ):
        parse_c("void f(int A[8]) { A[0] = INT_MAX; }")
    own = "enum { INT_MAX = 3 }; void f(int A[8]) { A[0] = INT_MAX; }"
    assert value(own) == Constant(3, value(own).dtype)
    comment = "// #include <limits.h>\nvoid f(int A[8]) { A[0] = INT_MAX; }"
    with pytest.raises(FrontendError, match="not declared"):
        parse_c(comment)

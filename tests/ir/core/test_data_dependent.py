"""May relations, and what may stand in a subscript."""

import islpy as isl
import pytest

from polysched.errors import KernelError
from polysched.ir.core.data_dependent import (
    as_subscript,
    as_values,
    is_data_dependent,
    may_relation,
    outermost_loads,
)
from polysched.ir.core.kernel import access_relation
from polysched.ir.core.printing import format_kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.dtypes import f32, i32, i64, u64
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index, Load, Parameter
from polysched.ir.expr.functions import cast, minimum
from tests.support.indirect import gather

ROW, J, M = Index("i"), Index("j"), Parameter("m")
VALUES = (Constant(0), M)
A = Load("a", (ROW,), i64, values=VALUES)
B = Load("b", (J,), i64, values=(Constant(-2), Constant(3)))
DOMAIN = isl.Set("[m] -> { S[i, j] : 0 <= i < 5 and 0 <= j < 7 and m > 0 }")


def _relation(*subscripts: Expression) -> isl.Map:
    return may_relation(DOMAIN, subscripts)


def _expected(text: str) -> isl.Map:
    return isl.Map(f"[m] -> {{ S[i, j] -> {text} and 0 <= i < 5 and 0 <= j < 7 and m > 0 }}")


@pytest.mark.parametrize(
    ("subscripts", "expected"),
    [
        ((A,), "[e] : 0 <= e < m"),
        ((A + 1, J), "[e, j] : 1 <= e <= m"),
        ((A + ROW,), "[e] : i <= e < i + m"),
        ((3 * A,), "[e] : exists k : e = 3k and 0 <= k < m"),
        ((A - 2 * B + J,), "[e] : exists a, b : e = a - 2b + j and 0 <= a < m and -2 <= b < 3"),
        ((A, A), "[e, e] : 0 <= e < m"),
        ((A, B), "[e, f] : 0 <= e < m and -2 <= f < 3"),
        ((minimum(A, 3),), "[e] : 0 <= e <= 3 and e < m"),
        ((A % 4,), "[e] : 0 <= e <= 3 and e < m"),
    ],
)
def test_may_relations(subscripts: tuple[Expression, ...], expected: str) -> None:
    assert _relation(*subscripts).is_equal(_expected(expected))


def test_dimensions_keep_their_names() -> None:
    relation = _relation(A)
    assert relation.get_tuple_name(isl.dim_type.in_) == "S"
    assert [relation.get_dim_name(isl.dim_type.in_, i) for i in range(2)] == ["i", "j"]


def test_the_loads_of_a_subscript() -> None:
    inside = Load("a", (A,), i64, values=VALUES)
    assert outermost_loads([inside + A, A]) == (inside, A)
    assert is_data_dependent([ROW, A + 1])
    assert not is_data_dependent([ROW, J + 1])


def test_subscripts_are_computed_in_64_bits() -> None:
    narrow = Load("a", (ROW,), i32, values=VALUES)
    space = instance_space(["m"], "", ["i", "j"])
    assert as_subscript(narrow + 1, space) == Cast(narrow, i64) + 1
    assert as_subscript(cast(narrow, i64) + J, space) == Cast(narrow, i64) + J
    assert as_subscript(as_subscript(narrow - 1, space), space) == Cast(narrow, i64) - 1
    assert as_subscript(A + 1, space) == A + 1


def test_unsigned_arithmetic_does_not_wrap_in_a_subscript() -> None:
    wide = Load("a", (ROW,), u64, values=(Constant(1), M))
    subscript = as_subscript(wide - 1, instance_space(["m"], "", ["i", "j"]))
    assert may_relation(DOMAIN, [subscript]).is_equal(_expected("[e] : 0 <= e < m - 1"))


@pytest.mark.parametrize(
    ("subscript", "message"),
    [
        (A * B, r"'\(a\[i\] \* b\[j\]\)' is not affine: one factor of a product must be a literal"),
        (Load("f", (ROW,), f32, values=VALUES), "'f.i.' is of type f32; expected an array of int"),
        (
            Load("c", (ROW,), i32),
            r"'c\[i\]' stands in a subscript, but array 'c' has no declared range of values; "
            r'declare it with build.input\("c", i32, ..., values=\(lower, upper\)\)',
        ),
        (
            cast(Load("a", (ROW,), i32, values=VALUES) + 1, i64),
            "converts to i64 inside a subscript",
        ),
        (Load("a", (Index("q"),), i64, values=VALUES), "index 'q' is not in scope here"),
    ],
)
def test_what_cannot_stand_in_a_subscript(subscript: Expression, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        as_subscript(subscript, instance_space(["m"], "", ["i", "j"]))


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ((0, ROW), "values of array 'a': index 'i' is not in scope"),
        ((0, M * M), r"values of array 'a': '\(m \* m\)' is not affine"),
        ((3, 3), "values of array 'a': no value v has 3 <= v < 3; the upper end is excluded"),
        (M, "array 'a': values=.*; expected a pair"),
        ((0, 1, 2), "array 'a': values=.*; expected a pair"),
    ],
)
def test_ranges_of_values(values: tuple[Expression, Expression], message: str) -> None:
    with pytest.raises(KernelError, match=message):
        as_values("a", i32, values, instance_space(["m"], "", []))


def test_values_of_an_array_of_floats() -> None:
    with pytest.raises(KernelError, match="array 'a' of f32 is declared with values=.*integers"):
        as_values("a", f32, (0, M), instance_space(["m"], "", []))


def test_accesses_of_a_statement() -> None:
    build = KernelBuilder("k")
    m = build.parameter("m", minimum=1)
    a = build.input("a", i32, (10,), values=(0, m))
    h = build.inout("h", f32, (m,))
    with build.loops(i=10) as i, build.statement("S", order="any"):
        h[a[i]] += 1.0
    statement = build.kernel().statements["S"]
    assert [access.array for access in statement.accesses] == ["h", "a", "h", "a"]
    assert statement.reduction is not None
    assert statement.accesses[statement.reduction.read].array == "h"
    relation = access_relation(statement, statement.target)
    assert relation.is_equal(
        isl.Map("[m] -> { S[i] -> h[e] : 0 <= i < 10 and 0 <= e < m and m > 0 }")
    )


def test_printouts_show_the_range_and_no_conversions() -> None:
    text = format_kernel(gather())
    assert "input idx: i32[n] with 0 <= value < m" in text
    assert "y[i] = 2*x[idx[i] + 1]" in text

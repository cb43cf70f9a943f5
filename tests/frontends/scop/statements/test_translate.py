from __future__ import annotations

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from polysched.frontends.scop.statements import translate
from polysched.ir.core.kernel import Order, Role
from tests.frontends.scop.kernels import domain, kernel


def test_statements_are_named_by_label_or_array() -> None:
    found = kernel("first: x[0] = 1; x[1] = 2; x[2] = 3; if (n > 3) { first2: x[3] = 4; }")
    assert list(found.statements) == ["first", "x", "x_2", "first2"]


def test_statements_and_accesses_know_their_places() -> None:
    text = """void f(int n, double x[n]) {
  for (int i = 1; i < n; i++)
    x[i] = x[i - 1] + 1;
}"""
    found = parse_c(text, path="a.c").kernel
    statement = found.statements["x"]
    assert str(found.location) == "a.c:1:6"
    assert str(statement.location) == "a.c:3:5"
    assert str(statement.target.location) == "a.c:3:5"
    assert [str(read.location) for read in statement.reads] == ["a.c:3:12"]
    assert str(found.arrays["x"].location) == "a.c:1:22"


def test_else_is_the_rest() -> None:
    found = kernel("for (int i = 0; i < n; i++) if (i < m) x[i] = 0; else x[i] = 1;")
    assert "0 <= i < m and i < n" in domain(found, "x")
    assert "i >= m" in domain(found, "x_2")


def test_a_guarded_read_makes_two_statements() -> None:
    found = kernel("for (int i = 0; i < n; i++) x[i] = i > 0 ? x[i - 1] : 7;")
    first, second = found.statements.values()
    assert "0 < i < n" in domain(found, first.name)
    assert "x[0]" in domain(found, second.name) or "i = 0" in domain(found, second.name)
    assert not second.reads


def test_a_choice_of_numbers_is_one_statement() -> None:
    found = kernel("for (int i = 0; i < n; i++) x[i] = i > 0 ? 1 : 7;")
    assert len(found.statements) == 1


def test_too_many_cases() -> None:
    parts = " + ".join(f"(i > {k} ? x[i - {k + 1}] : 0)" for k in range(5))
    with pytest.raises(FrontendError, match="more than 16 cases of conditions that guard reads"):
        kernel(f"for (int i = 0; i < n; i++) x[i] = {parts};")


def test_locals_are_temporaries_and_names_are_unique() -> None:
    found = kernel("{ double t = 1; x[0] = t; } { float t = 2; x[1] = t; }")
    temporaries = [a.name for a in found.arrays.values() if a.role is Role.TEMPORARY]
    assert temporaries == ["t", "t_2"]
    assert str(found.arrays["t_2"].dtype) == "f32"


def test_an_integer_that_never_changes_is_no_array() -> None:
    found = kernel("for (int i = 0; i + 1 < n; i++) { int next = i + 1; x[next] = next; }")
    assert list(found.arrays) == ["x"]
    assert str(found.statements["x"].target) == "x[(i + 1)]"


def test_reassociation_is_asked_for() -> None:
    body = "for (int i = 0; i < n; i++) {{ {} x[0] += i; }}"
    any_order = kernel(body.format("\n#pragma polysched reassociate\n"))
    exact = kernel(body.format(""))
    reductions = [one.statements["x"].reduction for one in (any_order, exact)]
    assert [one.order for one in reductions if one is not None] == [Order.ANY, Order.EXACT]


def test_code_that_never_runs_is_left_out() -> None:
    loop = "for (int i = 0; i < n; i++) { if (i < 0) x[i] = 2; x[i] = 3; }"
    found = kernel(f"if (0) x[9] = 1; {loop}")
    assert [str(one.value) for one in found.statements.values()] == ["3.0"]


def test_a_chain_assigns_from_the_right() -> None:
    found = kernel("x[0] = x[1] = 5;")
    assert [str(one.target) for one in found.statements.values()] == ["x[1]", "x[0]"]
    assert str(found.statements["x_2"].value) == "x[1]"


def test_a_constant_is_converted_to_its_type() -> None:
    loop = "for (int i = 0; i < n; i++)"
    found = kernel(f"const unsigned char few = 260; {loop} if (i < few) x[i] = few;")
    assert domain(found, "x") == "[n] -> { x[i] : n >= 0 and 0 <= i <= 3 and i < n }"
    assert str(found.statements["x"].value) == "4.0"


def test_what_may_not_fit_its_type_is_no_constant() -> None:
    found = kernel("signed char k = n; x[0] = k;")
    assert str(found.statements["k"].value) == "i8(i32(n))"


def test_the_result_may_be_called_as_the_kernel_calls_it() -> None:
    program = parse_c("double f(void) { double result = 1; return result; }")
    assert program.result == "result"
    assert [str(one.target) for one in program.kernel.statements.values()] == [
        "result_2[]",
        "result[]",
    ]


def test_too_many_statements(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "MOST_STATEMENTS", 3)
    kernel("x[0] = 1; " * 3)
    with pytest.raises(FrontendError, match="the kernel has more than 1,000 assignments"):
        kernel("x[0] = 1; " * 4)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x[0]++", "(x[0] + 1.0)"),
        ("++x[0]", "(x[0] + 1.0)"),
        ("x[0]--", "(x[0] - 1.0)"),
        ("--x[0]", "(x[0] - 1.0)"),
        ("x[0] -= 2", "(x[0] - 2.0)"),
        ("x[0] /= n", "(x[0] / f64(i32(n)))"),
    ],
)
def test_what_changes_an_element(text: str, expected: str) -> None:
    (statement,) = kernel(f"{text};").statements.values()
    assert str(statement.value) == expected


def test_a_branch_over_data_keeps_what_it_does_not_reach() -> None:
    found = kernel("for (int i = 0; i < n; i++) if (x[i] < 0) x[i] = 0;")
    assert str(found.statements["x"].value) == "select((x[i] < 0.0), 0.0, x[i])"


def test_both_sides_of_a_branch_over_data_are_one_selection() -> None:
    found = kernel(
        "for (int i = 0; i < n; i++) { if (y[i] > 0) x[i] = y[i]; else x[i] = 0; }",
        "int n, double x[restrict n], const double y[n]",
    )
    assert str(found.statements["x"].value) == "select((0.0 < y[i]), y[i], 0.0)"
    assert found.arrays["x"].role is Role.OUTPUT


def test_a_chain_of_branches_over_data_is_one_selection() -> None:
    found = kernel(
        "for (int i = 0; i < n; i++) { if (y[i] > 1) x[i] = 1; else if (y[i] < x[i])"
        " { x[i] = y[i]; } else { if (y[i] == 0) x[i] = 3; else x[i] = 4; } }",
        "int n, float x[restrict n], const float y[n]",
    )
    (statement,) = found.statements.values()
    last = "select((y[i] == 0.0), 3.0, 4.0)"
    middle = f"select((y[i] < x[i]), y[i], {last})"
    assert str(statement.value) == f"select((1.0 < y[i]), 1.0, {middle})"


def test_a_chain_without_a_last_else_keeps_the_element() -> None:
    found = kernel(
        "for (int i = 0; i < n; i++) { if (y[i] > 1) x[i] = 1; else if (y[i] < 0) x[i] = 2; }",
        "int n, double x[restrict n], const double y[n]",
    )
    assert len(found.statements) == 2
    assert str(found.statements["x_2"].value).endswith("x[i])")


@pytest.mark.parametrize(
    ("update", "operator"), [("s++", "+"), ("s -= k[i]", "+"), ("s *= 3", "*"), ("s = k[i]", "max")]
)
def test_a_reduction_under_a_condition_is_one(update: str, operator: str) -> None:
    test = "k[i] > s" if operator == "max" else "x[i] > 0"
    found = kernel(
        f"int s = 0; for (int i = 0; i < n; i++) if ({test}) {update}; x[0] = s;",
        "int n, double x[restrict n], const int k[n]",
    )
    reduction = found.statements["s_2"].reduction
    assert reduction is not None
    assert reduction.operator.value == operator


def test_a_condition_that_its_branch_changes_is_kept() -> None:
    found = kernel("for (int i = 1; i < n; i++) if (x[i] < 0) { x[i] = 0; x[i - 1] = 1; }")
    assert list(found.statements) == ["condition", "x", "x_2"]


def test_a_condition_is_kept_that_pointers_of_one_name_change() -> None:
    found = kernel(
        "x[0] += 1; if (x[0] > 0) { { double *p = x; p[0] = 0; } { double *p = y; p[0] = 1; } }",
        "int n, double x[restrict n], double y[restrict n]",
    )
    assert list(found.statements) == ["x", "condition", "x_2", "y"]


def test_each_side_of_an_affine_condition_assigns_for_the_first_time() -> None:
    found = kernel(
        "for (int i = 0; i < n; i++) { double t; if (i > 2) t = 1;"
        " else { if (x[i] > 0) { t = 2; x[i] = 0; } else t = 3; } x[i] += t;"
        " { double u; if (i > 2) u = 1; if (x[i] > 0) u = 2; if (i > 2) x[i] = u; } }"
    )
    assert [str(found.statements[name].value) for name in ("t", "t_2", "u", "u_2")] == [
        "1.0",
        "2.0",
        "1.0",
        "select((0.0 < x[i]), 2.0, u[])",
    ]


def test_a_branch_over_data_that_is_never_reached_is_left_out() -> None:
    found = kernel("x[0] = 1; if (n < 0) { if (x[0] > 0) { x[0] = 2; x[1] = 3; } }")
    assert list(found.statements) == ["x"]


def test_the_affine_part_of_a_condition_guards_reads() -> None:
    found = kernel("for (int i = 0; i < n; i++) if (i > 0 && x[i - 1] < 0) x[i] = 0;")
    (only,) = found.statements.values()
    assert "0 < i < n" in domain(found, only.name)


def test_too_many_parts_of_a_condition() -> None:
    parts = " && ".join(f"(x[{k}] > 0 || i > {k})" for k in range(5))
    with pytest.raises(FrontendError, match="more than 16 cases of a condition"):
        kernel(f"for (int i = 0; i < n; i++) if ({parts}) x[i] = 0;")

"""What a file itself gives names that mean something else outside of it."""

import pytest

from polysched.errors import FrontendError
from polysched.frontends.scop import parse_c
from polysched.ir.expr.dtypes import i32, u32


def values(text: str) -> list[str]:
    return [str(one.value) for one in parse_c(text, "f").kernel.statements.values()]


def loop(body: str, before: str = "", inside: str = "", more: str = "") -> str:
    head = f"{before}\nvoid f(int n{more}, double x[restrict n]) {{ {inside}"
    return f"{head} for (int i = 0; i < n; i++) {{ {body} }} }}"


@pytest.mark.parametrize("name", ["max", "exp2", "abs", "floord"])
def test_a_function_of_the_file_is_not_the_known_one(name: str) -> None:
    own = f"static double {name}(double a, double b) {{ static double c; c += a; return c; }}"
    with pytest.raises(FrontendError, match=f"'{name}' is a function of this file"):
        parse_c(loop(f"x[i] = {name}(x[i], 1);", own), "f")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("int max(int a, int b) { return a > b ? a : b; }", "max(k[], m[])"),
        ("int max(int a, int b) { return a >= b ? b : a; }", "min(k[], m[])"),
        ("int max(int a, int b) { return b < a ? b : a; }", "min(k[], m[])"),
        ("int max(int a, int b) { if (a < b) return b; else return a; }", "max(k[], m[])"),
        ("typedef int T; T max(const T a, T b) { if (a < b) { return b; } return a; }", "max(k[]"),
        (
            "double max(double a, double b) { return a > b ? a : b; }",
            "select((f64(m[]) < f64(k[]))",
        ),
    ],
)
def test_a_function_of_the_file_that_chooses(own: str, expected: str) -> None:
    text = "void f(int y[restrict 2], int k, int m) { k += y[1]; m += y[1]; y[0] = max(k, m); }"
    assert expected in values(f"static {own}\n{text}")[-1]


@pytest.mark.parametrize(
    "own",
    [
        "int max(int a, int b) { static int c; c += a; return c; }",
        "int max(int a, int b) { if (a > b) return a; }",
        "int max(int a) { return a > 1 ? a : 1; }",
        "int max() { return 1; }",
        "int max(int a, int b, ...) { return a > b ? a : b; }",
    ],
)
def test_a_function_of_the_file_that_does_something_else(own: str) -> None:
    with pytest.raises(
        FrontendError, match="'max' is a function of this file, which kernels cannot"
    ):
        parse_c(loop("x[i] = max(x[i], 1);", own), "f")


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("a += 1; return a > b ? a : b;", "max((k[] + 1), m[])"),
        ("int c = b - a, d = 2 * c; c -= d; return c;", "((m[] - k[]) - (2 * (m[] - k[])))"),
        (
            "if (a < 0) return 0; if (a > b) return b; return a;",
            "select((k[] < 0), 0, min(m[], k[]))",
        ),
        (
            "if (a > b) a = b; else { b = 1; } return a + b;",
            "(min(m[], k[]) + select((m[] < k[]), m[], 1))",
        ),
    ],
)
def test_a_function_of_several_statements(body: str, expected: str) -> None:
    text = "void f(int y[restrict 2], int k, int m) { k += y[1]; m += y[1]; y[0] = g(k, m); }"
    assert expected in values(f"static int g(int a, int b) {{ {body} }}\n{text}")[-1]


def test_a_choice_in_an_index() -> None:
    own = "static int larger(int a, int b) { return a > b ? a : b; }"
    more = ", double y[restrict n + 1]"
    (statement,) = parse_c(
        loop("x[i] = y[larger(i, 3)];", own, more=more), "f"
    ).kernel.statements.values()
    assert str(statement.value) == "y[max(i, 3)]"
    real = own.replace("int", "double")
    with pytest.raises(FrontendError, match="its type is double"):
        parse_c(loop("x[i] = y[larger(i, 3)];", real, more=more), "f")
    with pytest.raises(FrontendError, match="'larger' takes 2 arguments; this call has 1"):
        parse_c(loop("x[i] = larger(i);", own), "f")


def test_a_declaration_of_the_library_is_the_known_one() -> None:
    assert values(loop("x[i] = sqrt(x[i]);", "double sqrt(double);")) == ["sqrt(x[i])"]


def test_the_inner_enumerator_counts() -> None:
    assert values(loop("x[i] = N;", "enum {N = 4};", "enum {N = 8};")) == ["8.0"]
    assert values(loop("enum {N = 8, M}; x[i] = M;", "enum {N = 4};")) == ["9.0"]


def test_a_parameter_hides_an_enumerator() -> None:
    text = loop("x[i] = alpha;", "enum {alpha = 3};", more=", double alpha")
    assert values(text) == ["alpha[]"]


def test_enumerators_that_are_not_used_may_be_anything() -> None:
    assert values(loop("x[i] = A;", "enum {A = 1, B = A | 2, C = 4294967296};")) == ["1.0"]
    with pytest.raises(FrontendError, match="it is a bitwise operation"):
        parse_c(loop("x[i] = B;", "enum {A = 1, B = A | 2};"), "f")


def test_an_enumerator_that_hides_another_has_to_be_known() -> None:
    text = loop("x[i] = C;", "enum {A = 5};", "enum {A = 1 | 2, C = A + 1};")
    with pytest.raises(FrontendError, match="it is a bitwise operation"):
        parse_c(text, "f")


def test_variables_of_an_enumeration_have_the_type_of_gcc() -> None:
    negative, plain = "typedef enum {A, B = -3} e;", "typedef enum {A, B = 0x7fffffff} e;"
    for text, dtype in ((negative, i32), (plain, u32)):
        program = parse_c(loop("x[i] = c;", text, more=", e c"), "f")
        assert program.variables["c"].type.dtype == dtype
    for text in ("typedef enum {A = 1 | 2} e;", "typedef enum {A = 4294967296} e;"):
        with pytest.raises(FrontendError, match="a variable of an enumeration"):
            parse_c(loop("x[i] = c;", text, more=", e c"), "f")


def test_a_type_of_the_function_hides_one_of_the_file() -> None:
    text = """typedef float T;
void f(int n, double x[restrict n]) { typedef double T;
#pragma scop
for (int i = 0; i < n; i++) x[i] = (T)x[i] * 0.1;
#pragma endscop
}"""
    assert values(text) == ["(x[i] * 0.1)"]


@pytest.mark.parametrize(
    "body",
    [
        "double A[9][9], *row = A[1]; if (x[i] < 0) row[i & 6] = 0;",
        "double A[9][9], *row = A[1]; if (x[i]) row[i ^ 1] = 0;",
        "for (int j = 0; j < (i | 1); j++) x[i] = 2;",
    ],
)
def test_bits_are_named_as_the_reason(body: str) -> None:
    with pytest.raises(FrontendError, match="is a bitwise operation"):
        parse_c(loop(body), "f")


def test_a_shape_has_the_rows_of_the_declaration() -> None:
    text = """void f(int n, double A[restrict n][6]) {{
#pragma polysched shape A[n][{}]
for (int i = 0; i < n; i++) A[i][0] = 1; }}"""
    parse_c(text.format("6"), "f")
    with pytest.raises(
        FrontendError, match="declared with rows of 6, and this pragma with rows of 4"
    ):
        parse_c(text.format("4"), "f")


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        ("int max(int a, long b) { return a - b; }", "f64(i32((i64(i32(x[i])) - 1)))"),
        ("double max(double b, double a) { return -a; }", "-1.0"),
        (
            "float half(float x) { return x / 2; } double max(float x, int b) { return half(x); }",
            "f64((f32(x[i]) / 2.0))",
        ),
    ],
)
def test_a_function_that_returns_an_expression_is_written_out(own: str, expected: str) -> None:
    assert values(loop("x[i] = max(x[i], 1);", own)) == [expected]


def test_a_function_that_calls_itself_is_refused() -> None:
    own = "int down(int a) { return a > 0 ? down(a - 1) : 0; }"
    with pytest.raises(FrontendError, match="'down' calls itself"):
        parse_c(loop("x[i] = down(n);", own), "f")

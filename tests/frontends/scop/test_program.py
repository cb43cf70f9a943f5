from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import polysched as ps
from polysched.errors import FrontendError
from polysched.frontends.scop import Promises, load_c, parse_c
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.dtypes import f32, f64, i32, u64
from polysched.legality.check import check
from polysched.llvm.export.c_function import CArgument
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import needs_gcc
from tests.support.differential import assert_agrees

REGION = """\
#define UNUSED
int main(int argc, char **argv)
{
    double A[16][16], s = 0;
    int i, j;
    int n = atoi(argv[1]);
#pragma scop
    for (i = 0; i < n && i < 16; i++)
        for (j = 0; j < 16; j++)
            s += A[i][j];
#pragma endscop
    printf("%f\\n", s);
}
""".removeprefix("#define UNUSED\n")


def test_a_region_takes_what_surrounds_it() -> None:
    kernel = parse_c(REGION).kernel
    assert kernel.name == "main"
    assert kernel.parameters == ("n",)
    roles = {name: array.role for name, array in kernel.arrays.items()}
    assert roles == {"A": Role.INPUT, "s": Role.INOUT}
    assert check(Schedule(kernel)).is_legal


def test_a_region_cannot_take_the_place_of_its_function() -> None:
    with pytest.raises(FrontendError, match="the region is only a part of 'main'") as caught:
        parse_c(REGION).c_function()
    assert caught.value.location is not None


def test_the_signature_of_a_function() -> None:
    program = parse_c(
        "float f(int n, double a, const double x[n], void *unused, size_t m, float y[restrict m])"
        "{ for (int i = 0; i < n; i++) y[0] = a * x[i]; return y[0]; }"
    )
    function = program.c_function()
    assert function.name == "f"
    assert function.result == "result"
    assert function.arguments == (
        CArgument("n", i32, is_pointer=False, meaning="n", is_size=True),
        CArgument("a", f64, is_pointer=False, meaning="a"),
        CArgument("x", f64, is_pointer=True, meaning="x"),
        CArgument("unused", None, is_pointer=True, meaning=None),
        CArgument("m", u64, is_pointer=False, meaning="m", is_size=True),
        CArgument("y", f32, is_pointer=True, meaning="y"),
    )


ALIASING = """
void f(int n, double x[{}], {}double y[n]) {{ for (int i = 0; i < n; i++) x[i] = y[i]; }}
"""


@pytest.mark.parametrize(("dim", "quals"), [("restrict n", ""), ("n", "restrict ")])
def test_restrict_on_either_pointer_is_enough(dim: str, quals: str) -> None:
    text = ALIASING.format(dim, "").replace("y[n]", f"y[{quals}n]", 1)
    parse_c(text).c_function()


def test_nothing_overlaps_an_array_that_is_declared_const() -> None:
    text = """
    extern const unsigned char table[];
    void f(int n, unsigned char *x) { for (int i = 0; i < n; i++) x[i] = table[x[i]]; }
    """
    assert parse_c(text).apart == ()
    assert parse_c(text.replace("table[]", "*table")).apart == (("table", "x"),)


def test_pointers_that_may_overlap_are_checked_at_each_call() -> None:
    program = parse_c(ALIASING.format("n", ""))
    assert program.apart == (("x", "y"),)
    assert program.c_function().fallback is not None
    (note,) = program.notes()
    assert note.startswith("checked at each call: 'x' and 'y' do not overlap, else the program")


def test_a_promise_takes_the_place_of_the_check() -> None:
    program = parse_c(ALIASING.format("n", ""), promises=Promises(no_alias=True))
    assert program.c_function().fallback is None
    assert program.notes() == []


def test_pointers_to_other_types_do_not_overlap() -> None:
    text = ALIASING.format("n", "")
    assert parse_c(text.replace("double y", "float y")).apart == ()
    assert parse_c(text.replace("double y", "char y")).apart == (("x", "y"),)


def test_variables_of_the_file_are_out_of_reach() -> None:
    text = "double x[4];\nvoid f(void) { for (int i = 0; i < 4; i++) x[i] = i; }"
    program = parse_c(text)
    assert program.kernel.arrays["x"].role is Role.OUTPUT
    with pytest.raises(FrontendError, match="'f' uses 'x', a variable of the file"):
        program.c_function()


def test_roles() -> None:
    text = """
    void f(int n, const double a[n], double b[n], double c[n], double d[n], double e[n])
    {
        for (int i = 0; i < n; i++) {
            b[i] = a[i] + e[i];
            c[i] += 1;
        }
        for (int i = 1; i < n; i++)
            d[i] = b[i - 1];
    }
    """
    arrays = parse_c(text).kernel.arrays
    assert {name: array.role.value for name, array in arrays.items()} == {
        "a": "input",
        "b": "output",
        "c": "inout",
        "d": "inout",
        "e": "input",
    }


def test_contraction_is_off_unless_the_text_allows_it() -> None:
    text = "void f(double x[2]) {{ {} x[0] = x[0] * x[1] + 1; }}"
    pragma = "\n#pragma STDC FP_CONTRACT {}\n"
    assert not parse_c(text.format("")).kernel.fp_contract
    assert parse_c(text.format(pragma.format("ON"))).kernel.fp_contract
    assert not parse_c(text.format(pragma.format("OFF"))).kernel.fp_contract


def test_fast_math_frees_reductions_and_contraction() -> None:
    text = """
    double sum(int n, const double x[n], double y[restrict n])
    {
        double total = 0;
        for (int i = 0; i < n; i++) {
            total += x[i];
            y[i] = 2 * x[i];
        }
        return total;
    }
    """
    exact = parse_c(text)
    free = exact.with_fast_math()
    policies = [
        [one.reduction.order for one in program.kernel.statements.values() if one.reduction]
        for program in (exact, free)
    ]
    assert policies == [[Order.EXACT], [Order.ANY]]
    assert (exact.kernel.fp_contract, free.kernel.fp_contract) == (False, True)
    assert free.c_function() == exact.c_function()


@pytest.mark.parametrize(
    ("update", "operator"),
    [
        ("m = x[i] > m ? x[i] : m", "pmax"),
        ("m = m < x[i] ? x[i] : m", "pmax"),
        ("m = m >= x[i] ? m : x[i]", "pmax"),
        ("if (x[i] > m) m = x[i]", "pmax"),
        ("if (x[i] <= m) m = x[i]", "pmin"),
        ("m = m < x[i] ? m : x[i]", "pmin"),
        ("m = fmax(m, x[i])", "pmax"),
        ("m = fmin(x[i], m)", "pmin"),
    ],
)
def test_fast_math_frees_conditional_extrema(update: str, operator: str) -> None:
    exact = parse_c(EXTREMUM.format(update))
    assert [one.reduction for one in exact.kernel.statements.values()] == [None] * 3
    _, statement, _ = exact.with_fast_math().kernel.statements.values()
    assert statement.reduction is not None
    assert statement.reduction.operator.value == operator
    assert statement.reduction.order is Order.ANY
    schedule = Schedule(exact.with_fast_math().kernel).split("m_2.i", 8).reorder("ii", "io")
    schedule = schedule.rfactor("m_2", "ii")
    assert check(schedule).is_legal
    compiled = ps.compile(schedule)
    x, r = np.random.default_rng(1).uniform(-1, 1, 61), np.zeros(1)
    compiled(x=x, r=r)
    assert r[0] == (x.max() if operator == "pmax" else x.min())


@pytest.mark.parametrize(
    "update", ["m = x[i] > m ? m + 1 : m", "m = x[i] > x[0] ? x[i] : m", "m = x[i] > m ? x[0] : m"]
)
def test_other_choices_are_no_extrema(update: str) -> None:
    free = parse_c(EXTREMUM.format(update)).with_fast_math()
    assert [one.reduction for one in free.kernel.statements.values()] == [None] * 3


EXTREMUM = """
void extremum(int n, const double x[n], double r[restrict 1])
{{
    double m = x[0];
    for (int i = 1; i < n; i++)
        {};
    r[0] = m;
}}
"""


def test_sums_of_integers_are_free_as_they_are() -> None:
    """Partial sums in lanes, which C compilers make of integers without ``-ffast-math`` too."""
    text = """
    void dot(int n, const int x[n], const short y[n], unsigned total[restrict 1])
    {
        for (int i = 0; i < n; i++)
            total[0] += x[i] * (unsigned)y[i];
    }
    """
    schedule = Schedule(parse_c(text).kernel).split("i", 8).reorder("ii", "io")
    schedule = schedule.rfactor("total", "ii").vectorize("ii", 8)
    assert check(schedule).is_legal
    assert_agrees(schedule, {"n": 0}, {"n": 7}, {"n": 61})


def test_one_of_several_functions_is_named() -> None:
    text = "void f(double x[1]) { x[0] = 1; } void g(double y[1]) { y[0] = 2; }"
    assert parse_c(text, "g").kernel.name == "g"
    with pytest.raises(FrontendError, match="which function of <text>\\? Name one of 'f', 'g'"):
        parse_c(text)
    with pytest.raises(FrontendError, match="defines no function 'h'; known are 'f', 'g'"):
        parse_c(text, "h")


def test_functions_that_only_return_a_number_are_no_choice() -> None:
    text = """
    static double square(double v) { return v * v; }
    static double most(double v, double w) { return v > w ? v : w; }
    void f(double x[1]) { x[0] = square(x[0]); }
    """
    assert parse_c(text).kernel.name == "f"
    assert parse_c(text, "square").kernel.name == "square"
    with pytest.raises(FrontendError, match="Name one of 'square', 'most', 'f', 'g'"):
        parse_c(text + "void g(double y[1]) { y[0] = 2; }")


def test_no_file_of_the_frontend_stands_in_a_message(tmp_path: Path) -> None:
    """Places are the user's, and never those of the frontend itself."""
    kernel = parse_c("void f(int n, double x[n]) { x[n] = 1; }", path="mine.c").kernel
    assert "mine.c:1" in str(check(Schedule(kernel)))


@needs_gcc
def test_the_output_of_a_preprocessor_points_into_the_original(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("size.h").write_text("#define COUNT n\n")
    Path("original.c").write_text(
        '#include <math.h>\n#include "size.h"\n\nvoid f(int n, double x[n])\n'
        "{ double A[9][9], *p = A[1];\n"
        "    for (int i = 0; i < COUNT; i++)\n        x[i] = x[i] > 0 ? p[i*i] :   sqrt(2.0);\n}\n"
    )
    subprocess.run(["gcc", "-E", "original.c", "-o", "output.i"], check=True)
    with pytest.raises(FrontendError) as caught:
        load_c("output.i")
    assert str(caught.value).splitlines()[0].startswith("original.c:7:29: 'i*i' is not affine")
    assert str(caught.value).splitlines()[1:] == [
        "          x[i] = x[i] > 0 ? p[i*i] :   sqrt(2.0);",
        "                              ^^^",
    ]


@needs_gcc
def test_a_macro_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.c"
    path.write_text("void f(double x[restrict N]) { for (int i = 0; i < N; i++) x[i] = i; }\n")
    with pytest.raises(FrontendError, match="'N' is not declared.*CPPFLAGS=-DN=... makes it a"):
        load_c(path)
    monkeypatch.setenv("CPPFLAGS", "-DN=12")
    assert str(load_c(path).kernel.arrays["x"].shape[0]) == "12"


def test_the_check_of_overlap_names_the_pointers_to_structs() -> None:
    program = parse_c(
        """
        typedef struct { float re, im; } cplx;
        void twist(const cplx *a, cplx *b, int n)
        {
          for (int i = 0; i < n; i++) { b[i].re = a[i].im; b[i].im = a[i].re; }
        }
        """
    )
    (note,) = [note for note in program.notes() if "overlap" in note]
    assert note.startswith("checked at each call: 'a' and 'b' do not overlap, else")

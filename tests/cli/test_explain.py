from pathlib import Path

from tests.cli.conftest import Polysched, WriteFile

ROOT = Path(__file__).parents[2]
GEMM = str(ROOT / "examples/gallery/gemm.c")


def test_one_loop(polysched: Polysched) -> None:
    result = polysched("explain", GEMM, "C_2.k", "--fast-math", "--machine", "skylake-avx512")
    assert (result.exit_code, result.stderr) == (0, "")
    before, _, after = result.stdout.partition("\noptimize for ")
    assert before.lstrip().startswith("for C_2.k: C_2\n")
    assert "parallel: no" in before
    decisions, _, loops = after.partition("\nafterwards:\n")
    assert "  C_2: " in decisions
    assert "    vectorize(loop='" in decisions
    assert "vector " in loops
    assert "a.k" not in loops


def test_all_loops_of_a_name_and_all_loops(polysched: Polysched) -> None:
    both = polysched("explain", GEMM, "k", "--machine", "skylake-avx512").stdout
    assert "for a.k: a" in both
    assert "for C_2.k: C_2" in both
    every = polysched("explain", GEMM)
    assert every.exit_code == 0
    assert "optimize for" not in every.stdout
    assert "for C_2.k: C_2" in every.stdout


def test_a_loop_that_is_not_there(polysched: Polysched) -> None:
    result = polysched("explain", GEMM, "kk")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == "error: no loop 'kk'; did you mean 'k'?\n"


DOT = """\
double dot(int n, const double x[n], const double y[n])
{
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += x[i] * y[i];
    return sum;
}
"""


def test_a_sum_that_keeps_its_order(polysched: Polysched, write_file: WriteFile) -> None:
    path = write_file("dot.c", DOT)
    kept = polysched("explain", path, "i").stdout
    assert "(a reduction that keeps its order), distance 1" in kept
    assert "hint: a floating-point reduction keeps its order; --fast-math" in kept
    free = polysched("explain", path, "i", "--fast-math").stdout
    assert "keeps its order" not in free


JIT = """\
import numpy as np
import polysched as ps


@ps.jit
def twice(x):
    for i in range(len(x)):
        x[i] = 2 * x[i]


twice(np.ones(5000))
"""


def test_the_loops_of_a_function_of_jit(polysched: Polysched, write_file: WriteFile) -> None:
    result = polysched("explain", write_file("twice.py", JIT), "i")
    assert result.exit_code == 0
    assert result.stdout.startswith("for i: ")
    assert "vectorize(loop='x.i'" in result.stdout


def test_why_there_are_no_threads(polysched: Polysched, write_file: WriteFile) -> None:
    text = "void f(int n, float x[n]) { for (int i = 0; i < n; i++) x[i] += 1; }"
    path = write_file("add.c", text)
    asked = ("explain", path, "i", "--size", "n=1000")
    assert "threads are legal, but one thread is requested" in polysched(*asked).stdout
    on_two = polysched(*asked, "--threads", "2").stdout
    assert "threads are legal, but not predicted to gain" in on_two


def test_an_inner_loop_is_not_indented(polysched: Polysched, write_file: WriteFile) -> None:
    file = write_file(
        "rows.c",
        "void rows(int n, double x[n][n]) { for (int i = 0; i < n; i++) "
        "for (int j = 1; j < n; j++) x[i][j] += x[i][j - 1]; }\n",
    )
    first, *_ = polysched("explain", f"{file}:rows", "j").stdout.splitlines()
    assert first.startswith("for j: ")


def test_a_function_of_which_only_a_loop_has_a_translation(
    polysched: Polysched, write_file: WriteFile
) -> None:
    text = """#include <stdio.h>
void show(int n, float *x)
{
    for (int i = 0; i < n; i++)
        x[i] = 2 * x[i];
    puts("done");
}
"""
    path = write_file("show.c", text)
    result = polysched("explain", f"{path}:show")
    assert result.exit_code == 2
    assert "hint: loops of this function have a translation" in result.stderr
    assert "hint" not in polysched("check", f"{path}:show").stderr
    marked = text.replace("    for", "#pragma scop\n    for").replace(
        "    puts", "#pragma endscop\n    puts"
    )
    assert polysched("explain", f"{write_file('marked.c', marked)}:show").exit_code == 0

from pathlib import Path

from tests.cli.conftest import Polysched

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

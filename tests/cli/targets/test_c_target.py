"""C files as targets: every command, and how they fail."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Polysched, WriteFile

GEMM = """\
void gemm(int n, double C[restrict n][n], const double A[n][n], const double B[n][n])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++)
            for (int k = 0; k < n; k++)
                C[i][j] += A[i][k] * B[k][j];
}
void first(double x[restrict 2])
{
    x[0] = 1;
}
"""
SCHEDULE = "# columns in vectors\nreorder('k', 'j')\nsplit('j', 8)\nvectorize('ji', 8)\n"


@pytest.fixture
def gemm(write_file: WriteFile) -> str:
    return write_file("gemm.c", GEMM)


def test_check(polysched: Polysched, gemm: str) -> None:
    result = polysched("check", gemm, "--function", "gemm")
    assert result.exit_code == 0
    assert "legal" in result.output
    assert polysched("check", f"{gemm}:gemm").output.replace(":gemm", "") == result.output


def test_check_with_a_schedule_file(polysched: Polysched, gemm: str, write_file: WriteFile) -> None:
    schedule = write_file("gemm.sched", SCHEDULE)
    result = polysched("check", gemm, "--function", "gemm", "--schedule", schedule)
    assert result.exit_code == 0, result.output
    illegal = write_file("wrong.sched", "vectorize('k', 8)\n")
    result = polysched("check", gemm, "--function", "gemm", "--schedule", illegal)
    assert result.exit_code == 1
    assert "legal if and only if n <= 1" in result.output


def test_show(polysched: Polysched, gemm: str) -> None:
    result = polysched("show", f"{gemm}:gemm", "--stage", "domain")
    assert result.exit_code == 0
    assert "statement C: C[i, j] = C[i, j] + A[i, k]*B[k, j]" in result.output


def test_run(polysched: Polysched, gemm: str) -> None:
    arguments = ("--size", "n=9", "--repeat", "1", "--json")
    result = polysched("run", gemm, "--function", "gemm", *arguments)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["max_abs_err"] == 0.0


def test_compile(polysched: Polysched, gemm: str, tmp_path: Path) -> None:
    result = polysched("compile", gemm, "--function", "gemm", "-o", str(tmp_path / "gemm.o"))
    assert result.exit_code == 0, result.output
    assert (tmp_path / "gemm.o").stat().st_size > 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("{}",), "which function of {0}? Name one of 'gemm', 'first', as in {0}:gemm"),
        (("{}:gem",), "defines no function 'gem'; did you mean 'gemm'?"),
        (("{}:gemm", "--function", "first"), "names a function, and so does --function first"),
        (("{}.py", "--function", "gemm"), "--function gemm is for C files"),
    ],
)
def test_a_choice_that_is_not_clear(
    arguments: tuple[str, ...], message: str, polysched: Polysched, gemm: str
) -> None:
    result = polysched("check", *(one.format(gemm) for one in arguments))
    assert result.exit_code == 2
    assert " ".join(message.format(gemm).split()) in " ".join(result.output.split())


def test_an_error_shows_the_line(polysched: Polysched, write_file: WriteFile) -> None:
    path = write_file("bad.c", "void f(int n, double x[n]) {\n  while (n) x[0] = 1;\n}\n")
    result = polysched("check", path)
    assert result.exit_code == 2
    assert "bad.c:2:3: a while loop" in result.output
    assert "    while (n) x[0] = 1;\n    ^^^^^" in result.output


def test_a_missing_file(polysched: Polysched, tmp_path: Path) -> None:
    result = polysched("check", str(tmp_path / "none.c"))
    assert result.exit_code == 2
    assert "No such file" in result.output

"""``polysched rewrite``, and the options of C files that every command has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Polysched, WriteFile

SCALE = """\
#include "size.h"
void other(void) { for (;;) ; }
void scale(int n, float *x, const float *y)
{
#pragma scop
  for (int i = 0; i < n; i++)
    x[i] = SIZE * y[i] + x[i];
#pragma endscop
}
"""


@pytest.fixture
def scale(write_file: WriteFile) -> str:
    write_file("size.h", "#ifndef SIZE\n#define SIZE 3\n#endif\n")
    return write_file("scale.c", SCALE)


def test_rewrite(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    written = tmp_path / "out.c"
    result = polysched("rewrite", scale, "-o", str(written))
    assert result.exit_code == 0, result.output
    assert f"{written}: scale calls polysched_scale_scale" in result.output.replace("\n", "")
    text = written.read_text()
    assert "int polysched_scale_scale(" in text
    assert "polysched_scale_scale((float *)x, (const float *)y, (long)n) == 0" in text
    hint = "hint: there is no schedule; --auto finds and proves one"
    assert hint in result.stderr
    assert hint not in polysched("rewrite", scale, "-o", str(written), "--auto").stderr


def test_rewrite_with_a_schedule(polysched: Polysched, scale: str, write_file: WriteFile) -> None:
    schedule = write_file("scale.sched", "split('i', 8)\nvectorize('ii', 8)\n")
    out = str(Path(scale).with_name("out.c"))
    machine_code = str(Path(scale).with_name("out.o"))
    arguments = ("rewrite", scale, "-o", out, "--object", machine_code, "--schedule", schedule)
    result = polysched(*arguments)
    assert result.exit_code == 0, result.output
    assert Path(machine_code).stat().st_size > 0
    assert "-fopenmp" not in result.stdout
    write_file("scale.sched", "parallel('i')\n")
    assert f"{machine_code}: link with -fopenmp" in polysched(*arguments).stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-o", "{}"), "is the file to rewrite; name another one"),
        (("-o", "out.c", "--object", "out.so"), "cannot write machine code to 'out.so'"),
        (("-o", "out.c", "--function", "scal"), "defines no function 'scal'"),
        (("-o", "out.c", "--function", "other"), "the loop does not initialize its variable"),
    ],
)
def test_what_rewrite_refuses(
    arguments: tuple[str, ...], message: str, polysched: Polysched, scale: str
) -> None:
    result = polysched("rewrite", scale, *(one.format(scale) for one in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.output.split())


def test_macros_and_folders(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    (tmp_path / "size.h").rename(other / "size.h")
    stage = ("--function", "scale", "--stage", "domain")
    assert polysched("show", scale, *stage).exit_code == 2
    assert "3*y" in _formula(polysched("show", scale, *stage, "-I", str(other)).output)
    result = polysched("show", scale, *stage, "-I", str(other), "-D", "SIZE=7")
    assert "7*y" in _formula(result.output)


def _formula(text: str) -> str:
    return text.replace(" ", "").replace("cast(3,f32)", "3").replace("3.0", "3").replace("7.0", "7")


@pytest.mark.parametrize(("choice", "joined"), [("fast", True), ("off", False)])
def test_contraction(choice: str, joined: bool, polysched: Polysched, scale: str) -> None:
    arguments = ("--function", "scale", "--stage", "llvm", "--fp-contract", choice)
    result = polysched("show", scale, *arguments)
    assert result.exit_code == 0, result.output
    assert ("contract" in result.output) == joined


def test_check_says_what_compile_relies_on(polysched: Polysched, scale: str) -> None:
    result = polysched("check", scale, "--function", "scale")
    assert result.exit_code == 0
    output = " ".join(result.output.split())
    assert "checked at each call: 'x' and 'y' do not overlap, else the program runs as" in output
    promised = polysched("check", scale, "--function", "scale", "--assume-no-alias")
    assert "checked" not in promised.output


def test_options_of_c_files_are_for_c_files(polysched: Polysched, write_file: WriteFile) -> None:
    path = write_file("k.py", "")
    assert polysched("check", path, "--assume", "n > 1").exit_code == 2


def test_functions_that_do_not_gain_stay(
    polysched: Polysched, write_file: WriteFile, tmp_path: Path
) -> None:
    source = write_file(
        "two.c",
        "double add_up(int n, const double *x) { double s = 0; for (int i = 0; i < n; i++) "
        "s += x[i]; return s; }\n"
        "void scale(int n, double *x) { for (int i = 0; i < n; i++) x[i] *= 2; }\n",
    )
    written = tmp_path / "out.c"
    result = polysched("rewrite", source, "-o", str(written), "--auto")
    assert result.exit_code == 0, result.output
    assert "left as it is: " in result.stderr
    assert result.stderr.count("no schedule is predicted to make this faster") == 1
    assert "two.c:1:8: no schedule is predicted to make this faster; a sum" in result.stderr
    assert "which --fast-math frees" in result.stderr
    assert "error" not in result.stderr
    text = written.read_text()
    assert "polysched_two_scale(" in text
    assert "polysched_two_add_up(" not in text

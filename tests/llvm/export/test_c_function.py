"""Objects that take the place of a C function, linked into the program that it comes from."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from polysched.errors import ExportError
from polysched.frontends.scop import load_c
from polysched.lower import export
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import needs_gcc

KERNEL = """\
double weighted(int n, short from, float scale, const double x[n], double y[restrict n],
                char *name)
{
#pragma polysched assume from >= 0
    for (int i = from; i < n; i++)
        y[i] = scale * x[i];
    double sum = 0;
    for (int i = 0; i < n; i++)
        sum += y[i];
    return sum;
}
"""
MAIN = """\
#include <stdio.h>
double weighted(int n, short from, float scale, const double x[n], double y[restrict n],
                char *name);
int main(void)
{
    double x[20], y[20];
    for (int i = 0; i < 20; i++) {
        x[i] = i * 0.1;
        y[i] = -i;
    }
    double sum = weighted(20, 3, 1.7f, x, y, "unused");
    for (int i = 0; i < 20; i++)
        printf("%a ", y[i]);
    printf("%a\\n", sum);
}
"""


@needs_gcc
def test_a_program_prints_the_same_with_either_object(tmp_path: Path) -> None:
    (tmp_path / "kernel.c").write_text(KERNEL)
    (tmp_path / "main.c").write_text(MAIN)
    program = load_c(tmp_path / "kernel.c")
    schedule = Schedule(program.kernel).split("y.i", 4).vectorize("y.ii", 4)
    export(schedule, tmp_path / "kernel.o", c_function=program.c_function())
    printed = []
    for part in ("kernel.c", "kernel.o"):
        command = ["gcc", "-O0", "-ffp-contract=off", "main.c", part, "-o", "program", "-lm"]
        subprocess.run(command, cwd=tmp_path, check=True)
        printed.append(subprocess.run(["./program"], cwd=tmp_path, check=True, capture_output=True))
    assert printed[0].stdout == printed[1].stdout
    assert len(printed[0].stdout.split()) == 21


@needs_gcc
def test_nothing_but_the_function_is_seen_from_outside(tmp_path: Path) -> None:
    (tmp_path / "kernel.c").write_text(KERNEL)
    program = load_c(tmp_path / "kernel.c")
    export(Schedule(program.kernel), tmp_path / "kernel.o", c_function=program.c_function())
    command = ["nm", "--defined-only", "--extern-only", "kernel.o"]
    listed = subprocess.run(command, cwd=tmp_path, check=True, capture_output=True, text=True)
    assert [line.split()[-1] for line in listed.stdout.splitlines()] == ["weighted"]


def test_a_function_whose_code_calls_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("void exp(double x[restrict 1]) { x[0] = 1; }")
    program = load_c(path)
    with pytest.raises(ExportError, match="'exp' has the name of one that its own code may call"):
        export(Schedule(program.kernel), tmp_path / "k.o", c_function=program.c_function())


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("k.c", "has the text of 'f' already; expected a file ending in .o"),
        ("k.h", "has the declaration of 'f' already, .*; leave out the header"),
    ],
)
def test_the_program_has_its_text_already(name: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "kernel.c"
    path.write_text("void f(double x[restrict 1]) { x[0] = 1; }")
    program = load_c(path)
    header = tmp_path / name if name.endswith(".h") else None
    code = tmp_path / ("k.o" if header else name)
    with pytest.raises(ExportError, match=message):
        export(Schedule(program.kernel), code, header=header, c_function=program.c_function())

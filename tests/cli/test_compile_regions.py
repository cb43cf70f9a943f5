"""``polysched compile`` of C functions of which only loops have a translation."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result

from polysched.cli.main import main
from tests.frontends.scop.calling import needs_gcc

SOURCE = """
#include <stddef.h>
static int notified;
int total;
int notify(int n);
static int twice(int n) { return 2 * n; }
int unused(int n) { return notify(n); }

int sums(const int *x, int n, int *out)
{
    int s = 0;
    if (x == NULL) return -1;
    for (int i = 0; i < n; i++) s += x[i] * i;
    *out = twice(s);
    return notify(n);
}

int counted(const int *x, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++) s += x[i];
    return notify(notified += s);
}

int added(const int *x, int n)
{
    for (int i = 0; i < n; i++) total += x[i];
    return notify(total);
}

int nothing(int n) { return notify(n); }
"""
REST = "int notify(int n) { return n + 1000; }\n"

pytestmark = needs_gcc


def compiled(folder: Path, target: str, *options: str) -> Result:
    (folder / "file.c").write_text(SOURCE)
    arguments = ["compile", f"{folder / 'file.c'}:{target}", "-o", str(folder / "f.o"), *options]
    return CliRunner().invoke(main, arguments)


def test_the_object_defines_the_function_alone(tmp_path: Path) -> None:
    result = compiled(tmp_path, "sums")
    assert result.exit_code == 0, result.output
    assert "from line 13: polysched_file_sums" in result.output
    assert "compiled by the C compiler, except for these loops" in result.output
    assert "file.c:15:" in result.output  # the call of another file
    names = subprocess.run(
        ["nm", "-g", str(tmp_path / "f.o")], check=True, capture_output=True, text=True
    ).stdout
    symbols = {tuple(line.split()[-2:]) for line in names.splitlines()}
    assert [name for kind, name in symbols if kind == "T"] == ["sums"]
    assert ("U", "notify") in symbols


def test_variables_of_the_program_are_shared(tmp_path: Path) -> None:
    """The function is part of a program whose other objects define them too."""
    assert compiled(tmp_path, "added").exit_code == 0
    main = "extern int total; int added(const int *, int); int notify(int n) { return n; } "
    main += "int main(void) { int x[3] = {4, 5, 6}; total = 2; return added(x, 3) == total; }"
    (tmp_path / "main.c").write_text(f"int total; {main}")
    program = [str(tmp_path / name) for name in ("f.o", "main.c")]
    subprocess.run(["gcc", "-o", str(tmp_path / "program"), *program, "-lm"], check=True)
    assert subprocess.run([tmp_path / "program"], check=False).returncode == 1


SEARCH = """
int first(const int *x, int n, int v)
{
    if (x == 0) return -1;
    for (int i = 0; i < n; i++) if (x[i] == v) return i;
    for (int i = 1; i < n; i++) if (x[i] * x[i - 1] == v) n--;
    int s = 0;
    for (int i = 0; i < n; i++) s ^= s * 3 + x[i];
    return s;
}
"""


def test_loops_that_no_schedule_makes_faster_are_left_to_the_c_compiler(tmp_path: Path) -> None:
    (tmp_path / "file.c").write_text(SEARCH)
    library = tmp_path / "f.so"
    arguments = ["compile", f"{tmp_path / 'file.c'}:first", "--auto", "-o", str(library)]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    assert "no loop has a schedule that pays" in result.output
    assert "polysched_file_first" not in result.output
    x = np.array([3, 5, 7], np.int32)
    call = ctypes.CDLL(str(library)).first
    assert call(ctypes.c_void_p(x.ctypes.data), 3, 5) == 1
    assert call(None, 3, 5) == -1


COLUMNS = """
void multiplied(int n, const long *start, const int *row, const float *a, const float *x, float *y)
{
    for (int j = 0; j < n; ++j) {
        long p, end = start[j + 1];
        for (p = start[j]; p < end; ++p)
            y[row[p]] += a[p] * x[j];
    }
}
"""


def test_loops_that_would_run_as_written_are_left_to_the_c_compiler(tmp_path: Path) -> None:
    """The extent of ``y`` depends on data, so overlap cannot be checked."""
    (tmp_path / "file.c").write_text(COLUMNS)
    target, library = str(tmp_path / "file.c"), tmp_path / "f.so"
    result = CliRunner().invoke(main, ["compile", target, "-o", str(library)])
    assert result.exit_code == 0, result.output
    assert "no loop has a schedule that pays: " in result.output
    check = CliRunner().invoke(main, ["check", target])
    assert check.exit_code == 2
    assert "'start[j]' is data" in check.output
    start, row = np.array([0, 2, 3], np.int64), np.array([1, 0, 1], np.int32)
    a, x, y = (np.array(values, np.float32) for values in ((2, 3, 4), (5, 6), (0, 0)))
    arrays = (ctypes.c_void_p(one.ctypes.data) for one in (start, row, a, x, y))
    ctypes.CDLL(str(library)).multiplied(2, *arrays)
    assert y.tolist() == [15, 34]


def test_the_object_computes_what_the_text_says(tmp_path: Path) -> None:
    assert compiled(tmp_path, "sums").exit_code == 0
    (tmp_path / "rest.c").write_text(REST)
    library = tmp_path / "f.so"
    files = [str(tmp_path / "f.o"), str(tmp_path / "rest.c")]
    subprocess.run(["gcc", "-shared", "-fPIC", "-o", str(library), *files, "-lm"], check=True)
    call = ctypes.CDLL(str(library)).sums
    out = np.zeros(1, np.int32)
    assert call(None, 5, ctypes.c_void_p(out.ctypes.data)) == -1
    for n in (0, 1, 7, 1000):
        x = np.arange(n, dtype=np.int32) % 17
        returned = call(ctypes.c_void_p(x.ctypes.data), n, ctypes.c_void_p(out.ctypes.data))
        assert (returned, int(out[0])) == (n + 1000, int(2 * (x * np.arange(n)).sum()))


@pytest.mark.parametrize("target", ["counted", "nothing"])
def test_the_function_is_refused(target: str, tmp_path: Path) -> None:
    """The object would have a static variable of its own, or nothing is translated."""
    result = compiled(tmp_path, target)
    assert result.exit_code == 2
    assert "file.c" in result.output
    assert not (tmp_path / "f.o").exists()


def test_another_format_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file.c").write_text(SOURCE)
    target, output = f"{tmp_path / 'file.c'}:sums", str(tmp_path / "f.ll")
    result = CliRunner().invoke(main, ["compile", target, "-o", output])
    assert result.exit_code == 2
    assert "file.c:15:" in result.output


def test_a_failing_c_compiler_is_reported(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    (tmp_path / "file.c").write_text(SOURCE.replace("#include <stddef.h>", "#define NULL 0"))
    assert compiled(tmp_path, "sums").exit_code == 2

import os
import subprocess
from pathlib import Path

import pytest

from tests.cli.conftest import Polysched, WriteFile
from tests.support.c_programs import build, compiler

MAIN = """
#include "scale.h"
#include <stdio.h>

int main(void)
{
    float x[3] = {1, 2, 3}, y[3];
    int status = scale(x, y, 3);
    printf("%d %g %g %g %d", status, y[0], y[1], y[2], scale_supported());
    return 0;
}
"""

SHIFTED = """
import polysched as ps

build = ps.KernelBuilder("shifted")
n, d = build.parameter("n", minimum=1), build.parameter("d", minimum=1)
a = build.inout("a", ps.f32, (n + d,))
with build.loops(i=n) as i:
    a[i + d] = a[i] + 1
fast = ps.Schedule(build.kernel()).vectorize("i", 8)
"""


@pytest.mark.parametrize("suffix", [".o", ".so", ".s", ".c"])
def test_a_program_in_c(polysched: Polysched, scale: str, suffix: str, tmp_path: Path) -> None:
    tool = compiler()
    code, header = tmp_path / f"scale{suffix}", tmp_path / "scale.h"
    result = polysched("compile", f"{scale}:fast", "-o", str(code), "--header", str(header))
    assert (result.exit_code, result.stderr) == (0, "")
    first, second = result.stdout.splitlines()
    assert first.startswith(f"{code}: scale for ")
    assert second == f"{header}: header for C and C++"
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    build(tool, tmp_path / "main.c", code, "-lm", "-o", tmp_path / "main")
    told = subprocess.run([tmp_path / "main"], capture_output=True, text=True, check=True, env={})
    assert told.stdout == "0 3 5 7 1"


def test_machine_and_text(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    code = tmp_path / "scale.ll"
    result = polysched("compile", scale, "--output", str(code), "--machine", "haswell-avx2")
    assert (result.exit_code, result.stdout) == (0, f"{code}: scale for haswell-avx2\n")
    assert '"target-cpu"="haswell"' in code.read_text()
    assert sorted(os.listdir(tmp_path)) == ["scale.ll", "scale.py"]


@pytest.mark.parametrize(("suffix", "is_linked"), [(".o", False), (".so", True)])
def test_threads_need_openmp(
    polysched: Polysched, scale: str, suffix: str, is_linked: bool, tmp_path: Path
) -> None:
    """Parallel loops of an object call OpenMP's runtime, which the program must be linked with."""
    steps = tmp_path / "threads.sched"
    steps.write_text("parallel('i')\n", encoding="utf-8")
    code = tmp_path / f"scale{suffix}"
    result = polysched("compile", f"{scale}:scale", "--schedule", str(steps), "-o", str(code))
    assert result.exit_code == 0
    assert ("link with -fopenmp" in result.stdout) is not is_linked


def test_schedule_file(
    polysched: Polysched, scale: str, tmp_path: Path, write_file: WriteFile
) -> None:
    steps = write_file("steps.sched", "split(loop='i', factor=4)\n")
    code = tmp_path / "scale.c"
    options = ("--schedule", steps, "-o", str(code))
    assert polysched("compile", f"{scale}:scale", *options).exit_code == 0
    assert "ii" in code.read_text()


def test_an_illegal_schedule_is_not_written(
    polysched: Polysched, kernels: str, tmp_path: Path
) -> None:
    before = sorted(os.listdir(tmp_path))
    options = ("-o", str(tmp_path / "a.o"), "--header", str(tmp_path / "a.h"))
    result = polysched("compile", f"{kernels}:illegal", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr.startswith("illegal: ")
    assert "S[" in result.stderr
    assert sorted(os.listdir(tmp_path)) == before


def test_guard(polysched: Polysched, write_file: WriteFile, tmp_path: Path) -> None:
    path, code = write_file("shifted.py", SHIFTED), tmp_path / "a.o"
    assert polysched("compile", path, "-o", str(code)).exit_code == 1
    assert not code.exists()
    assert polysched("compile", path, "-o", str(code), "--guard").exit_code == 0
    assert code.exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("-o", "a.exe"), "cannot export to 'a.exe'; expected a name ending in .o, .so"),
        (("-o", "none/a.o"), "cannot write 'none/a.o': there is no folder 'none'"),
        (("-o", "a.o", "--header", "."), "cannot write '.': it is not a file"),
        (("-o", "a.o", "--machine", "zen6"), "unknown machine 'zen6'"),
    ],
)
def test_bad_input(
    polysched: Polysched,
    scale: str,
    options: tuple[str, ...],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    result = polysched("compile", f"{scale}:fast", *options)
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {message}")
    assert os.listdir(tmp_path) == ["scale.py"]


def test_where_to_write_must_be_said(polysched: Polysched, scale: str) -> None:
    result = polysched("compile", scale)
    assert result.exit_code == 2
    assert "Missing option '-o'" in result.stderr


def test_help_says_how_to_link(polysched: Polysched) -> None:
    text = polysched("compile", "--help").stdout
    assert "-fopenmp" in text
    assert "int NAME_supported(void);" in text

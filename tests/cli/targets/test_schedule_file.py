from pathlib import Path

import pytest

from tests.cli.conftest import Polysched, WriteFile


@pytest.mark.parametrize("steps", ["", "# nothing yet\n", "split('i', 4)\r\n"])
def test_steps_of_a_file_are_applied_to_a_kernel(
    polysched: Polysched, scale: str, write_file: WriteFile, steps: str
) -> None:
    path = write_file("a.sched", steps)
    result = polysched("check", f"{scale}:scale", "--schedule", path)
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout.startswith(f"legal: {scale}:scale with {path}; proved: ")


def test_steps_of_a_file_come_after_those_of_a_schedule(
    polysched: Polysched, scale: str, write_file: WriteFile
) -> None:
    path = write_file("a.sched", "split('i', 4)")
    result = polysched("show", f"{scale}:fast", "--schedule", path, "--stage", "schedule")
    assert result.stdout.splitlines()[:3] == [
        "vectorize(loop='i', lanes=16)",
        "split(loop='i', factor=4)",
        "",
    ]


def test_a_file_that_repeats_the_steps_of_a_schedule_continues_them(
    polysched: Polysched, scale: str, write_file: WriteFile
) -> None:
    """Such as the file that ``optimize`` writes for a schedule."""
    written = "vectorize(loop='i', lanes=16)\nsplit(loop='i', factor=4)\n"
    path = write_file("a.sched", written)
    result = polysched("show", f"{scale}:fast", "--schedule", path, "--stage", "schedule")
    assert result.stdout.startswith(f"{written}\n"), result.output


def test_what_is_shown_is_read_back(
    polysched: Polysched, scale: str, kernels: str, write_file: WriteFile
) -> None:
    for target, kernel in ((f"{scale}:fast", "scale"), (f"{kernels}:illegal", "wavefront")):
        shown = polysched("show", target, "--stage", "schedule").stdout
        path = write_file("a.sched", shown)
        base = f"{target.partition(':')[0]}:{kernel}"
        again = polysched("show", base, "--schedule", path, "--stage", "schedule")
        assert (again.exit_code, again.stdout) == (0, shown)


def test_an_illegal_file_names_the_line(
    polysched: Polysched, kernels: str, write_file: WriteFile
) -> None:
    path = write_file("a.sched", "# swap\nreorder('j', 'i')\n")
    result = polysched("check", f"{kernels}:wavefront", "--schedule", path)
    assert result.exit_code == 1
    assert f"{path}:2" in result.stdout


def test_run(polysched: Polysched, scale: str, write_file: WriteFile) -> None:
    path = write_file("a.sched", "vectorize('i', 8)")
    result = polysched("run", f"{scale}:scale", "--schedule", path, "--size", "n=33")
    assert result.exit_code == 0
    assert "largest difference from the reference 0" in result.stdout


@pytest.mark.parametrize("command", [("check",), ("show", "--stage", "loops"), ("run",)])
def test_a_file_that_is_wrong(
    polysched: Polysched, scale: str, write_file: WriteFile, command: tuple[str, ...]
) -> None:
    path = write_file("a.sched", "split('k', 4)\n")
    result = polysched(*command, f"{scale}:scale", "--schedule", path)
    assert result.exit_code == 2
    assert result.stderr == (
        f"error: {path}:1:7: no loop 'k'; known are 'i'\n  split('k', 4)\n        ^\n"
    )


def test_no_file(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    result = polysched("check", scale, "--schedule", str(tmp_path))
    assert result.exit_code == 2
    assert "cannot read schedule file" in result.stderr


SUM = """
void total(int n, const double x[n], double y[restrict 1])
{
    for (int i = 0; i < n; i++)
        S: y[0] += x[i];
}
"""


def test_fast_math_lets_sums_be_reordered(polysched: Polysched, write_file: WriteFile) -> None:
    target = write_file("total.c", SUM)
    steps = ("--schedule", write_file("a.sched", "rfactor('S', 'i')"))
    refused = polysched("check", target, *steps)
    assert refused.exit_code == 2
    assert "must combine in the program's order" in refused.stderr
    result = polysched("check", target, *steps, "--fast-math")
    assert (result.exit_code, result.stderr) == (0, "")


def test_fast_math_is_for_c_files(polysched: Polysched, scale: str) -> None:
    result = polysched("check", f"{scale}:scale", "--fast-math")
    assert result.exit_code == 2
    assert "--fast-math is for C files; expected FILE.c, or order='any' in" in result.stderr


@pytest.mark.parametrize("command", ["check", "show", "compile -o x.o", "plot -o x.png"])
def test_threads_belong_to_the_autoscheduler(
    polysched: Polysched, scale: str, command: str, tmp_path: Path
) -> None:
    name, *options = command.split()
    written = [str(tmp_path / one) if one.startswith("x.") else one for one in options]
    result = polysched(name, f"{scale}:scale", *written, "--threads", "2")
    assert result.exit_code == 2
    assert "--threads is the number of threads that --auto may use" in result.stderr

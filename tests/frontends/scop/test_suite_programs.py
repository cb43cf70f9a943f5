"""Whole programs, rewritten with automatic schedules, print what gcc's programs print.

Five of the thirty programs are tried by default, all with more effort.
"""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from tests.frontends.scop.calling import needs_gcc
from tests.frontends.scop.suite_programs import KERNELS, program_text
from tests.support.effort import sampled

FLAGS = ("-w", "-O1", "-ffp-contract=off")
GROUPS = 6


def test_there_are_thirty() -> None:
    assert len(KERNELS) == 30


@needs_gcc
@pytest.mark.parametrize("group", sampled(range(GROUPS), GROUPS))
def test_programs_print_the_same(group: int, tmp_path: Path) -> None:
    names = list(KERNELS)[group::GROUPS]
    source, rewritten, code = (tmp_path / name for name in ("a.c", "rewritten.c", "kernels.o"))
    source.write_text(program_text(names, has_regions=group != 1))
    # Many seconds: a busy machine must not decide whether a kernel is scheduled.
    options = ["--auto", "--seconds", "600", "--object", str(code)]
    arguments = [str(source), "-o", str(rewritten), *options]
    result = CliRunner().invoke(main, ["rewrite", *arguments])
    assert result.exit_code == 0, result.output
    called = [name for name in names if f"kernel_{name} calls polysched_a_k" in result.output]
    left = result.output.count("no schedule is predicted to make this faster")
    assert len(called) + left == len(names)
    assert len(called) >= left
    expected = _printed([source], tmp_path / "gcc")
    assert _printed([rewritten, code], tmp_path / "polysched") == expected
    assert expected.count("\n") == 6 * len(names)


def _printed(files: list[Path], program: Path) -> str:
    command = ["gcc", *FLAGS, *map(str, files), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout

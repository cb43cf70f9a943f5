import json
from pathlib import Path

import pytest

from tests.cli.conftest import Polysched
from tests.frontends.scop.calling import needs_gcc

QUICK = ["bench", "programs", "--rounds", "1", "--seconds", "0.1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "twice.c").write_text(
        "/* sizes: n=50 */\n"
        "void twice(int n, const double x[restrict n], double y[restrict n])\n"
        "{\n    for (int i = 0; i < n; i++)\n        y[i] = 2 * x[i];\n}\n"
    )
    return tmp_path


@needs_gcc
def test_a_table_with_means(polysched: Polysched, folder: Path) -> None:
    result = polysched(*QUICK, "--folder", str(folder))
    assert result.exit_code == 0
    heading = next(line for line in result.stdout.splitlines() if "program" in line)
    assert heading.split()[:5] == ["program", "unscheduled", "gcc", "clang", "polly"]
    assert "twice" in result.stdout
    assert "geometric" in result.stdout


@needs_gcc
def test_json_lines(polysched: Polysched, folder: Path) -> None:
    result = polysched(*QUICK, "--folder", str(folder), "--json", "--fast-math", "--cc", "cc=gcc")
    assert result.exit_code == 0
    first, *others = [json.loads(line) for line in result.stdout.splitlines()]
    assert (first["program"], first["sizes"]) == ("twice", "n=50")
    assert {"unscheduled", "gcc", "cc"} <= set(first["ratios"])
    means = {one["over"]: one["geometric_mean"] for one in others if "geometric_mean" in one}
    assert means["best compiler"] == pytest.approx(first["best compiler"])
    flags = [one["architecture"] for one in others if one.get("name") == "cc"]
    assert all(text.startswith("-O3 -march=native -ffast-math") for text in flags)


def test_an_unknown_program(polysched: Polysched, folder: Path) -> None:
    result = polysched(*QUICK, "--folder", str(folder), "twic")
    assert result.exit_code == 2
    assert "no program 'twic' in" in " ".join(result.stderr.split())

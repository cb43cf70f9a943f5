"""``polysched optimize`` and ``--auto``."""

import json
from pathlib import Path

from tests.cli.conftest import Polysched


def test_it_writes_a_schedule_that_can_be_read_back(
    polysched: Polysched, scale: str, tmp_path: Path
) -> None:
    file = tmp_path / "scale.sched"
    result = polysched("optimize", f"{scale}:scale", "-o", str(file))
    assert result.exit_code == 0, result.output
    assert "decisions:" in result.output
    assert "vectorize" in file.read_text()
    assert file.read_text().startswith("# scale for ")
    again = polysched("check", f"{scale}:scale", "--schedule", str(file))
    assert again.exit_code == 0
    assert "legal" in again.output


def test_the_report_as_json(polysched: Polysched, scale: str) -> None:
    result = polysched("optimize", f"{scale}:scale", "--json", "--machine", "haswell-avx2")
    record = json.loads(result.output)
    assert record["kernel"] == "scale"
    assert record["cycles"] < record["written"]
    assert [loop["kind"] for loop in record["loops"]][-1] == "vector"


def test_an_unwritable_file(polysched: Polysched, scale: str, tmp_path: Path) -> None:
    result = polysched("optimize", f"{scale}:scale", "-o", str(tmp_path / "no" / "x.sched"))
    assert result.exit_code == 2
    assert "cannot write" in result.output


def test_auto(polysched: Polysched, scale: str) -> None:
    shown = polysched("show", f"{scale}:scale", "--stage", "schedule", "--auto")
    assert "vectorize" in shown.output
    run = polysched("run", f"{scale}:scale", "--size", "n=100", "--auto")
    assert run.exit_code == 0
    assert "hint" not in run.output


def test_the_hint(polysched: Polysched, scale: str) -> None:
    run = polysched("run", f"{scale}:scale", "--size", "n=100")
    assert run.stderr == "hint: there is no schedule; --auto finds and proves one\n"
    scheduled = polysched("run", f"{scale}:fast", "--size", "n=100")
    assert scheduled.stderr == ""


def test_nothing_is_faster(polysched: Polysched, tmp_path: Path) -> None:
    file = tmp_path / "energy.c"
    file.write_text(
        "double energy(int n, const double *x)\n"
        "{ double e = 0; for (int i = 0; i < n; i++) e += x[i] * x[i]; return e; }\n"
    )
    result = polysched("show", str(file), "--stage", "schedule", "--auto")
    assert result.stderr == (
        "hint: no schedule is predicted to make this faster; a sum keeps its order, which "
        "--fast-math frees\n"
    )

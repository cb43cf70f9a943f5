import json
from pathlib import Path

import pytest
from click.testing import Result

from tests.cli.conftest import Polysched


def verdict(result: Result) -> object:
    return json.loads(result.stdout)["verdict"]


def test_legal(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal")
    assert result.exit_code == 0
    assert result.stdout.startswith(f"legal: {kernels}:legal; proved: 1 statement, ")
    assert result.stderr == ""


def test_illegal_shows_the_witness(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:illegal")
    assert result.exit_code == 1
    assert result.stdout.startswith("illegal: reorder(order=('j', 'i')) breaks a flow dependence")
    assert result.stdout.count("illegal:") == 1
    assert "S[1,1] writes A[1,1]" in result.stdout
    assert f"({kernels}:" in result.stdout.splitlines()[0]


def test_illegal_shows_what_would_mend_it(polysched: Polysched, kernels: str) -> None:
    lines = polysched("check", f"{kernels}:illegal").stdout.splitlines()
    assert lines[-1] == "try: skew(loop='j', by='i') before reorder(order=('j', 'i'))"
    assert "try:" not in polysched("check", f"{kernels}:legal").stdout


def test_json_holds_the_repairs(polysched: Polysched, kernels: str) -> None:
    illegal = json.loads(polysched("check", f"{kernels}:illegal", "--json").stdout)
    assert [repair["steps"] for repair in illegal["repairs"]] == [
        ["skew(loop='j', by='i')", "reorder(order=('j', 'i'))"]
    ]
    legal = json.loads(polysched("check", f"{kernels}:legal", "--json").stdout)
    assert legal["repairs"] == []


def test_unknown(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:legal", "--quota", "1")
    assert result.exit_code == 3
    assert result.stdout.startswith("unknown: isl needs more than the 1 operations")


@pytest.mark.parametrize(
    ("name", "quota", "expected", "code"),
    [("legal", "0", "legal", 0), ("illegal", "0", "illegal", 1), ("legal", "1", "unknown", 3)],
)
def test_json(
    polysched: Polysched, kernels: str, name: str, quota: str, expected: str, code: int
) -> None:
    result = polysched("check", f"{kernels}:{name}", "--json", "--quota", quota)
    assert (verdict(result), result.exit_code) == (expected, code)


def test_bad_input_leaves_the_output_empty(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:none", "--json")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr.startswith(f"error: {kernels} has no 'none'")


def test_colours_only_on_a_terminal(polysched: Polysched, kernels: str) -> None:
    coloured = polysched("check", f"{kernels}:legal", FORCE_COLOR="1", TERM="xterm")
    assert "\x1b[1;32mlegal: " in coloured.stdout
    plain = polysched("check", f"{kernels}:legal", FORCE_COLOR="1", TERM="xterm", NO_COLOR="1")
    assert "32m" not in plain.stdout


def test_long_lines_are_not_wrapped(polysched: Polysched, kernels: str) -> None:
    result = polysched("check", f"{kernels}:illegal", COLUMNS="40")
    assert result.stdout == polysched("check", f"{kernels}:illegal").stdout


CONDITIONAL = """
import polysched as ps

build = ps.KernelBuilder("shifted")
n, k = build.parameter("n", minimum=1), build.parameter("k", minimum=0)
a = build.inout("a", ps.i32, (n + k,))
with build.loops(i=n) as i:
    a[i + k] = a[i] + 1
schedule = ps.Schedule(build.kernel()).reverse("i")
"""


def test_the_condition_on_the_parameters(polysched: Polysched, tmp_path: Path) -> None:
    file = tmp_path / "conditional.py"
    file.write_text(CONDITIONAL, encoding="utf-8")
    result = polysched("check", str(file))
    assert result.exit_code == 1
    assert "legal if and only if k == 0 or n <= k\n" in result.stdout
    record = json.loads(polysched("check", str(file), "--json").stdout)
    assert record["condition"] == "k == 0 or n <= k"

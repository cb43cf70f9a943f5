import json

import click
import pytest

from polysched.bench.bandwidth import Moved
from polysched.bench.race import Withdrawn
from polysched.bench.speedup import Speedup
from polysched.cli.bandwidth import end_race, print_bandwidths
from polysched.cli.failures import ExitCode

RESULT = Moved("work", "polysched", 0.5, 10.0, 20.0, 3, 0.0)
FASTER = Speedup("work", "numpy", 2.0)


def test_records_are_a_line_each(capsys: pytest.CaptureFixture[str]) -> None:
    print_bandwidths([RESULT], [FASTER], as_records=True)
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert first["fraction_of_copy"] == 0.5
    assert second == {
        "work": "work",
        "over": "numpy",
        "ratio": 2.0,
        "own": "polysched",
        "is_bound": False,
    }


def test_text_is_a_table_and_lines(capsys: pytest.CaptureFixture[str]) -> None:
    print_bandwidths([RESULT], [FASTER], as_records=False)
    printed = capsys.readouterr().out
    assert "| work | polysched | 0.500 |" in printed
    assert "work: 2.00 times numpy" in printed


@pytest.mark.parametrize(("name", "fails"), [("polysched", True), ("numpy", False)])
def test_only_a_wrong_result_of_our_own_is_a_failure(
    name: str, fails: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    context = click.Context(click.Command("bench"))
    withdrawn = [Withdrawn("work", name, "wrong output", is_wrong=True)]
    if fails:
        with pytest.raises(click.exceptions.Exit) as ended:
            end_race(context, withdrawn, lambda one: one == "polysched")
        assert ended.value.exit_code == ExitCode.WRONG
    else:
        end_race(context, withdrawn, lambda one: one == "polysched")
    assert f"not raced: {name} (work): wrong output" in capsys.readouterr().err

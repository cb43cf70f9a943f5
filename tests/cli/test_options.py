from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from polysched.cli import options
from polysched.cli.options import (
    NumbersType,
    Racing,
    machine_option,
    output_option,
    race_options,
    racing_machine_option,
)
from polysched.errors import BenchError, MachineError
from polysched.machine.description import Machine
from polysched.machine.presets import PRESETS


@click.command()
@output_option("Where to write.")
@machine_option
def command(file: Path, machine: Machine | None) -> None:
    click.echo(f"{file.name} for {machine and machine.name}")


def test_options() -> None:
    run = CliRunner().invoke
    assert run(command, ["-o", "a.o", "--machine", "zen4"]).output == "a.o for znver4\n"
    assert run(command, ["--output", "a.o"]).output == "a.o for None\n"
    assert "Missing option '-o' / '--output'" in run(command, []).output
    assert "Where to write." in run(command, ["--help"]).output


def test_an_option_is_no_file() -> None:
    result = CliRunner().invoke(command, ["-o", "--json"])
    assert result.exit_code == 2
    assert "'--json' is an option; expected the name of a file before it" in result.output


def test_a_machine_that_is_none() -> None:
    error = CliRunner().invoke(command, ["-o", "a.o", "--machine", "zen6"]).exception
    assert isinstance(error, MachineError)
    assert str(error).startswith("unknown machine 'zen6'; did you mean 'zen5' or 'zen4'?")


@click.command()
@race_options("each size")
def race(racing: Racing) -> None:
    click.echo(f"{racing.rounds} rounds in {racing.seconds} s")


@click.command()
@racing_machine_option
def measuring(machine: Machine | None) -> None:
    click.echo(f"on {machine and machine.name}")


def test_a_race_needs_a_machine_that_runs_here(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(options, "detect_host", lambda: PRESETS["haswell-avx2"])
    run = CliRunner().invoke
    assert run(measuring, []).output == "on None\n"
    assert run(measuring, ["--machine", "generic"]).output == "on generic\n"
    error = run(measuring, ["--machine", "skylake-avx512"]).exception
    assert isinstance(error, MachineError)
    assert "'skylake-avx512' cannot run on this host, which lacks avx512bw" in str(error)
    assert "a name (see 'polysched machine --help')" in " ".join(
        run(measuring, ["--help"]).output.split()
    )


def test_options_of_races() -> None:
    run = CliRunner().invoke
    assert run(race, []).output == "15 rounds in 5.0 s\n"
    assert run(race, ["--rounds", "3", "--seconds", "0.5"]).output == "3 rounds in 0.5 s\n"
    assert run(race, ["--rounds", "0"]).exit_code == 2
    assert isinstance(run(race, ["--machine", "zen6"]).exception, MachineError)
    assert "Time limit of the measurements of each size; if" in run(race, ["--help"]).output


def ordered(low: int, high: int) -> tuple[int, int]:
    if low > high:
        raise BenchError(f"{low} is above {high}")
    return low, high


@click.command()
@click.option("--range", "ranges", multiple=True, type=NumbersType("LOWxHIGH", "2x3", ordered))
def ranges_of(ranges: tuple[tuple[int, int], ...]) -> None:
    click.echo(ranges)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [
        (["--range", "1x2", "--range", "-3x40"], "((1, 2), (-3, 40))"),
        (["--range", "1"], "'1' is not two numbers LOWxHIGH, such as 2x3"),
        (["--range", "1x2x3"], "'1x2x3' is not two numbers LOWxHIGH"),
        (["--range", "1xa"], "'1xa' is not two numbers LOWxHIGH"),
        (["--range", "2x1"], "Invalid value for '--range': 2 is above 1"),
    ],
)
def test_numbers_in_one_word(arguments: list[str], printed: str) -> None:
    assert printed in CliRunner().invoke(ranges_of, arguments).output

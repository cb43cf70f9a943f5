from pathlib import Path

import click
from click.testing import CliRunner

from polysched.cli.options import machine_option, output_option, race_options


@click.command()
@output_option("Where to write.")
@machine_option
def command(file: Path, machine: str | None) -> None:
    click.echo(f"{file.name} for {machine}")


def test_options() -> None:
    run = CliRunner().invoke
    assert run(command, ["-o", "a.o", "--machine", "zen4"]).output == "a.o for zen4\n"
    assert run(command, ["--output", "a.o"]).output == "a.o for None\n"
    assert "Missing option '-o' / '--output'" in run(command, []).output
    assert "Where to write." in run(command, ["--help"]).output


@click.command()
@race_options("each size")
def racing(rounds: int, seconds: float) -> None:
    click.echo(f"{rounds} rounds in {seconds} s")


def test_options_of_races() -> None:
    run = CliRunner().invoke
    assert run(racing, []).output == "15 rounds in 5.0 s\n"
    assert run(racing, ["--rounds", "3", "--seconds", "0.5"]).output == "3 rounds in 0.5 s\n"
    assert run(racing, ["--rounds", "0"]).exit_code == 2
    assert "Budget of the timed part of each size." in run(racing, ["--help"]).output

from pathlib import Path

import click
from click.testing import CliRunner

from polysched.cli.options import machine_option, output_option


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

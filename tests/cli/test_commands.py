"""Commands are imported one by one, each when it is asked for."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from polysched.cli.commands import CommandsByName
from polysched.cli.main import main
from tests.cli.conftest import Polysched


def test_every_command_is_where_it_is_said_to_be() -> None:
    assert isinstance(main, CommandsByName)
    context = click.Context(main)
    names = main.list_commands(context)
    expected = "optimize check explain show plot run compile rewrite bench machine cache completion"
    assert names == expected.split()
    for name in names:
        command = main.get_command(context, name)
        assert command is not None
        assert command.name == name


def test_there_is_no_other_command() -> None:
    assert main.get_command(click.Context(main), "chekc") is None


def test_the_message_about_an_unknown_command_suggests_names() -> None:
    misspelled = CliRunner().invoke(main, ["chekc", "kernel.py"])
    assert misspelled.exit_code == 2
    assert "no command 'chekc'; did you mean 'check'" in misspelled.output
    other = CliRunner().invoke(main, ["zzz"]).output
    assert "no command 'zzz'; known are 'bench', 'cache', 'check'" in other


def test_a_command_does_not_import_the_others() -> None:
    source = (
        "import sys\n"
        "from polysched.cli.main import main\n"
        "main(['check', '--help'], standalone_mode=False)\n"
        "names = ('check', 'show', 'bench')\n"
        "print([name for name in names if 'polysched.cli.' + name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", source], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines()[-1] == "['check']"


def test_the_help_groups_commands_by_task() -> None:
    text = CliRunner().invoke(main, ["--help"]).output
    tasks = [line for line in text.splitlines() if line.endswith(":") and line[0].isupper()]
    assert tasks == [
        "Options:",
        "Find, prove and understand schedules:",
        "Run and ship:",
        "Measure:",
        "This machine:",
    ]


@pytest.mark.parametrize("arguments", [("--help",), ("bench", "--help")])
def test_summaries_of_commands_are_whole(polysched: Polysched, arguments: tuple[str, ...]) -> None:
    _, _, listed = polysched(*arguments).stdout.partition("Options:")
    assert "This machine:" in listed or "Commands:" in listed
    assert "..." not in listed

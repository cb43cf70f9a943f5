"""Commands that are imported when they are asked for: each would else pay for all the others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from polysched.cli.failures import ReportingGroup


@dataclass(frozen=True)
class Invocation:
    """How the command was called; the root context's ``obj``.

    ``is_process``: the command line is the process's own, so the process may be replaced by another
    that runs it. Otherwise a Python program has called the command.
    """

    is_process: bool


class CommandsByName(ReportingGroup):
    """A group whose commands stand in modules of their own.

    Args:
        places: of each command ``"module:attribute"``, in the order in which they are listed.
    """

    def __init__(self, *given: Any, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(*given, **options)
        self.places = places

    def main(self, *given: Any, **options: Any) -> Any:
        """Run the command with the arguments given, or else with those of the process."""
        is_process = not given and options.get("args") is None
        return super().main(*given, obj=Invocation(is_process), **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, none of them imported."""
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, imported; None if there is none."""
        if cmd_name not in self.places:
            return None
        module, _, attribute = self.places[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

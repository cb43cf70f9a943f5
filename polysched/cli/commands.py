"""Command group that imports a subcommand's module only when that subcommand runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from polysched.cli.failures import ReportingGroup


@dataclass(frozen=True)
class Invocation:
    """How the command was called; stored as ``obj`` of the root context.

    Attributes:
        is_process: whether the process was started for this command, so that it may be replaced by
            another process that runs it. If False, a Python program has called the command.
    """

    is_process: bool


class CommandsByName(ReportingGroup):
    """A command group whose subcommands are imported on demand.

    Args:
        places: ``"module:attribute"`` of each subcommand, in the order in which they are listed.
    """

    def __init__(self, *arguments: Any, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.places = places

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command on the given arguments; without any, on those of the process."""
        is_process = not arguments and options.get("args") is None
        return super().main(*arguments, obj=Invocation(is_process), **options)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the subcommands, without importing them."""
        return list(self.places)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a subcommand; None if there is no such name."""
        if cmd_name not in self.places:
            return None
        module, _, attribute = self.places[cmd_name].partition(":")
        command = getattr(import_module(module), attribute)
        assert isinstance(command, click.Command)
        return command

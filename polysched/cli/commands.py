"""Command groups that import a subcommand's module only when that subcommand runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from polysched.cli.failures import ReportingGroup
from polysched.errors import suggestion


@dataclass(frozen=True)
class Invocation:
    """How the command was called; stored as ``obj`` of the root context.

    Attributes:
        is_process: whether the process was started for this command, so that it may be replaced by
            another process that runs it. If False, a Python program has called the command.
    """

    is_process: bool


LONGEST_SUMMARY = 200
"""Most characters of a command's summary in the list of commands, which wraps it."""


class LazyGroup(click.Group):
    """A command group whose subcommands are imported on demand.

    Args:
        places: for each task, ``"module:attribute"`` of each of its subcommands, in the order in
            which they are listed.
    """

    def __init__(
        self, *arguments: Any, places: Mapping[str, Mapping[str, str]], **options: Any
    ) -> None:
        super().__init__(*arguments, **options)
        self.tasks = places
        self.places = {name: place for group in places.values() for name, place in group.items()}

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the subcommands with their whole summaries, grouped by task."""
        longest = max(map(len, self.places))
        for task, group in self.tasks.items():
            with formatter.section(task):
                commands = [(name, self.get_command(ctx, name)) for name in group]
                formatter.write_dl(
                    (name.ljust(longest), command.get_short_help_str(LONGEST_SUMMARY))
                    for name, command in commands
                    if command
                )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the subcommand; the message about an unknown one suggests the nearest names."""
        names = self.list_commands(ctx)
        if args and not args[0].startswith("-") and args[0] not in names:
            ctx.fail(f"no command '{args[0]}'{suggestion(args[0], names)}")
        return super().resolve_command(ctx, args)

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


class CommandsByName(LazyGroup, ReportingGroup):
    """The group of the process: it reports failures, and tells commands whether it is a process."""

    def main(self, *arguments: Any, **options: Any) -> Any:
        """Run the command on the given arguments; without any, on those of the process."""
        is_process = not arguments and options.get("args") is None
        return super().main(*arguments, obj=Invocation(is_process), **options)

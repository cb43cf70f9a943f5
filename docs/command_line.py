"""The reference of the command line, made of its own help."""

from __future__ import annotations

from collections.abc import Iterator

import click

from polysched.cli.main import main


def command_line_page() -> str:
    """Return the page: a section for every command, with its help as the terminal shows it."""
    parts = ["# Command line\n"]
    for path, command in _commands((), main):
        name = " ".join(("polysched", *path))
        context = click.Context(command, info_name=name, terminal_width=100, max_content_width=100)
        parts.append(f"## `{name}`\n\n```text\n{command.get_help(context)}\n```\n")
    return "\n".join(parts)


def _commands(
    path: tuple[str, ...], command: click.Command
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield a command and those below it."""
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            if below is not None:
                yield from _commands((*path, name), below)

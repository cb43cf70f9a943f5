"""Commands that are imported when they are asked for: each would else pay for all the others."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any

import click

from polysched.cli.failures import ReportingGroup


class CommandsByName(ReportingGroup):
    """A group whose commands stand in modules of their own.

    Args:
        places: of each command ``"module:attribute"``, in the order in which they are listed.
    """

    def __init__(self, *given: Any, places: Mapping[str, str], **options: Any) -> None:
        super().__init__(*given, **options)
        self.places = places

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

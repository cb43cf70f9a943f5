"""``polysched machine``: print the description of a machine."""

from __future__ import annotations

from dataclasses import fields

import click
from rich.table import Table

from polysched.cli.options import machine_option
from polysched.cli.terminal import output
from polysched.machine.description import Cache, Machine
from polysched.machine.files import to_toml
from polysched.machine.load import HOST, load_machine
from polysched.machine.presets import PRESETS


@click.command(
    "machine",
    epilog=f"\b\nMACHINE is '{HOST}', a .toml file, or one of:\n  {', '.join(PRESETS)}.",
)
@machine_option
@click.option("--toml", is_flag=True, help="Print a machine file, which --machine reads.")
def machine_command(machine: Machine | None, toml: bool) -> None:
    """Describe this machine or another: vectors, FMA units, caches, cores.

    \b
    polysched machine
    polysched machine --toml > mine.toml
    polysched machine --machine mine.toml
    """
    description = machine or load_machine()
    if toml:
        click.echo(to_toml(description), nl=False)
    else:
        output().print(_table(description), soft_wrap=False)


def _table(machine: Machine) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column()
    for field in fields(machine):
        value = getattr(machine, field.name)
        if field.name == "caches":
            for cache in value:
                table.add_row(f"L{cache.level} cache", _cache(cache))
        elif field.name == "costs":
            costs = {
                cost.name.replace("_", " "): getattr(value, cost.name) for cost in fields(value)
            }
            table.add_row(
                "costs", ", ".join(f"{name} {number:,}" for name, number in costs.items())
            )
        elif field.name == "features":
            table.add_row("features", " ".join(sorted(machine.enabled_features)))
        else:
            table.add_row(field.name.replace("_", " "), "none" if value is None else str(value))
    return table


def _cache(cache: Cache) -> str:
    return (
        f"{cache.bytes // 1024} KiB, {cache.associativity} ways, lines of {cache.line} bytes, "
        f"shared by {cache.shared_by}"
    )

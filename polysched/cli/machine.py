"""``polysched machine``: print the description of a machine, or measure its costs."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path

import click
from rich.table import Table

from polysched.bench.calibration import Calibration, calibrate
from polysched.cli.completion import machines
from polysched.cli.options import machine_option, read_machine
from polysched.cli.terminal import output, progress
from polysched.machine.description import Cache, Machine
from polysched.machine.files import save, to_toml
from polysched.machine.load import HOST, load_machine
from polysched.machine.presets import PRESETS


@click.command(
    "machine", epilog=f"\b\nMACHINE is '{HOST}', a .toml file, or one of:\n  {', '.join(PRESETS)}."
)
@click.argument(
    "named", metavar="[MACHINE]", required=False, callback=read_machine, shell_complete=machines
)
@machine_option
@click.option("--toml", is_flag=True, help="Print a machine file, which --machine reads.")
@click.option(
    "--calibrate",
    "is_measured",
    is_flag=True,
    help="Measure costs of the cost model on this host, in some 10 seconds, and compare them with "
    "those in use.",
)
@click.option(
    "-o",
    "--output",
    "file",
    metavar="FILE",
    type=click.Path(path_type=Path, dir_okay=False),
    help="Write a machine file, which --machine reads.",
)
def machine_command(
    named: Machine | None, machine: Machine | None, toml: bool, is_measured: bool, file: Path | None
) -> None:
    """Describe this machine or another: vectors, FMA units, caches, cores.

    Costs have defaults for all machines. Other programs on the machine make measured ones larger,
    so calibrate an idle machine.

    \b
    polysched machine
    polysched machine haswell-avx2
    polysched machine --calibrate -o mine.toml
    polysched optimize gemm.c --machine mine.toml
    """
    if named is not None and machine is not None:
        raise click.UsageError("the machine is given twice, with and without --machine")
    description = named or machine or load_machine()
    calibration = None
    if is_measured:
        with progress() as tell:
            calibration = calibrate(description, lambda name: tell(f"measuring {name}"))
    described = calibration.machine(description) if calibration else description
    if file is not None:
        save(described, file)
    if toml:
        click.echo(to_toml(described), nl=False)
    elif calibration is not None:
        output().print(_measured(calibration, description), soft_wrap=False)
    elif file is None:
        output().print(_table(description), soft_wrap=False)


def _measured(calibration: Calibration, machine: Machine) -> Table:
    table = Table(box=None, pad_edge=False)
    table.add_column("cost", no_wrap=True)
    for title in ("cycles in use", "measured", "measured / in use"):
        table.add_column(title, justify="right")
    for cost, used, cycles in calibration.rows(machine.costs):
        name = cost.replace("_", " ")
        table.add_row(name, f"{used:.2f}", f"{cycles:.2f}", f"{cycles / used:.2f}")
    return table


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

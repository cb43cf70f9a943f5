"""``polysched bench gallery``: the schedules of the gallery beside C compilers."""

from __future__ import annotations

import json
import shlex
import tempfile
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

import click

from polysched.bench.gallery import (
    OWN,
    PLAIN,
    Speedup,
    contestants,
    expected_results,
    geometric_means,
    prepared_calls,
    speedups,
)
from polysched.bench.gallery_code import CCompiler, Program, installed_compilers
from polysched.bench.gallery_works import WORKS
from polysched.bench.peers import PeerKernels
from polysched.bench.race import Outcome, Result, Withdrawn, race
from polysched.cli.bandwidth import end_race
from polysched.cli.options import Racing, race_options
from polysched.cli.peers import print_peers
from polysched.cli.terminal import progress
from polysched.errors import BenchError, suggestion
from polysched.frontends.scop import load_c
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter
from polysched.schedule.file import apply_file
from polysched.schedule.schedule import Schedule


def parsed_compilers(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[CCompiler, ...]:
    """The values of ``--cc NAME=COMMAND``.

    Raises:
        click.BadParameter: one is something else.
    """
    found = []
    for value in values:
        name, equals, command = value.partition("=")
        words = tuple(shlex.split(command))
        if not (name.isidentifier() and equals and words):
            message = f"'{value}' is not NAME=COMMAND, such as clang=/opt/llvm/bin/clang"
            raise click.BadParameter(message, context, parameter)
        found.append(CCompiler(name, words))
    return tuple(found)


@click.command("gallery")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_records", is_flag=True, help="Print one JSON object a line.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("examples/gallery"),
    show_default=True,
    help="Where the C files and their schedules are.",
)
@click.option(
    "--sizes",
    "kind",
    type=click.Choice(["large", "small"]),
    default="large",
    show_default=True,
    help="Beyond the second cache, or within the first ones.",
)
@click.option(
    "--cc",
    "more",
    multiple=True,
    callback=parsed_compilers,
    metavar="NAME=COMMAND",
    help="Another C compiler to race; may be repeated.",
)
@race_options("each program")
@click.pass_context
def gallery(
    context: click.Context,
    names: tuple[str, ...],
    as_records: bool,
    folder: Path,
    kind: str,
    more: tuple[CCompiler, ...],
    racing: Racing,
) -> None:
    """Race the gallery's schedules with C compilers, single thread.

    Each program NAME, by default all, is compiled by polysched, with its schedule and as it is
    written, and by gcc and clang, where they are found, with -O3 -march=native -ffast-math. As that
    lets C compilers, schedules may reorder sums. All work on the same memory, which is restored
    before each run; results have to agree with those of the program as written to 1e-9 of the
    largest (1e-4 in single precision). Every run stands between two bursts of the machine's peak.
    With --machine polysched's code is for another machine, whose instructions this one must have.

    \b
    polysched bench gallery
    polysched bench gallery gemm atax --seconds 2
    polysched bench gallery --cc zig='python -m ziglang cc' --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    compilers = (*installed_compilers(), *more)
    meter = PeakMeter(load_machine(), 64)
    withdrawn: list[Withdrawn] = []
    found: list[Speedup] = []
    peers: list[PeerKernels] = []
    with progress() as tell:
        for name in _chosen(folder, names):
            tell(f"{name}: compiling")
            outcome = _raced(load_program(folder, name), kind, compilers, meter, racing)
            ratios = speedups(name, outcome.results)
            if as_records:
                for record in (*map(asdict, outcome.results), *map(asdict, ratios)):
                    click.echo(json.dumps(record, allow_nan=False))
            else:
                click.echo(_line(outcome.results, ratios))
            found += ratios
            peers += outcome.peers
            withdrawn += outcome.withdrawn
    for over, mean in geometric_means(found).items():
        if as_records:
            click.echo(json.dumps({"over": over, "geometric_mean": mean}))
        else:
            click.echo(f"geometric mean: {mean:.2f} times {over}")
    print_peers(context, peers, as_records=as_records)
    end_race(context, withdrawn, lambda name: name in {OWN, PLAIN})


def _chosen(folder: Path, names: Sequence[str]) -> list[str]:
    """The programs asked for, all in the order of the alphabet without names.

    Raises:
        BenchError: there is no such folder or program.
    """
    there = sorted(path.stem for path in folder.glob("*.c") if path.stem in WORKS)
    if not there:
        raise BenchError(
            f"there is no gallery in '{folder}'; its C files are in the folder examples/gallery of "
            "polysched's repository, which --folder can name"
        )
    for name in names:
        if name not in there:
            raise BenchError(f"no program '{name}' in '{folder}'{suggestion(name, there)}")
    return list(names) or there


def load_program(folder: Path, name: str) -> Program:
    """A program of the gallery with its schedule.

    Raises:
        FrontendError: its text is no kernel.
        ScheduleError: its schedule does not fit.
    """
    source = folder / f"{name}.c"
    program = load_c(source)
    steps = source.with_suffix(".sched")
    free = Schedule(program.with_fast_math().kernel)
    schedule = apply_file(free, steps) if steps.exists() else None
    return Program(name, source, program.kernel, program.c_function(), schedule)


def _raced(
    program: Program,
    kind: str,
    compilers: Sequence[CCompiler],
    meter: PeakMeter,
    racing: Racing,
) -> Outcome:
    work = WORKS[program.name]
    sizes = work.sizes(kind)
    label = " ".join([program.name, *(f"{name}={size}" for name, size in sizes.items())])
    with tempfile.TemporaryDirectory() as made:
        calls = prepared_calls(program, sizes, work.inputs)
        expected = expected_results(calls, Path(made))
        return race(
            contestants(calls, expected, compilers, Path(made), racing.machine),
            kernel=label,
            flops=work.operations(**sizes),
            peak_burst=meter.burst,
            reference=expected.comparable(expected.arrays),
            rules=racing.rules(expected.tolerance),
        )


def _line(results: Sequence[Result], ratios: Sequence[Speedup]) -> str:
    """One program: how fast polysched is, and how many times as fast as the others."""
    if not ratios:
        return f"{results[0].kernel if results else '?'}: nothing to compare"
    (own,) = (one for one in results if one.contestant == ratios[0].own)
    beside = ", ".join(f"{one.ratio:.2f} times {one.over}" for one in ratios)
    return f"{own.kernel}: {own.fraction_of_peak:.3f} of peak; {beside}"

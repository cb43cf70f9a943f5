"""``polysched bench gallery``: race the gallery's scheduled C programs with C compilers."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Sequence
from pathlib import Path

import click

from polysched.bench.c_programs.code import CCompiler, Program, installed_compilers
from polysched.bench.c_programs.gallery import (
    ONE_THREAD,
    contestants,
    expected_results,
    prepared_calls,
    speedups,
)
from polysched.bench.c_programs.works import WORKS
from polysched.bench.measure.race import Outcome, Result, Work, joined, race
from polysched.bench.measure.speedup import Speedup, geometric_means
from polysched.cli.benchmarks.races import end_races
from polysched.cli.options import Racing, race_options
from polysched.cli.terminal import print_record, progress
from polysched.errors import BenchError, suggestion
from polysched.frontends.scop import load_c
from polysched.machine.load import load_machine
from polysched.machine.peak import PeakMeter
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule


def _parsed_compilers(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[CCompiler, ...]:
    """Parse the values of ``--cc NAME=COMMAND``.

    Raises:
        click.BadParameter: a value has another form.
    """
    compilers = []
    for value in values:
        name, equals, command = value.partition("=")
        words = tuple(shlex.split(command))
        if not (name.isidentifier() and equals and words):
            message = f"'{value}' is not NAME=COMMAND, such as clang=/opt/llvm/bin/clang"
            raise click.BadParameter(message, context, parameter)
        compilers.append(CCompiler(name, words))
    return tuple(compilers)


compilers_option = click.option(
    "--cc",
    "more",
    multiple=True,
    callback=_parsed_compilers,
    metavar="NAME=COMMAND",
    help="Another C compiler to race; may be repeated.",
)


@click.command("gallery")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON object on each line.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=Path("examples/gallery"),
    show_default=True,
    help="The folder of the C files and their schedules.",
)
@click.option(
    "--sizes",
    "kind",
    type=click.Choice(["large", "small"]),
    default="large",
    show_default=True,
    help="Arrays larger than the L2 cache, or within the L1 and L2 caches.",
)
@compilers_option
@click.option(
    "--auto",
    "threads",
    type=int,
    flag_value=1,
    help="Also race the autoscheduler's schedule, which it finds without the gallery's.",
)
@click.option(
    "--threads",
    "threads",
    type=click.IntRange(min=1),
    help="Like --auto, and race its schedule for so many threads with the one for one thread.",
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
    threads: int | None,
    racing: Racing,
) -> None:
    """Race the gallery's scheduled programs with C compilers on one thread.

    Each program NAME (by default all) is compiled by polysched, with and without its schedule, and
    by gcc and clang, if installed, with -O3 -march=native -ffast-math. Like that option for C
    compilers, polysched here lets schedules reorder sums. All contestants run on the same memory,
    which is restored before each run. Their results must agree with those of the unscheduled
    program within 1e-9 of the largest value (1e-4 in single precision). Before and after every run
    the machine's peak is measured. With --machine, polysched's code is compiled for another
    machine; this machine must have all instructions of that one.

    \b
    polysched bench gallery
    polysched bench gallery gemm atax --seconds 2
    polysched bench gallery --threads 2
    polysched bench gallery --cc zig='python -m ziglang cc' --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    compilers = (*installed_compilers(), *more)
    meter = PeakMeter(load_machine(), 64)
    outcomes: list[Outcome] = []
    all_ratios: list[Speedup] = []
    with progress() as tell:
        for name in _chosen(folder, names):
            tell(f"{name}: compiling")
            program = load_program(folder, name)
            outcome = _raced(program, kind, compilers, meter, racing, threads)
            ratios = speedups(name, outcome.results)
            if as_records:
                for record in (*outcome.results, *ratios):
                    print_record(record)
            else:
                click.echo(_line(outcome.results, ratios))
            all_ratios += ratios
            outcomes.append(outcome)
    for over, mean in geometric_means(all_ratios).items():
        if as_records:
            print_record({"over": over, "geometric_mean": mean})
        else:
            click.echo(f"geometric mean: {mean:.2f} times {over}")
    end_races(context, joined(outcomes), as_records=as_records)


def _chosen(folder: Path, names: Sequence[str]) -> list[str]:
    """The selected programs; without names all of them, in alphabetical order.

    Raises:
        BenchError: there is no such folder or program.
    """
    available = sorted(path.stem for path in folder.glob("*.c") if path.stem in WORKS)
    if not available:
        raise BenchError(
            f"there is no gallery in '{folder}'; its C files are in the folder examples/gallery of "
            "polysched's repository: pass that folder with --folder"
        )
    for name in names:
        if name not in available:
            raise BenchError(f"no program '{name}' in '{folder}'{suggestion(name, available)}")
    return list(names) or available


def load_program(folder: Path, name: str) -> Program:
    """Load a program of the gallery with its schedule.

    Raises:
        FrontendError: its source cannot be read as a kernel.
        ScheduleError: a step of its schedule cannot be applied.
    """
    source = folder / f"{name}.c"
    program = load_c(source)
    steps = source.with_suffix(".sched")
    free = program.with_fast_math().kernel
    schedule = apply_file(Schedule(free), steps) if steps.exists() else None
    return Program(name, source, program.kernel, free, program.c_function(), schedule)


def _raced(
    program: Program,
    kind: str,
    compilers: Sequence[CCompiler],
    meter: PeakMeter,
    racing: Racing,
    threads: int | None,
) -> Outcome:
    work = WORKS[program.name]
    sizes = work.sizes(kind)
    label = " ".join([program.name, *(f"{name}={size}" for name, size in sizes.items())])
    with tempfile.TemporaryDirectory() as folder:
        calls = prepared_calls(program, sizes, work.inputs)
        expected = expected_results(calls, Path(folder))
        racers = contestants(
            calls, expected, compilers, Path(folder), racing.machine, threads=threads
        )
        right, operations = expected.comparable(expected.arrays), work.operations(**sizes)
        made = Work(label, operations, racers, right, meter.burst, expected.tolerance)
        return race(made, racing.rules)


def _line(results: Sequence[Result], ratios: Sequence[Speedup]) -> str:
    """The result of one program: polysched's fraction of peak, and its speedups."""
    if not ratios:
        return f"{results[0].kernel if results else '?'}: nothing to compare"
    (own,) = (result for result in results if result.contestant == ratios[0].own)
    over = ", ".join(
        f"threads {ratio.ratio:.2f} times {ratio.over}"
        if ratio.over == ONE_THREAD
        else f"{ratio.ratio:.2f} times {ratio.over}"
        for ratio in ratios
    )
    return f"{own.kernel}: {own.fraction_of_peak:.3f} of peak; {over}"

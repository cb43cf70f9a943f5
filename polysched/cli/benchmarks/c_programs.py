"""``polysched bench gallery`` and ``programs``: race C functions with C compilers."""

from __future__ import annotations

import shlex
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click

from polysched.bench.c_programs.code import (
    C_FLAGS,
    STRICT_FLAGS,
    CCompiler,
    installed_compilers,
    peer_compilers,
)
from polysched.bench.c_programs.programs import PROGRAMS, Program, gallery_programs, programs_of
from polysched.bench.c_programs.race import AUTO, ONE_THREAD, PLAIN, Contest, Raced, raced
from polysched.bench.measure.race import joined
from polysched.bench.measure.speedup import OWN, Speedup, geometric_means
from polysched.cli.benchmarks.races import end_races
from polysched.cli.options import Racing, race_options
from polysched.cli.terminal import print_record, print_table, progress
from polysched.machine.load import as_machine, load_machine
from polysched.machine.peak import PeakMeter

BEST = "best compiler"


def _parsed_compilers(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> tuple[CCompiler, ...]:
    """Parse the values of ``--cc NAME=COMMAND``."""
    compilers = []
    for value in values:
        name, equals, command = value.partition("=")
        words = tuple(shlex.split(command))
        if not (name.isidentifier() and equals and words):
            message = f"'{value}' is not NAME=COMMAND, such as clang=/opt/llvm/bin/clang"
            raise click.BadParameter(message, context, parameter)
        compilers.append(CCompiler(name, words))
    return tuple(compilers)


def _c_race_options(folder: Path, text: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add the arguments and options of both commands."""
    options = (
        click.argument("names", nargs=-1, metavar="[NAME]..."),
        click.option(
            "--json", "as_records", is_flag=True, help="Print a JSON object on each line."
        ),
        click.option("--folder", type=click.Path(path_type=Path), default=folder, help=text),
        click.option(
            "--cc",
            "more",
            multiple=True,
            callback=_parsed_compilers,
            metavar="NAME=COMMAND",
            help="Another C compiler to race; may be repeated.",
        ),
    )

    def with_options(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return with_options


@click.command("gallery")
@_c_race_options(
    Path("examples/gallery"),
    "The folder of the C files and their schedules.  [default: examples/gallery]",
)
@click.option(
    "--sizes",
    "kind",
    type=click.Choice(["large", "small"]),
    default="large",
    show_default=True,
    help="Arrays larger than the L2 cache, or within the L1 and L2 caches.",
)
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
    more: tuple[CCompiler, ...],
    kind: str,
    threads: int | None,
    racing: Racing,
) -> None:
    """Race the gallery's scheduled programs with C compilers on one thread.

    Each program NAME (by default all) is compiled by polysched, with and without its schedule, and
    by gcc and clang, if installed, with -O3 -march=native -ffast-math. Like that option for C
    compilers, polysched here lets schedules reorder sums. All contestants run on the same memory,
    which is restored before each run. Their results must agree with those of the first compiler
    without optimizations within 1e-9 of the largest value (1e-4 in single precision). Before and
    after every run the machine's peak is measured. With --machine, polysched's code is compiled for
    another machine; this machine must have all instructions of that one.

    \b
    polysched bench gallery
    polysched bench gallery gemm atax --seconds 2
    polysched bench gallery --threads 2
    polysched bench gallery --cc zig='python -m ziglang cc' --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    contest = _contest((*installed_compilers(), *more), racing, threads, knows_sizes=False)
    races: list[Raced] = []
    speedups: list[Speedup] = []
    for race in _races(gallery_programs(folder, names, kind), contest, racing):
        ratios = race.speedups(OWN, PLAIN)
        if as_records:
            for record in (*race.outcome.results, *ratios):
                print_record(record)
        else:
            click.echo(_line(race, ratios))
        races.append(race)
        speedups += ratios
    means = geometric_means(speedups)
    if not as_records:
        for over, mean in means.items():
            click.echo(f"geometric mean: {mean:.2f} times {over}")
    _end(context, races, means, as_records=as_records)


@click.command("programs")
@_c_race_options(
    PROGRAMS,
    "A folder of C files with one function each; by default the programs that are shipped.",
)
@click.option("--fast-math", is_flag=True, help="Sums in any order, as -ffast-math allows.")
@race_options("each program")
@click.pass_context
def programs(
    context: click.Context,
    names: tuple[str, ...],
    as_records: bool,
    folder: Path,
    more: tuple[CCompiler, ...],
    fast_math: bool,
    racing: Racing,
) -> None:
    """Race C functions, scheduled by the autoscheduler and as written, with C compilers.

    Each file NAME.c of the folder (by default all) holds one function. A comment in it such as
    'sizes: n=1000, m=800' gives the sizes of the race. The compilers are gcc, clang and clang with
    Polly, with -O3 -march=native, and -ffast-math if sums may be reordered. All contestants run in
    turn on the same memory, on one thread; results are compared with gcc's without optimizations.
    The table shows how many times as fast the autoscheduler's program is.

    \b
    polysched bench programs
    polysched bench programs softmax lcs --fast-math --seconds 2
    polysched bench programs --folder my_kernels --json > results.jsonl

    \b
    Exit codes: 0 success, 1 one of polysched's own results is wrong, 2 bad input.
    """
    flags = C_FLAGS if fast_math else STRICT_FLAGS
    compilers = (*peer_compilers(flags), *(CCompiler(c.name, c.command, flags) for c in more))
    contest = _contest(compilers, racing)
    others = [PLAIN, *(compiler.name for compiler in compilers), BEST]
    races: list[Raced] = []
    rows: list[tuple[str, ...]] = []
    speedups: list[Speedup] = []
    for race in _races(programs_of(folder, names, fast_math=fast_math), contest, racing):
        ratios = race.speedups(AUTO)
        over = {ratio.over: ratio.ratio for ratio in ratios}
        best = min((ratio for name, ratio in over.items() if name != PLAIN), default=None)
        if best is not None:
            ratios = (*ratios, Speedup(race.program.name, BEST, best, AUTO))
        if as_records:
            sizes = str(race.program).partition(" ")[2]
            head = {"program": race.program.name, "sizes": sizes, "ratios": over}
            print_record({**head, "seconds": race.seconds.get(AUTO, 0.0), BEST: best})
        cells = (
            "-" if ratio is None else f"{ratio:.2f}"
            for ratio in map({**over, BEST: best}.get, others)
        )
        rows.append((race.program.name, *cells, f"{race.seconds.get(AUTO, 0.0):.2f}"))
        races.append(race)
        speedups += ratios
    means = geometric_means(speedups)
    if not as_records:
        cells = (f"{means[name]:.2f}" if name in means else "-" for name in others)
        rows.append(("geometric mean", *cells, ""))
        print_table(("program", *others, "seconds"), rows)
    _end(context, races, means, as_records=as_records)


def _contest(
    compilers: Sequence[CCompiler],
    racing: Racing,
    threads: int | None = 1,
    *,
    knows_sizes: bool = True,
) -> Contest:
    burst = PeakMeter(load_machine(), 64).burst
    return Contest(compilers, as_machine(racing.machine), burst, threads, knows_sizes)


def _races(programs: Iterable[Program], contest: Contest, racing: Racing) -> Iterator[Raced]:
    with progress() as tell:
        for program in programs:
            tell(f"{program.name}: compiling")
            with tempfile.TemporaryDirectory() as code:
                yield raced(program, contest, Path(code), racing.rules)


def _end(
    context: click.Context, races: Sequence[Raced], means: dict[str, float], *, as_records: bool
) -> None:
    if as_records:
        for over, mean in means.items():
            print_record({"over": over, "geometric_mean": mean})
    end_races(context, joined(race.outcome for race in races), as_records=as_records)


def _line(race: Raced, ratios: Sequence[Speedup]) -> str:
    """The result of one program: polysched's fraction of peak, and its speedups."""
    if not ratios:
        return f"{race.program}: nothing to compare"
    (own,) = (result for result in race.outcome.results if result.contestant == ratios[0].own)
    over = ", ".join(
        f"threads {ratio.ratio:.2f} times {ratio.over}"
        if ratio.over == ONE_THREAD
        else f"{ratio.ratio:.2f} times {ratio.over}"
        for ratio in ratios
    )
    return f"{own.kernel}: {own.fraction_of_peak:.3f} of peak; {over}"

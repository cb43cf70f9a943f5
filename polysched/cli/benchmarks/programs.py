"""``polysched bench programs``: race C functions with C compilers, without any schedule."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from polysched.bench.c_programs.code import C_FLAGS, STRICT_FLAGS, CCompiler, peer_compilers
from polysched.bench.c_programs.functions import PROGRAMS, Comparison, Contest, programs_of, raced
from polysched.bench.c_programs.gallery import AUTO, PLAIN
from polysched.bench.measure.race import Outcome, joined
from polysched.bench.measure.speedup import Speedup, geometric_means
from polysched.cli.benchmarks.gallery import compilers_option
from polysched.cli.benchmarks.races import end_races
from polysched.cli.options import Racing, race_options
from polysched.cli.terminal import print_record, print_table, progress
from polysched.machine.load import as_machine, load_machine
from polysched.machine.peak import PeakMeter

BEST = "best compiler"


@click.command("programs")
@click.argument("names", nargs=-1, metavar="[NAME]...")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON object on each line.")
@click.option(
    "--folder",
    type=click.Path(path_type=Path),
    default=PROGRAMS,
    help="A folder of C files with one function each; by default the programs that are shipped.",
)
@click.option("--fast-math", is_flag=True, help="Sums in any order, as -ffast-math allows.")
@compilers_option
@race_options("each program")
@click.pass_context
def programs(
    context: click.Context,
    names: tuple[str, ...],
    as_records: bool,
    folder: Path,
    fast_math: bool,
    more: tuple[CCompiler, ...],
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
    meter = PeakMeter(load_machine(), 64)
    contest = Contest(compilers, fast_math, as_machine(racing.machine), meter.burst)
    outcomes: list[Outcome] = []
    comparisons: list[Comparison] = []
    with progress() as tell:
        for program, sizes in programs_of(folder, names):
            tell(f"{program.name}: compiling")
            with tempfile.TemporaryDirectory() as code:
                outcome, comparison = raced(program, sizes, contest, Path(code), racing.rules)
            if as_records:
                print_record({**asdict(comparison), BEST: comparison.over_best_compiler})
            comparisons.append(comparison)
            outcomes.append(outcome)
    means = geometric_means(_speedups(comparisons))
    if as_records:
        for over, mean in means.items():
            print_record({"over": over, "geometric_mean": mean})
    else:
        others = [PLAIN, *(compiler.name for compiler in compilers)]
        rows = _rows(comparisons, means, others)
        print_table(("program", *others, BEST, "seconds"), rows)
    end_races(context, joined(outcomes), as_records=as_records)


def _speedups(comparisons: Sequence[Comparison]) -> list[Speedup]:
    return [
        Speedup(comparison.program, over, ratio, AUTO)
        for comparison in comparisons
        for over, ratio in (*comparison.ratios.items(), (BEST, comparison.over_best_compiler))
        if ratio is not None
    ]


def _rows(
    comparisons: Sequence[Comparison], means: dict[str, float], others: Sequence[str]
) -> Iterator[tuple[str, ...]]:
    for comparison in comparisons:
        ratios = [comparison.ratios.get(name) for name in others]
        cells = map(_number, (*ratios, comparison.over_best_compiler))
        yield (comparison.program, *cells, f"{comparison.seconds:.2f}")
    yield ("geometric mean", *(_number(means.get(name)) for name in (*others, BEST)), "")


def _number(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}"

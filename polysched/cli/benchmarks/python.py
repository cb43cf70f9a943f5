"""``polysched bench python``: race ``ps.jit`` with numba."""

from __future__ import annotations

import os
from collections.abc import Sequence

import click

from polysched.bench.measure.speedup import geometric_mean
from polysched.bench.python_race import NAMES, PythonResult, Refused, numba_compiler, race_function
from polysched.cli.terminal import print_record, print_table, progress
from polysched.runtime.cache import ENVIRONMENT_VARIABLE, OFF


@click.command("python")
@click.argument("names", nargs=-1, type=click.Choice(NAMES), metavar="[NAME]...")
@click.option("--json", "as_records", is_flag=True, help="Print a JSON line for each function.")
@click.option(
    "--math",
    type=click.Choice(["fast", "strict", "both"]),
    default="both",
    show_default=True,
    help="fastmath=True on both sides, on neither, or both races.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=1.0,
    show_default=True,
    help="Least time of each race.",
)
@click.pass_context
def python(
    context: click.Context, names: tuple[str, ...], as_records: bool, math: str, seconds: float
) -> None:
    """Race ps.jit with numba on one thread, on functions in numpy style and in loop style.

    Both compile the same source; of a function that has a form with loops too, numba's faster form
    counts. The functions run in turn, on fresh copies of their arguments. The command prints
    medians: of numba's time divided by polysched's in the same round, and of both times. Times are
    the thread's processor time, so that other processes count less. The first call of ps.jit
    compiles without cached code. Results must agree.

    \b
    polysched bench python
    polysched bench python softmax harris --math fast --seconds 3 --json

    \b
    Exit codes: 0 success, 1 a function is refused or its result differs, 2 bad input.
    """
    os.environ[ENVIRONMENT_VARIABLE] = OFF
    failed = False
    for fastmath in {"fast": (True,), "strict": (False,), "both": (True, False)}[math]:
        compiler = numba_compiler(fastmath=fastmath)
        results: list[PythonResult | Refused] = []
        with progress() as tell:
            for name in names or NAMES:
                tell(name)
                results.append(
                    race_function(name, fastmath=fastmath, seconds=seconds, compiler=compiler)
                )
                if as_records:
                    print_record(results[-1])
        if not as_records:
            _print(results, fastmath=fastmath)
        failed = failed or any(isinstance(result, Refused) for result in results)
    if failed:
        context.exit(1)


def _print(results: Sequence[PythonResult | Refused], *, fastmath: bool) -> None:
    raced = [result for result in results if isinstance(result, PythonResult)]
    print_table(
        ("function", "times numba", "call", "numba", "first call"),
        (
            (
                race.function,
                f"{race.ratio:.2f}",
                f"{race.microseconds:.1f} µs",
                f"{race.numba_microseconds:.1f} µs",
                f"{race.first_seconds:.2f} s",
            )
            for race in raced
        ),
        title=f"fastmath={fastmath}",
    )
    for refused in results:
        if isinstance(refused, Refused):
            click.echo(f"{refused.function}: {refused.reason}")
    if raced:
        mean = geometric_mean(result.ratio for result in raced)
        click.echo(f"geometric mean: {mean:.2f} times numba")

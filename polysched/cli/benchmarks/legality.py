"""``polysched bench legality``: test the checker on random schedules, and time it."""

from __future__ import annotations

from collections.abc import Iterator

import click

from polysched.bench.legality import DEFAULT_PAIRS, LegalityResult, measure_legality
from polysched.cli.failures import ExitCode
from polysched.cli.options import racing_machine_option
from polysched.cli.terminal import print_error, print_json, print_table, progress
from polysched.fuzz.campaign import Plan
from polysched.fuzz.report import lines
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host


@click.command("legality")
@click.option("--json", "as_record", is_flag=True, help="Print one JSON object.")
@click.option(
    "--pairs",
    type=click.IntRange(min=1),
    default=DEFAULT_PAIRS,
    show_default=True,
    help="Number of random pairs of a kernel and a schedule.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option(
    "--jobs", type=click.IntRange(min=1), help="Number of processes; by default all usable cores."
)
@racing_machine_option
@click.pass_context
def legality(
    context: click.Context,
    as_record: bool,
    pairs: int,
    seed: int,
    jobs: int | None,
    machine: Machine | None,
) -> None:
    """Test the legality checker on random schedules, and time it on real schedules.

    The verdicts on random schedules of random kernels are compared with enumerating all instances,
    with interpreting the loops, and with running machine code: 2,000 pairs take some two minutes on
    two cores. Then the checks of the full schedules of a convolution and of a matmul are timed, and
    the check of a schedule that is too deep to decide, which must end as unknown when its time is
    over. With --machine, the machine code is generated for another machine; verdicts do not depend
    on the machine.

    \b
    polysched bench legality
    polysched bench legality --pairs 100000 --seed 1 --json

    \b
    Exit codes: 0 success, 1 a verdict or a result was wrong, 2 bad input.
    """
    plan = Plan(seed, jobs or detect_host().cores_usable, pairs=pairs, machine=machine)
    with progress() as tell:
        result = measure_legality(plan, progress=tell)
    if as_record:
        print_json(result.as_record())
    else:
        for line in lines(result.outcome):
            click.echo(line)
        print_table(("schedule", "steps", "CPU", "wall", "runs", "verdict"), _checks_rows(result))
    defects = result.outcome.explored.found
    if defects:
        seeds = ", ".join(str(seed) for seed in sorted({defect.seed for defect in defects}))
        print_error(
            f"wrong at seed {seeds}; this is a defect of polysched: "
            f"python -m polysched.fuzz --only --seed {defects[0].seed} shows it"
        )
        context.exit(ExitCode.WRONG)


def _checks_rows(result: LegalityResult) -> Iterator[tuple[str, ...]]:
    for check in (*result.checks, result.hostile):
        times = (f"{seconds * 1e3:.1f} ms" for seconds in (check.cpu_seconds, check.wall_seconds))
        yield (check.what, str(check.steps), *times, str(check.runs), check.verdict)

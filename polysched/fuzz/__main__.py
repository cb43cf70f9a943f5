"""``python -m polysched.fuzz``: run the fuzzer from the command line."""

from __future__ import annotations

import json
import sys

import click

from polysched.fuzz.automatic import explore_automatic
from polysched.fuzz.campaign import Plan, run
from polysched.fuzz.exploring import Case, Found, Judges, explore
from polysched.fuzz.generate.python_text import script
from polysched.fuzz.judge.judgment import Mode
from polysched.fuzz.report import lines, record, safe_reproducer
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine

MOST_SHRUNK = 5
"""Most failures to shrink and print."""

MODES = {"order": Mode.ORDER, "run": Mode.RUN, "machine": Mode.MACHINE}


@click.command()
@click.option("--seconds", type=click.FloatRange(min=0), help="Wall time in seconds.")
@click.option("--pairs", type=click.IntRange(min=1), help="How many schedules to judge.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; by default the usable cores.")
@click.option(
    "--only", is_flag=True, help="Run the given seed only, in this process, and print each case."
)
@click.option("--mode", type=click.Choice(list(MODES)), help="Judge all schedules in this mode.")
@click.option(
    "--auto", "automatic", is_flag=True, help="Judge the autoscheduler's schedules, one a kernel."
)
@click.option("--json", "as_record", is_flag=True, help="Print the counts as JSON.")
def main(
    seconds: float | None,
    pairs: int | None,
    seed: int,
    jobs: int | None,
    only: bool,
    mode: str | None,
    automatic: bool,
    as_record: bool,
) -> None:
    """Judge random schedules of random kernels by the checker and by independent judges.

    Schedules that only reorder are judged by enumerating all pairs of instances. Others are judged
    by interpreting their loops, some by running their machine code. Failures are shrunk and printed
    as Python scripts; the exit code is then 1.
    """
    only_mode = None if mode is None else MODES[mode]
    if only and automatic:
        failures = explore_automatic(seed, Judges(load_machine())).found
    elif only:
        failures = explore(seed, Judges(load_machine()), _announce, only=only_mode).found
    else:
        limit = 60.0 if seconds is None and pairs is None else seconds
        workers = jobs or detect_host().cores_usable
        plan = Plan(seed, workers, limit, pairs, mode=only_mode, automatic=automatic)
        outcome = run(plan, on_finding=_tell)
        failures = outcome.explored.found
        click.echo(json.dumps(record(outcome)) if as_record else "\n".join(lines(outcome)))
    different = {(failure.seed, failure.finding): failure for failure in reversed(failures)}
    for failure in list(reversed(different.values()))[:MOST_SHRUNK]:
        click.echo(f"\n{safe_reproducer(failure)}", nl=False)
    sys.exit(1 if failures else 0)


def _tell(failure: Found) -> None:
    """Print a failure when it happens; the shrunk case is printed at the end."""
    click.echo(f"seed {failure.seed}: {failure.finding.value}: {failure.detail}", err=True)


def _announce(case: Case) -> None:
    """Print a case before it is judged: if the process dies, the last printed case is the cause."""
    click.echo(script(case.sketch, case.steps, comment=case.mode.value), err=True)


if __name__ == "__main__":
    main()

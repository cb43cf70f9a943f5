"""``python -m polysched.fuzz``: random kernels and schedules, for as long as wanted."""

from __future__ import annotations

import json
import sys

import click

from polysched.fuzz.campaign import Plan, run
from polysched.fuzz.exploring import Case, Found, Judges, explore
from polysched.fuzz.judgment import Mode
from polysched.fuzz.python_text import script
from polysched.fuzz.report import lines, record, safe_reproducer
from polysched.machine.detect import detect_host
from polysched.machine.load import load_machine

MOST_SHRUNK = 5
"""Findings that are shrunk and printed."""

MODES = {"order": Mode.ORDER, "run": Mode.RUN, "machine": Mode.MACHINE}


@click.command()
@click.option("--seconds", type=click.FloatRange(min=0), help="How long to run.")
@click.option("--pairs", type=click.IntRange(min=1), help="How many schedules to judge.")
@click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")
@click.option("--jobs", type=click.IntRange(min=1), help="Processes; by default the usable cores.")
@click.option("--only", is_flag=True, help="Run that one seed, in this process, telling each case.")
@click.option("--mode", type=click.Choice(list(MODES)), help="Judge all in this one way.")
@click.option("--json", "as_record", is_flag=True, help="Print the counts as JSON.")
def main(
    seconds: float | None,
    pairs: int | None,
    seed: int,
    jobs: int | None,
    only: bool,
    mode: str | None,
    as_record: bool,
) -> None:
    """Judge random schedules of random kernels, by the checker and by judges that do without it.

    Schedules that only reorder are judged by enumerating all instances, both ways; others by
    running their loops, with values and with the sources of the values; some as machine code.
    Whatever is wrong is shrunk and printed as a Python script; the exit code then is 1.
    """
    way = None if mode is None else MODES[mode]
    if only:
        found = explore(seed, Judges(load_machine()), _announce, only=way).found
    else:
        limit = 60.0 if seconds is None and pairs is None else seconds
        plan = Plan(seed, jobs or detect_host().cores_usable, limit, pairs, mode=way)
        outcome = run(plan, on_finding=_tell)
        found = outcome.explored.found
        click.echo(json.dumps(record(outcome)) if as_record else "\n".join(lines(outcome)))
    different = {(one.seed, one.finding): one for one in reversed(found)}
    for one in list(reversed(different.values()))[:MOST_SHRUNK]:
        click.echo(f"\n{safe_reproducer(one)}", nl=False)
    sys.exit(1 if found else 0)


def _tell(found: Found) -> None:
    """Say at once that something is wrong; the shrunk case comes in the end."""
    click.echo(f"seed {found.seed}: {found.finding.value}: {found.detail}", err=True)


def _announce(case: Case) -> None:
    """Print a case, so that the last one printed is what ends the process."""
    click.echo(script(case.sketch, case.steps, comment=case.mode.value), err=True)


if __name__ == "__main__":
    main()

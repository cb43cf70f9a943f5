"""``polysched check``: is the schedule legal, and if not, why not."""

from __future__ import annotations

import click

from polysched.cli.failures import VERDICT_CODES
from polysched.cli.target import load_target
from polysched.cli.terminal import print_condition, print_json, print_repairs, print_verdict
from polysched.ir.quota import DEFAULT_SECONDS
from polysched.legality.check import DEFAULT_QUOTA, check
from polysched.legality.condition import legality_condition
from polysched.legality.repairs import repairs
from polysched.legality.report import as_json, repair_as_json
from polysched.legality.verdict import VerdictKind


@click.command("check")
@click.argument("target")
@click.option("--json", "as_record", is_flag=True, help="Print the verdict as one JSON object.")
@click.option(
    "--quota",
    type=click.IntRange(min=0),
    default=DEFAULT_QUOTA,
    show_default=True,
    help="Operations that isl may spend; 0 sets no limit.",
)
@click.option(
    "--seconds",
    type=click.FloatRange(min=0),
    default=DEFAULT_SECONDS,
    show_default=True,
    help="Wall time that isl may take for the verdict; 0 sets no limit.",
)
@click.pass_context
def check_command(
    context: click.Context, target: str, as_record: bool, quota: int, seconds: float
) -> None:
    """Prove a schedule legal, or show two instances that it runs in the wrong order.

    If an illegal schedule is legal for some values of the parameters, it says for which. It then
    looks, for about a second, for small changes that make it legal. Each that it prints after
    "try:" has been proved legal.

    \b
    polysched check examples/conv2d_relu.py:tutorial
    polysched check my_kernel.py --json

    \b
    Exit codes: 0 legal, 1 illegal, 2 bad input, 3 unknown (the proof took too long).
    """
    found = load_target(target)
    verdict = check(found.schedule, quota=quota, seconds=seconds)
    illegal = verdict.kind is VerdictKind.ILLEGAL
    condition = (
        legality_condition(found.schedule, quota=quota, seconds=seconds) if illegal else None
    )
    mended = repairs(found.schedule, verdict=verdict)
    if as_record:
        record = {
            **as_json(verdict),
            "condition": None if condition is None else str(condition),
            "repairs": [repair_as_json(repair) for repair in mended],
        }
        print_json(record, indent=2)
    else:
        print_verdict(verdict, found.label)
        print_condition(condition)
        print_repairs(mended)
    context.exit(VERDICT_CODES[verdict.kind])

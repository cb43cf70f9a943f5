"""Findings and main loop of the fuzzers of the frontends."""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import click

from polysched.errors import FrontendError

COMMONEST = 12
"""Reasons for refusing that are printed."""


@dataclass
class Findings:
    """Outcomes of random functions.

    Attributes:
        counts: numbers of functions, of refusals and of other events.
        wrong: a report of each wrong function.
        refused: the reasons of refusals, with their number.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: Findings) -> None:
        """Add the findings of another run."""
        self.counts += other.counts
        self.wrong += other.wrong
        self.refused += other.refused

    def refuse(self, name: str, error: FrontendError, text: str) -> None:
        """Count a refusal; a refusal without a location in the source is wrong."""
        self.counts["refused"] += 1
        self.refused[error.reason] += 1
        if error.location is None:
            self.wrong.append(f"{name}: refused at no place: {error}\n{text}")


seconds_option = click.option(
    "--seconds", type=click.FloatRange(min=0), default=60.0, show_default=True
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")


def run(tried: Callable[[range], Findings], seconds: float, seed: int, *, batch: int = 1) -> None:
    """Try seeds until a time limit, print wrong functions, and exit: 1 if there are any.

    Args:
        tried: tries the functions of a range of seeds.
        batch: number of seeds to try together.
    """
    end = time.monotonic() + seconds
    total, following = Findings(), seed
    while following == seed or time.monotonic() < end:
        findings = tried(range(following, following + batch))
        for report in findings.wrong:
            click.echo(f"{report}\n{'-' * 80}")
        total.add(findings)
        following += batch
    click.echo(f"seeds {seed} to {following - 1}: {dict(total.counts)}, {len(total.wrong)} wrong")
    for reason, count in total.refused.most_common(COMMONEST):
        click.echo(f"{count:5} refused: {reason[:150]}")
    sys.exit(1 if total.wrong else 0)

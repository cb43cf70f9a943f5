"""What the fuzzers of the frontends share: what they find, and how long they run."""

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
    """What became of random functions.

    Attributes:
        counts: of functions, refusals and whatever else happened.
        wrong: a text for each function that is wrong.
        refused: the reasons, and how often.
    """

    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    refused: Counter[str] = field(default_factory=Counter)

    def add(self, other: Findings) -> None:
        """Join another one's."""
        self.counts += other.counts
        self.wrong += other.wrong
        self.refused += other.refused

    def refuse(self, name: str, error: FrontendError, text: str) -> None:
        """Count a refusal, which is wrong if it names no place in the text."""
        self.counts["refused"] += 1
        self.refused[error.reason] += 1
        if error.location is None:
            self.wrong.append(f"{name}: refused at no place: {error}\n{text}")


seconds_option = click.option(
    "--seconds", type=click.FloatRange(min=0), default=60.0, show_default=True
)
seed_option = click.option("--seed", type=int, default=0, show_default=True, help="The first seed.")


def run(tried: Callable[[range], Findings], seconds: float, seed: int, *, batch: int = 1) -> None:
    """Try seeds for a while, print what is wrong, and end the process: by 1 if anything is.

    Args:
        tried: what became of the functions of some seeds.
        batch: seeds that are tried together.
    """
    end = time.monotonic() + seconds
    total, following = Findings(), seed
    while following == seed or time.monotonic() < end:
        found = tried(range(following, following + batch))
        for one in found.wrong:
            click.echo(f"{one}\n{'-' * 80}")
        total.add(found)
        following += batch
    click.echo(f"seeds {seed} to {following - 1}: {dict(total.counts)}, {len(total.wrong)} wrong")
    for reason, count in total.refused.most_common(COMMONEST):
        click.echo(f"{count:5} refused: {reason[:150]}")
    sys.exit(1 if total.wrong else 0)

"""Hostile input never kills the process: every case ends in answers and errors of polysched.

Cases that use up their limits run with a two-hundredth of isl's default time limits. With the
default limits: ``python -m tests.errors.hostile NAME``.
"""

import subprocess
import sys

import pytest

from tests.errors.hostile import CASES
from tests.support.effort import sampled

SLOW = ("coefficients", "dimensions", "remainders", "splits", "tiles")
SHARE = "0.005"


def survives(*arguments: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "tests.errors.hostile", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert done.stdout.endswith("alive\n")


def test_quick_cases() -> None:
    """One process for all: the last case that it names is the one that ended it."""
    survives(*sorted(set(CASES) - set(SLOW)))


@pytest.mark.slow
def test_cases_that_use_up_their_limits() -> None:
    survives(*sampled(SLOW, 2), "--share", SHARE)

"""A campaign of random kernels, C and Python functions, judged without polysched's interpreter.

``python -m tests.campaign kernels --count 5000 --seed 0`` and ``python -m tests.campaign c``
(or ``c-parts``, ``python``, ``printed``). The
generators, the arithmetic and the judgment of orders are written apart from `polysched.fuzz` and
the strategies of the other tests, so that a mistake made there is not repeated here.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from importlib import import_module
from pathlib import Path

from tests.campaign.supervisor import campaign, work

_PARTS = {
    "kernels": "tests.campaign.kernels",
    "c": "tests.campaign.c_functions",
    "c-parts": "tests.campaign.c_parts",
    "printed": "tests.campaign.printed",
    "python": "tests.campaign.python_functions",
}


def main() -> int:
    """Run a campaign; the exit code is 1 if it found something."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("what", choices=[*_PARTS, "work"])
    parser.add_argument("part", nargs="?", choices=[*_PARTS])
    parser.add_argument("--count", type=int, default=100, help="kernels, or groups of C functions")
    parser.add_argument("--seed", type=int, default=0, help="the first seed")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--report", type=Path, help="a file for findings; counts go beside it")
    parser.add_argument("--by", type=int, default=1, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.what == "work":
        work(import_module(_PARTS[given.part]).judge_seed, given.seed, given.count, given.by)
        return 0
    with tempfile.TemporaryDirectory() as cache:
        os.environ["POLYSCHED_CACHE"] = cache
        total = campaign(given.what, given.seed, given.count, given.jobs, given.report)
    for name, count in sorted(total.counts.items()):
        print(f"{count:8}  {name}")
    print(f"{total.done} seeds, {total.findings} findings")
    return min(1, total.findings)


if __name__ == "__main__":
    sys.exit(main())

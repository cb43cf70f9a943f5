"""Configs of many uneven parts and tiny blocks are proved within the quota, and quickly."""

import pytest

from polysched.legality.check import check
from polysched.library.matmul.kernel.declare import Sizes, matmul_kernel
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.machine.load import load_machine

OPERATIONS = 1_000_000
"""What the check may ask of isl here: half of what it may by default."""

PARTS: list[tuple[Sizes, Config]] = [
    (
        Sizes(257, 200, 65, 3),
        Config(3, 4, 1, 40, None, 8, 1, 16, 4, "pnpmpkonokomikinim", parallel_batch=True),
    ),
    (
        Sizes(290, 282, 286, 3),
        Config(2, 2, 2, None, 60, 6, 2, 3, 1, "pnpmpkomokonimikin", pack_b=False),
    ),
    (
        Sizes(282, 143, 221),
        Config(7, 6, 8, 5, 62, 7, 2, 16, 2, "pnpkpmonomokinikim", pack_b=False),
    ),
    (
        Sizes(219, 98, 49),
        Config(4, 8, 7, 63, 69, None, 3, 3, 4, "pnpmpkonomokinikim", pack_a=True),
    ),
]


@pytest.mark.parametrize(("sizes", "config"), PARTS, ids=lambda one: type(one).__name__)
def test_uneven_parts(sizes: Sizes, config: Config) -> None:
    *size, batch = sizes
    kernel = matmul_kernel(*size, batch=batch if batch > 1 else None)
    schedule = matmul_schedule(kernel, config, load_machine("skylake-avx512"))
    # No limit of wall time: a busy machine must not decide.
    verdict = check(schedule, quota=OPERATIONS, seconds=0)
    assert verdict.is_legal, verdict.reason

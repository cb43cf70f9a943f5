"""Random C functions against gcc: loops of all kinds, conditions, subscripts, types, operators.

More of them: ``python -m tests.frontends.scop.fuzz --seconds 600 --seed 1``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.frontends.scop.calling import needs_gcc
from tests.frontends.scop.fuzz import try_seeds
from tests.support.effort import cases


@needs_gcc
@pytest.mark.parametrize(
    ("seeds", "scheduled"), [(range(cases(4)), False), (range(100, 100 + cases(2)), True)]
)
def test_random_functions_give_the_bits_of_gcc(
    seeds: range, scheduled: bool, tmp_path: Path
) -> None:
    found = try_seeds(seeds, tmp_path, scheduled=scheduled)
    assert not found.wrong, found.wrong[0]
    assert found.counts["refused"] <= len(seeds) / 2

"""Random kernels through the autoscheduler, judged without the checker; long runs:

``python -m polysched.fuzz --auto --seconds 600``.
"""

import pytest

from polysched.fuzz.automatic import explore_automatic
from polysched.fuzz.exploring import Judges
from polysched.machine.load import load_machine


@pytest.mark.parametrize("seed", [14, 221, 3])
def test_nothing_is_wrong(seed: int) -> None:
    """The first two seeds have partial sums and private buffers, which orders cannot judge."""
    explored = explore_automatic(seed, Judges(load_machine()))
    assert not explored.found
    assert explored.counts["kernels"] == 1

from itertools import count

import pytest

from polysched.bench.measure.bandwidth import copy_burst


def test_a_burst_counts_each_byte_once() -> None:
    ticks = count()
    burst = copy_burst(1000, clock=lambda: next(ticks) * 0.001)
    assert burst() == pytest.approx(1000 / 0.001)

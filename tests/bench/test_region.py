import math

from polysched.bench.region import region_seconds
from polysched.machine.load import load_machine


def test_a_region_has_a_finite_cost() -> None:
    assert math.isfinite(region_seconds(load_machine(), threads=2, rounds=1))

"""Random functions over all types: the compiled kernel computes what Python does, bit for bit.

More of them: ``python -m tests.frontends.python.fuzz --seconds 600 --seed 1``.
"""

from tests.frontends.python.fuzz import try_seeds
from tests.support.effort import cases


def test_random_functions_give_the_bits_of_python() -> None:
    found = try_seeds(range(cases(8)))
    assert not found.wrong, found.wrong[0]
    assert found.counts["calls"] > cases(8)

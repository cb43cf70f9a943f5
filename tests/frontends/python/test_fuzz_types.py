"""Operands of all kinds: the kernel computes what Python and numpy do, bit for bit, or is refused.

More of them: ``python -m tests.frontends.python.fuzz_types --seconds 600 --seed 1``.
"""

from tests.frontends.python.fuzz_types import try_seeds


def test_types_are_those_of_python_and_numpy() -> None:
    found = try_seeds(range(1, 64))
    assert not found.wrong, found.wrong[0]
    assert found.counts["elements"] > 200

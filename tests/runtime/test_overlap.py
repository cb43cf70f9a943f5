"""Which pairs of arguments are looked at."""

from polysched.runtime.overlap import OverlapCheck, overlaps
from polysched.runtime.signature import signature_of
from tests.support.strided import product


def test_pairs_with_one_that_is_written() -> None:
    found = overlaps(signature_of(product()), {"a": 40, "b": 24, "c": 60})
    assert found == (OverlapCheck(0, 2, 40, 60), OverlapCheck(1, 2, 24, 60))


def test_what_is_empty_or_left_out_overlaps_nothing() -> None:
    signature = signature_of(product())
    assert overlaps(signature, {"a": 0, "b": 24, "c": 60}) == (OverlapCheck(1, 2, 24, 60),)
    assert overlaps(signature, {"a": 40, "b": 24}) == ()

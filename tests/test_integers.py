from enum import IntEnum
from fractions import Fraction

import numpy as np
import pytest

from polysched.integers import as_integer


class Level(IntEnum):
    FIRST = 1


@pytest.mark.parametrize("given", [1, np.int64(1), np.uint8(1), Level.FIRST], ids=repr)
def test_integers(given: object) -> None:
    found = as_integer(given)
    assert found == 1
    assert type(found) is int


@pytest.mark.parametrize(
    "given", [True, np.True_, 1.0, np.float32(1), Fraction(1), "1", None, np.array(1)], ids=repr
)
def test_what_only_equals_an_integer(given: object) -> None:
    assert as_integer(given) is None

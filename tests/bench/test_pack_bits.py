import numpy as np
import pytest

from polysched.bench.pack_bits import (
    CODE,
    LLVM,
    OWN,
    BitcastWork,
    contestants,
    random_data,
)
from polysched.errors import BenchError
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.semantics.bit_packing import unpack_bits
from polysched.llvm.subbyte.conversion import Direction
from tests.support.effort import covering


@covering(1, direction=Direction, name=["u1", "u4", "i4", "i5", "i7"])
def test_all_contestants_give_the_same_bytes(name: str, direction: Direction) -> None:
    work = BitcastWork(direction, as_dtype(name), 512)
    data = random_data(work)
    racers = contestants(data, strategies=True)
    assert [racer.name for racer in racers[:4]] == [OWN, CODE, "numpy", LLVM]
    assert len({racer.name for racer in racers}) == len(racers) >= 6
    for racer in racers:
        runner = racer.prepare()
        runner.output().fill(0)
        runner.run()
        np.testing.assert_array_equal(runner.output(), data.expected, racer.name)


def test_what_goes_in_is_what_comes_out() -> None:
    i5 = as_dtype("i5")
    packed, wide = (random_data(BitcastWork(way, i5, 256)) for way in Direction)
    np.testing.assert_array_equal(packed.given, wide.expected)
    np.testing.assert_array_equal(packed.expected, wide.given)
    np.testing.assert_array_equal(unpack_bits(wide.given, i5, (256,)), wide.expected)


@pytest.mark.parametrize(
    ("name", "count", "message"),
    [
        ("u4", 100, "100 elements; expected a positive multiple of 256"),
        ("u4", 0, "0 elements"),
        ("u12", 256, "elements of u12; expected integers of 1 to 7 bits"),
        ("u8", 256, "elements of u8"),
    ],
)
def test_bad_works(name: str, count: int, message: str) -> None:
    with pytest.raises(BenchError, match=message):
        BitcastWork(Direction.PACK, as_dtype(name), count)

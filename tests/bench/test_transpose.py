import numpy as np
import pytest

from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.transpose import (
    SUITE,
    TYPES,
    TransposeSize,
    contestants,
    random_data,
)
from polysched.errors import BenchError


def test_sizes() -> None:
    size = TransposeSize(3, 5, "u16")
    assert (str(size), size.bytes) == ("transpose 3x5 u16", 30)
    assert len(set(SUITE)) == len(SUITE) == 10
    assert {one.type for one in SUITE} == set(TYPES)


@pytest.mark.parametrize(
    ("size", "message"),
    [
        ((0, 5), "transpose size: 0x5; expected at least one row and column"),
        ((3, 5, "f16"), "transpose of type 'f16'; expected one of u8, u16, f32, f64"),
    ],
)
def test_no_size(size: tuple[int, int], message: str) -> None:
    with pytest.raises(BenchError) as caught:
        TransposeSize(*size)
    assert str(caught.value) == message


@pytest.mark.parametrize("name", TYPES)
def test_contestants_are_right(name: str) -> None:
    data = random_data(TransposeSize(37, 20, name))
    assert data.ctypes.data % 128 == 0
    for contestant in contestants(data, 1):
        try:
            runner = contestant.prepare()
        except UnavailableError:
            assert contestant.name == "torch"
            continue
        runner.output().fill(0)
        runner.run()
        np.testing.assert_array_equal(runner.output(), data.T, contestant.name)

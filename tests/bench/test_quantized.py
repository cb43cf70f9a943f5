import numpy as np
import pytest

from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.quantized import (
    OWN,
    PEERS,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.errors import BenchError


def test_contestants_agree_on_the_same_weights() -> None:
    data = random_data(7, 300)
    assert (str(data), data.size) == ("gemv 7x300", 4 * 7 * 300)
    racers = contestants(data)
    assert tuple(racer.name for racer in racers) == (OWN, *PEERS)
    for racer in racers:
        try:
            runner = racer.prepare()
        except UnavailableError:
            assert racer.name in PEERS
            continue
        runner.output().fill(0)
        runner.run()
        assert np.abs(runner.output() - reference(data)).max() <= tolerance(data)


def test_weights_are_what_the_codes_stand_for() -> None:
    data = random_data(2, 130)
    expected = data.scale[1, 1] * (float(data.codes[1, 129]) - data.zero[1, 1])
    assert data.weights[1, 129] == np.float32(expected)


def test_nothing_to_multiply_is_refused() -> None:
    with pytest.raises(BenchError, match="gemv of 0x4; expected positive sizes"):
        random_data(0, 4)

import numpy as np
import pytest

from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.quantized import (
    EXACT,
    OWN,
    PEERS,
    LayerSize,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.errors import BenchError


@pytest.mark.parametrize("bits", [4, 8])
def test_contestants_agree_on_the_same_weights(bits: int) -> None:
    size = LayerSize(3, 200, 70, bits)
    assert size.flops == 2 * 3 * 200 * 70
    data = random_data(size)
    racers = contestants(data, 1)
    assert tuple(racer.name for racer in racers) == (OWN, EXACT, *PEERS)
    for racer in racers:
        try:
            runner = racer.prepare()
        except UnavailableError:
            assert racer.name in PEERS
            continue
        runner.run()
        assert np.abs(runner.output() - reference(data)).max() <= tolerance(data)


def test_other_sizes_are_refused() -> None:
    with pytest.raises(BenchError, match="layer 0x4x4 i4; expected positive sizes"):
        LayerSize(0, 4, 4)
    with pytest.raises(BenchError, match="weights of 4 or 8 bits"):
        LayerSize(1, 4, 4, 5)

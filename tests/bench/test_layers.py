"""Layers of known networks, and their right results."""

import numpy as np
import pytest

from polysched.bench.layers import (
    SUITE,
    WINOGRAD,
    Layer,
    contestants,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.speedup import OWN

SMALL = (
    Layer("small", 9, (3, 5), 7, 2),
    Layer("small", 8, (4, 6), 1, 2),
    Layer("small", 7, (4, 4), 3, depthwise=True),
    Layer("small", 7, (4, 6), 3),
)


def test_the_suite_has_twenty_layers_of_three_networks() -> None:
    assert len(set(map(str, SUITE))) == len(SUITE) == 20
    assert {layer.network for layer in SUITE} == {"ResNet-50", "MobileNet", "U-Net"}
    assert str(SUITE[0]) == "ResNet-50 7x7 3->64 224 stride 2"
    assert (SUITE[0].extent_out, SUITE[0].terms) == (112, 147)


@pytest.mark.parametrize("layer", SMALL, ids=str)
def test_all_contestants_are_right(layer: Layer) -> None:
    data = random_data(layer)
    expected = reference(data)
    assert expected.shape == (1, layer.extent_out, layer.extent_out, layer.channels[1])
    own, peer, *further = contestants(data)
    assert own.name == OWN
    assert [racer.name for racer in further] == [WINOGRAD] * layer.takes_winograd
    for racer in (own, *further):
        runner = racer.prepare()
        runner.run()
        np.testing.assert_allclose(runner.output(), expected, rtol=0, atol=tolerance(layer))
    pytest.importorskip("torch")
    runner = peer.prepare()
    runner.run()
    np.testing.assert_allclose(runner.output(), expected, rtol=0, atol=tolerance(layer))

import pytest

from polysched.bench.conv.peers import ROWS_PER_PANEL, convolution_peers, prepare_numpy
from polysched.bench.conv.work import ConvolutionSize, random_data, reference, tolerance
from polysched.bench.measure.contestant import Contestant
from polysched.bench.measure.race import max_abs_err

NAMES = ["numpy", "torch conv2d", "oneDNN fused", "Halide, tutorial"]


def test_the_peers_are_named_without_being_loaded() -> None:
    peers = convolution_peers(random_data(ConvolutionSize(1, 1, 1, 1, 1)))
    assert [peer.name for peer in peers] == NAMES
    assert all(isinstance(peer, Contestant) for peer in peers)


@pytest.mark.parametrize(
    "size",
    [
        ConvolutionSize(1, 1, 1, 1, 1),
        ConvolutionSize(2, ROWS_PER_PANEL, 5, 3, 7),
        ConvolutionSize(2, ROWS_PER_PANEL + 1, 4, 8, 16),
    ],
    ids=str,
)
def test_numpy_computes_the_convolution(size: ConvolutionSize) -> None:
    pytest.importorskip("threadpoolctl")
    data = random_data(size)
    runner = prepare_numpy(data)
    for _ in range(2):
        runner.run()
        assert max_abs_err(runner.output(), reference(data)) <= tolerance(size)

import sys
from importlib.util import find_spec

import pytest

from polysched.bench.conv.halide import prepare_halide
from polysched.bench.conv.work import ConvolutionSize, random_data, reference, tolerance
from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.measure.race import max_abs_err

needs_halide = pytest.mark.skipif(find_spec("halide") is None, reason="halide is not installed")


@needs_halide
@pytest.mark.parametrize(
    "size",
    [
        ConvolutionSize(2, 3, 10, 8, 128),
        # Neither columns nor channels are multiples of a tile, nor the reduction of its unrolling.
        ConvolutionSize(1, 2, 7, 3, 72),
    ],
    ids=str,
)
def test_halide_computes_the_convolution(size: ConvolutionSize) -> None:
    data = random_data(size)
    runner = prepare_halide(data)
    for _ in range(2):
        runner.run()
        assert max_abs_err(runner.output(), reference(data)) <= tolerance(size)


@needs_halide
@pytest.mark.parametrize("target_name", ["x86-64-linux", "x86-64-linux-avx-avx2-f16c-fma-sse41"])
def test_halide_without_avx512_takes_the_smaller_tile(target_name: str) -> None:
    data = random_data(ConvolutionSize(1, 2, 4, 3, 24))
    runner = prepare_halide(data, target_name)
    runner.run()
    assert max_abs_err(runner.output(), reference(data)) <= tolerance(data.size)


@needs_halide
@pytest.mark.parametrize(
    "size", [ConvolutionSize(1, 2, 2, 3, 128), ConvolutionSize(1, 2, 10, 3, 16)], ids=str
)
def test_less_than_a_tile_is_no_race(size: ConvolutionSize) -> None:
    expected = f"the convolution has {size.channels_out} and {size.columns}$"
    with pytest.raises(UnavailableError, match=expected):
        prepare_halide(random_data(size))


def test_without_halide_there_is_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "halide", None)
    with pytest.raises(UnavailableError, match="halide is not installed"):
        prepare_halide(random_data(ConvolutionSize(1, 1, 1, 1, 1)))

from pathlib import Path

import numpy as np
import pytest

from polysched.bench.conv.kernel import best, conv2d_relu, tutorial, unscheduled
from polysched.bench.conv.work import ConvolutionSize, random_data, reference, tolerance
from polysched.cli.targets.target import load_target
from polysched.ir.core.printing import format_kernel
from polysched.legality.check import check
from polysched.lower import compile
from tests.support.effort import covering

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "conv2d_relu.py"
SCHEDULES = (unscheduled, tutorial, best)


@pytest.mark.parametrize("make", SCHEDULES)
def test_example_has_the_same_schedule(make) -> None:
    example = load_target(f"{EXAMPLE}:{make.__name__}").schedule
    own = make(conv2d_relu())
    assert example.trace() == own.trace()
    assert format_kernel(example.kernel) == format_kernel(own.kernel)


@pytest.mark.parametrize("make", SCHEDULES)
def test_legal(make) -> None:
    assert check(make(conv2d_relu())).is_legal


@covering(1, make=SCHEDULES, extents=[(1, 2, 11, 3, 64), (2, 3, 30, 8, 128), (2, 2, 2, 2, 20)])
def test_right_beside_numpy(make, extents: tuple[int, int, int, int, int]) -> None:
    size = ConvolutionSize(*extents)
    data = random_data(size)
    output = compile(make(conv2d_relu(*extents)))(data.input, data.filter, data.bias)
    np.testing.assert_allclose(output, reference(data), rtol=0, atol=tolerance(size))

import numpy as np
import pytest

from polysched.bench.conv.work import (
    SCHEDULES,
    ConvolutionSize,
    kernel_of,
    own_contestants,
    prepare_own,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.contestant import Runner
from polysched.errors import ScheduleError
from polysched.machine.load import load_machine
from polysched.runtime.cache import ObjectCache

SIZE = ConvolutionSize(images=1, rows=3, columns=11, channels_in=4, channels_out=64)
NO_CACHE = ObjectCache(None)


def test_contestants_are_right_at_every_run() -> None:
    data = random_data(SIZE)
    expected = reference(data)
    contestants = own_contestants(data, load_machine(), NO_CACHE)
    assert [one.name for one in contestants] == list(SCHEDULES)
    for contestant in contestants:
        runner: Runner = contestant.prepare()
        for _ in range(2):
            runner.output().fill(np.nan)
            runner.run()
            np.testing.assert_allclose(runner.output(), expected, rtol=0, atol=tolerance(SIZE))


def test_kernel_has_the_sizes() -> None:
    kernel = kernel_of(SIZE)
    for name, shape in (("input", SIZE.input_shape), ("filter", SIZE.filter_shape)):
        assert tuple(map(int, map(str, kernel.arrays[name].shape))) == shape
    assert kernel.parameters == ()


def test_illegal_schedule_is_not_withdrawn() -> None:
    data = random_data(SIZE)
    with pytest.raises(ScheduleError, match="illegal"):
        prepare_own(
            data,
            lambda kernel: SCHEDULES["polysched (a) unscheduled"](kernel).vectorize("rx", 4),
            load_machine(),
            NO_CACHE,
        )

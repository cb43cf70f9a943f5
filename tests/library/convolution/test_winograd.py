"""Kernels of Winograd's convolution."""

import numpy as np
import pytest

from polysched.legality.check import check
from polysched.library.convolution.size import Epilogue
from polysched.library.convolution.winograd import WinogradCode, transformed_weights
from polysched.library.on_demand import compiled
from polysched.machine.load import load_machine
from tests.library.convolution.test_call import exact, numbers


def test_the_kernels_and_the_weights_make_a_convolution() -> None:
    machine = load_machine()
    x, weight = numbers(1, 6, 8, 3), numbers(3, 3, 3, 17)
    values = np.empty((16, 1, 2, 3, 3), np.float32)
    weights = np.pad(transformed_weights(weight), ((0, 0), (0, 0), (0, 15)))
    in_blocks = weights.reshape(16, 3, 2, 16).swapaxes(1, 2)
    compiled(WinogradCode(None, False).schedule(), machine)(x, values)
    stack = values.reshape(16, 1, 6, 3) @ in_blocks
    out = np.full((1, 3, 5, 17), np.nan, np.float32)  # of the last tiles, one row and column
    compiled(WinogradCode(Epilogue(), False, 16).schedule(), machine)(
        stack.reshape(16, 2, 1, 2, 3, 16), out
    )
    np.testing.assert_allclose(out, exact(x[:, :5, :7], weight), rtol=0, atol=4e-5)


@pytest.mark.parametrize("epilogue", [None, Epilogue(bias=True, residual=True, activation="relu")])
def test_schedules_for_threads_and_other_machines_are_legal(epilogue: Epilogue | None) -> None:
    code = WinogradCode(epilogue, True, 32)
    assert check(code.schedule("haswell-avx2")).is_legal
    assert code.kernel().name == code.name


def test_weights_that_are_not_finite_propagate() -> None:
    weight = np.zeros((3, 3, 1, 2), np.float32)
    weight[1, 1, 0] = np.inf, 3e38
    assert np.isfinite(transformed_weights(weight)[..., 1]).all()
    assert not np.isfinite(transformed_weights(weight)[5, 0, 0])

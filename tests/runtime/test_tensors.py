"""Calls with tensors of another library return its tensors."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.ir.expr.dtypes import bf16
from polysched.runtime.tensors import as_given, is_tensor, returns_tensors


class Tensor:
    """A tensor of a library that follows the array API standard."""

    def __init__(self, memory: np.ndarray[Any, Any]) -> None:
        self.memory = memory

    def __dlpack__(self, **options: object) -> object:
        return self.memory.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace(from_dlpack=lambda array: Tensor(np.from_dlpack(array)))


class Plain(Tensor):
    """A tensor whose library cannot import others."""

    def __array_namespace__(self) -> SimpleNamespace:
        return SimpleNamespace()


def test_what_a_tensor_is() -> None:
    assert is_tensor(Tensor(np.zeros(3)))
    for other in (np.zeros(3), np.float32(1), 3, None, [1, 2]):
        assert not is_tensor(other)


def test_memory_is_shared() -> None:
    array = np.arange(6.0)
    given = as_given((1, array, Tensor(np.zeros(3))), array)
    assert isinstance(given, Tensor)
    assert np.shares_memory(given.memory, array)


def test_without_a_tensor_results_stay() -> None:
    array = np.arange(6.0)
    assert as_given((array, 3), array) is array


def test_numbers_and_given_outputs_stay() -> None:
    tensor, array = Tensor(np.zeros(3)), np.arange(4.0)
    first, second, third, fourth = as_given((tensor,), (array, 3, np.float32(2), tensor))
    assert isinstance(first, Tensor)
    assert (second, third) == (3, 2)
    assert type(third) is np.float32
    assert fourth is tensor


def test_what_a_library_cannot_import_stays() -> None:
    array = np.arange(4.0)
    assert as_given((Plain(np.zeros(3)),), array) is array
    halves = np.zeros(3, bf16.numpy())
    assert as_given((Tensor(np.zeros(3)),), halves) is halves


def test_a_decorated_function() -> None:
    @returns_tensors
    def twice(x: Any, *, y: Any = None) -> Any:
        return np.ones(3)

    assert type(twice(np.zeros(3))) is np.ndarray
    assert type(twice(Tensor(np.zeros(3)))) is Tensor
    assert type(twice(2, y=Tensor(np.zeros(3)))) is Tensor


def rows(x, w):
    total = (x * x).sum(axis=1, keepdims=True)
    return x / total * w, x[::-1], 3


def test_calls_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x, w = torch.arange(12.0).reshape(3, 4) + 1, torch.ones(4)
    function = ps.jit(rows)
    for _ in range(3):  # a repeated call takes another way
        scaled, backward, number = function(x, w)
        assert isinstance(scaled, torch.Tensor)
        assert torch.equal(backward, x.flip(0))
        assert number == 3
    np.testing.assert_allclose(scaled.numpy(), rows(x.numpy(), w.numpy())[0], rtol=1e-6)
    for result in (
        *(ps.matmul(x, x.T), ps.matmul(x, x.T, alpha=2.0), ps.einsum("ij,kj->ik", x, x)),
        *(ps.transpose(x), ps.softmax(x), ps.softmax(x, axis=0), ps.layer_norm(x)),
        *(ps.attention(x, x, x), ps.conv1d(x[None], x[:, :, None])),
    ):
        assert isinstance(result, torch.Tensor)
    half = ps.matmul(x.bfloat16(), x.T.bfloat16())
    assert half.dtype is torch.bfloat16
    out = torch.empty(3, 3)
    assert ps.matmul(x, x.T, out=out) is out
    assert type(ps.matmul(x.numpy(), x.T.numpy())) is np.ndarray

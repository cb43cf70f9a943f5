"""Benchmark of matrix products: sizes, data, references and contestants."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import (
    Contestant,
    Runner,
    UnavailableError,
    optional_module,
    returning,
    warm,
)
from polysched.bench.measure.peer_libraries import blas_kernels, torch_kernels, torch_on
from polysched.bench.measure.speedup import OWN
from polysched.errors import BenchError
from polysched.ir.expr.dtypes import DType, as_dtype, bf16, f16
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.dispatch import dispatch
from polysched.library.matmul.dispatch.views import operand_of
from polysched.machine.description import Machine
from polysched.runtime.memory import aligned_zeros


@dataclass(frozen=True)
class MatmulSize:
    """Rows and columns of the product, and the terms of each sum."""

    m: int
    n: int
    k: int

    def __post_init__(self) -> None:
        """Refuse an empty product."""
        for name, extent in vars(self).items():
            if extent < 1:
                raise BenchError(f"matmul size: {name} must be at least 1, got {extent}")

    def __str__(self) -> str:
        return f"{self.m}x{self.n}x{self.k}"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each term."""
        return 2 * self.m * self.n * self.k


SUITE = tuple(
    MatmulSize(*extents)
    for extents in (
        (64, 64, 64),
        (128, 128, 128),
        (256, 256, 256),
        (512, 512, 512),
        (1024, 1024, 1024),
        (2048, 2048, 2048),
        (1000, 1000, 1000),
        (37, 1023, 511),
        (4096, 64, 64),
        (64, 64, 16384),
        (256, 512, 128),
        (1, 4096, 4096),
        (16, 4096, 4096),
    )
)
"""Small, large, odd, tall, long and thin products."""


@dataclass(frozen=True)
class MatmulData:
    """The operands, C-contiguous and 128-byte aligned: ``a[m, k]`` and ``b[k, n]``."""

    size: MatmulSize
    a: npt.NDArray[Any]
    b: npt.NDArray[Any]

    def output(self) -> npt.NDArray[Any]:
        """Allocate the product; products of small integers have elements of 32 bits."""
        dtype = np.dtype(np.int32) if _is_integer(self.a.dtype) else self.a.dtype
        return aligned_zeros((self.size.m, self.size.n), dtype)


def random_data(size: MatmulSize, dtype: npt.DTypeLike = np.float32) -> MatmulData:
    """Operands drawn evenly from [-1, 1), or from all integers of the type."""
    generator = np.random.default_rng(0)

    def uniform(*shape: int) -> npt.NDArray[Any]:
        array = aligned_zeros(shape, dtype)
        if _is_integer(dtype):
            ends = np.iinfo(np.dtype(dtype))
            array[:] = generator.integers(ends.min, ends.max, shape, array.dtype, endpoint=True)
        else:
            array[:] = generator.uniform(-1, 1, shape)
        return array

    return MatmulData(size, uniform(size.m, size.k), uniform(size.k, size.n))


def reference(data: MatmulData) -> npt.NDArray[Any]:
    """The right product, in float64."""
    return data.a.astype(np.float64) @ data.b.astype(np.float64)


def tolerance(size: MatmulSize, dtype: npt.DTypeLike = np.float32) -> float:
    """How far a product may be from the reference whatever the order of the sums.

    A sum of n products of magnitude at most 1 has a rounding error of at most about n * n / 2 units
    in the last place of 1 (N. Higham, "Accuracy and Stability of Numerical Algorithms", section
    3.1); the reference's own error is as large where the operands are float64. Sums of integers of
    8 bits have none. Those of half types are computed in float32, and rounded once more.
    """
    if _is_integer(dtype):
        return 0.0
    if as_dtype(np.dtype(dtype)).is_half:
        rounding = _HALF_UNITS[as_dtype(np.dtype(dtype))] * size.k
        return tolerance(size, np.float32) + rounding
    return (size.k + 1) ** 2 * float(np.finfo(np.dtype(dtype)).eps)


_HALF_UNITS: Mapping[DType, float] = MappingProxyType({bf16: 2.0**-9, f16: 2.0**-12})
"""The largest relative error of rounding to a half type, which has 8 or 11 digits."""


def _is_integer(dtype: npt.DTypeLike) -> bool:
    return np.issubdtype(np.dtype(dtype), np.integer)


def contestants(
    data: MatmulData, threads: int, machine: Machine | None = None
) -> tuple[Contestant, ...]:
    """polysched, numpy and torch, each called as users do, with an output to write into.

    For float32, oneDNN races too: torch computes floating-point products with MKL, which is held
    back on processors of other makers. For integers and half types, numpy does not race: it sums
    them in their own type, by plain loops.
    """
    own = Contestant(OWN, partial(prepare_own, data, threads, machine))
    numpy = Contestant("numpy", partial(prepare_numpy, data, threads), blas_kernels)
    torch = Contestant("torch", partial(prepare_torch, data, threads), torch_kernels)
    onednn = Contestant("oneDNN", partial(prepare_onednn, data, threads), torch_kernels)
    if _is_integer(data.a.dtype) or as_dtype(data.a.dtype).is_half:
        return own, torch
    return (own, numpy, torch, onednn) if data.a.dtype == np.float32 else (own, numpy, torch)


def prepare_own(data: MatmulData, threads: int, machine: Machine | None = None) -> Runner:
    """``ps.matmul``, planned and compiled by a first call; for another machine, its kernel."""
    out = data.output()
    if machine is not None:
        entry = dispatch(operand_of(data.a), operand_of(data.b), threads, machine=machine)
        return warm(Runner(partial(entry.run, data.a, data.b, out), lambda: out))
    run = partial(matmul, data.a, data.b, out, threads=threads, specialize=True)
    return warm(Runner(run, lambda: out))


def prepare_numpy(data: MatmulData, threads: int) -> Runner:
    """``numpy.matmul`` with the BLAS that it comes with.

    BLAS is limited to ``threads`` threads for the rest of the process.
    """
    controller: Any = optional_module("threadpoolctl").ThreadpoolController()
    controller.limit(limits=threads, user_api="blas")
    out = data.output()
    return warm(Runner(partial(np.matmul, data.a, data.b, out=out), lambda: out))


def prepare_torch(data: MatmulData, threads: int) -> Runner:
    """``torch.mm``, for integers ``torch._int_mm``."""
    torch = torch_on(threads)
    out = data.output()
    a, b, into = (_as_tensor(torch, array) for array in (data.a, data.b, out))
    multiply = torch._int_mm if _is_integer(data.a.dtype) else torch.mm
    return warm(Runner(partial(multiply, a, b, out=into), lambda: out))


def _as_tensor(torch: Any, array: npt.NDArray[Any]) -> Any:
    """A tensor of an array's memory; torch does not know numpy's bf16."""
    if as_dtype(array.dtype) != bf16:
        return torch.from_numpy(array)
    return torch.from_numpy(array.view(np.int16)).view(torch.bfloat16)


def prepare_onednn(data: MatmulData, threads: int) -> Runner:
    """oneDNN's inner product, the operator that ``torch.compile`` puts in for a frozen layer.

    ``b`` is not packed beforehand. The operator has no parameter for the output.
    """
    torch = torch_on(threads)
    multiply = getattr(torch.ops.mkldnn, "_linear_pointwise", None)
    if multiply is None or not torch.backends.mkldnn.is_available():
        raise UnavailableError(f"torch {torch.__version__} has no inner product of oneDNN")
    a, b = torch.from_numpy(data.a), torch.from_numpy(data.b).t()
    return returning(partial(multiply, a, b, None, "none", [], ""), lambda result: result.numpy())

"""The product of 4-bit weights and a vector, beside products of the same weights in float32."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, optional_module, warm
from polysched.bench.measure.peer_libraries import blas_kernels, torch_kernels, torch_on
from polysched.errors import BenchError
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.library.quantized import quantized_gemv_kernel, quantized_gemv_schedule
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import aligned_zeros

OWN = "polysched"
PEERS = ("numpy f32", "torch f32")
GROUP = 128

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class GemvData:
    """Codes with scales and zeros, the weights that they stand for, and a vector."""

    codes: Array
    scale: Array
    zero: Array
    weights: Array
    x: Array

    @property
    def size(self) -> int:
        """Bytes of the weights in float32."""
        return self.weights.nbytes

    def __str__(self) -> str:
        rows, columns = self.weights.shape
        return f"gemv {rows}x{columns}"


def random_data(rows: int, columns: int) -> GemvData:
    """Random codes from 0 to 15 and a vector from [-1, 1).

    Raises:
        BenchError: a size is not positive.
    """
    if rows < 1 or columns < 1:
        raise BenchError(f"gemv of {rows}x{columns}; expected positive sizes")
    generator = np.random.default_rng(0)
    groups = -(-columns // GROUP)
    codes = generator.integers(0, 16, (rows, columns), dtype=np.uint8)
    scale = generator.uniform(0.01, 0.02, (rows, groups)).astype(np.float32)
    zero = generator.integers(0, 16, (rows, groups), dtype=np.uint8)
    own = np.arange(columns) // GROUP
    weights = aligned_zeros((rows, columns), np.float32)
    np.subtract(codes, zero[:, own], out=weights, dtype=np.float32)
    weights *= scale[:, own]
    x = aligned_zeros((columns,), np.float32)
    x[:] = generator.uniform(-1, 1, columns)
    return GemvData(codes, scale, zero, weights, x)


def reference(data: GemvData) -> Array:
    """The right product, in float64."""
    return data.weights.astype(np.float64) @ data.x.astype(np.float64)


def tolerance(data: GemvData) -> float:
    """The largest rounding error: the terms are below 1, each sum has one per column."""
    return data.x.size * 32 * float(np.finfo(np.float32).eps)


def contestants(data: GemvData, machine: Machine | None = None) -> tuple[Contestant, ...]:
    """polysched with 4-bit weights, numpy and torch with float32, one thread each.

    Args:
        data: the weights and the vector.
        machine: the machine to schedule and compile polysched's code for; None for this machine.
    """
    return (
        Contestant(OWN, partial(prepare_own, data, machine or load_machine())),
        Contestant(PEERS[0], partial(prepare_numpy, data), blas_kernels),
        Contestant(PEERS[1], partial(prepare_torch, data), torch_kernels),
    )


def prepare_own(data: GemvData, machine: Machine) -> Runner:
    """The library's kernel and schedule, called as users do."""
    kernel = quantized_gemv_kernel(*data.weights.shape, group=GROUP)
    run = compile(quantized_gemv_schedule(kernel, machine), machine)
    packed = pack_bits(data.codes, "u4", rows="padded", overflow="raise")
    out = _output(data)
    return warm(Runner(lambda: run(packed, data.scale, data.zero, data.x, out), lambda: out))


def prepare_numpy(data: GemvData) -> Runner:
    """``numpy.matmul`` with the BLAS that it comes with.

    Raises:
        UnavailableError: threadpoolctl is missing, so BLAS could not be told to use one thread.
    """
    optional_module("threadpoolctl").ThreadpoolController().limit(limits=1, user_api="blas")
    out = _output(data)
    return warm(Runner(partial(np.matmul, data.weights, data.x, out=out), lambda: out))


def prepare_torch(data: GemvData) -> Runner:
    """``torch.mv``."""
    torch = torch_on(1)
    out = _output(data)
    operands = torch.from_numpy(data.weights), torch.from_numpy(data.x)
    return warm(Runner(partial(torch.mv, *operands, out=torch.from_numpy(out)), lambda: out))


def _output(data: GemvData) -> Array:
    return aligned_zeros((data.weights.shape[0],), np.float32)

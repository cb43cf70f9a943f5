"""Benchmark of transposed copies: sizes, data and contestants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, warm
from polysched.bench.measure.peer_libraries import numpy_kernels, torch_kernels, torch_on
from polysched.bench.measure.speedup import OWN
from polysched.errors import BenchError
from polysched.library.transpose.call import dispatch, transpose
from polysched.machine.description import Machine
from polysched.runtime.memory import aligned_zeros

PEERS = ("numpy", "torch")
TYPES = ("u8", "u16", "f32", "f64")

_NUMPY = {"u8": "u1", "u16": "u2", "f32": "f4", "f64": "f8"}

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class TransposeSize:
    """The rows, columns and element type of a matrix."""

    rows: int
    columns: int
    type: str = "f32"

    def __post_init__(self) -> None:
        if self.rows < 1 or self.columns < 1:
            raise BenchError(
                f"transpose size: {self.rows}x{self.columns}; expected at least one row and column"
            )
        if self.type not in TYPES:
            raise BenchError(f"transpose of type '{self.type}'; expected one of {', '.join(TYPES)}")

    def __str__(self) -> str:
        return f"transpose {self.rows}x{self.columns} {self.type}"

    @property
    def bytes(self) -> int:
        """Bytes of the matrix, which is read once and written once."""
        return self.rows * self.columns * np.dtype(_NUMPY[self.type]).itemsize


SUITE = (
    TransposeSize(512, 512),
    TransposeSize(1024, 1024),
    TransposeSize(4096, 4096),
    TransposeSize(1000, 4001),
    *(TransposeSize(4096, 4096, name) for name in TYPES if name != "f32"),
    *(TransposeSize(1000, 4001, name) for name in TYPES if name != "f32"),
)
"""Matrices within the L2 cache, beyond it, beyond the last cache, and of odd sizes."""


def random_data(size: TransposeSize, seed: int = 0) -> Array:
    """The matrix: whole numbers from 0 to 99, 128-byte aligned."""
    array = aligned_zeros((size.rows, size.columns), _NUMPY[size.type])
    array[...] = np.random.default_rng(seed).integers(0, 100, array.shape, np.uint8)
    return array


def contestants(
    data: Array, threads: int, machine: Machine | None = None
) -> tuple[Contestant, ...]:
    """polysched, numpy (on one thread always) and torch, each with an output to write into."""
    return (
        Contestant(OWN, partial(prepare_own, data, threads, machine)),
        Contestant("numpy", partial(prepare_numpy, data), numpy_kernels),
        Contestant("torch", partial(prepare_torch, data, threads), torch_kernels),
    )


def _output(data: Array) -> Array:
    """New memory for the result, with its pages touched."""
    out = aligned_zeros(data.shape[::-1], data.dtype)
    out.fill(0)
    return out


def prepare_own(data: Array, threads: int, machine: Machine | None = None) -> Runner:
    """``ps.transpose``, compiled by a first call; for another machine, its kernel.

    Raises:
        BenchError: ``ps.transpose`` leaves such a matrix to numpy.
    """
    out = _output(data)
    if machine is not None:
        entry = dispatch(data.dtype, data.shape, None, threads, machine)
        copy = entry.copy
        if copy is None:
            raise BenchError(f"a matrix of {data.shape} is left to numpy, whatever the machine")
        x = data.view(entry.bits).reshape(copy.source_shape)
        y = out.view(entry.bits).reshape(copy.target_shape)
        call = partial(copy.kernel, x, y, **entry.options)
        return warm(Runner(call, lambda: out))
    run = partial(transpose, data, out=out, threads=threads)
    run()
    return Runner(run, lambda: out)


def prepare_numpy(data: Array) -> Runner:
    """``numpy.copyto`` of the transposed view."""
    out = _output(data)
    return Runner(partial(np.copyto, out, data.T), lambda: out)


def prepare_torch(data: Array, threads: int) -> Runner:
    """``Tensor.copy_`` of the transposed view."""
    torch = torch_on(threads)
    out = _output(data)
    signed = {np.dtype(np.uint16): np.int16}.get(data.dtype, data.dtype)
    source, target = torch.from_numpy(data.view(signed)), torch.from_numpy(out.view(signed))
    return Runner(partial(target.copy_, source.t()), lambda: out)

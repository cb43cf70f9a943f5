"""Benchmark of layers with quantized weights: rows of f32 by a matrix of 4- or 8-bit codes."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, returning, warm
from polysched.bench.measure.peer_libraries import torch_kernels, torch_on
from polysched.bench.measure.speedup import OWN
from polysched.errors import BenchError
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.library.convolution.prepare import prepare
from polysched.library.matmul.dispatch.call import matmul
from polysched.library.matmul.dispatch.computed import Computed, Input, computed
from polysched.runtime.memory import aligned_zeros

EXACT = f"{OWN} f32 rows"
DYNAMIC, FLOAT = PEERS = ("torch dynamic int8", "torch f32")
GROUP = 128

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class LayerSize:
    """Rows of activations, inputs and outputs of a layer, and the bits of its weights."""

    rows: int
    terms: int
    columns: int
    bits: int = 4

    def __post_init__(self) -> None:
        if min(self.rows, self.terms, self.columns) < 1 or self.bits not in (4, 8):
            raise BenchError(f"{self}; expected positive sizes, and weights of 4 or 8 bits")

    def __str__(self) -> str:
        return f"layer {self.rows}x{self.terms}x{self.columns} i{self.bits}"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each row and weight."""
        return 2 * self.rows * self.terms * self.columns


SUITE = tuple(
    LayerSize(rows, 4096, 4096, bits) for bits in (4, 8) for rows in (1, 2, 4, 8, 16, 32, 64)
)
"""Rows of a batch that is decoded, by a matrix that exceeds the caches."""


@dataclass(frozen=True)
class LayerData:
    """Rows, and weights ``[columns, terms]``: codes with scales, and the numbers they stand for.

    Weights of 4 bits have a scale for each column and group of :data:`GROUP` terms, weights of 8
    bits one for each column.
    """

    size: LayerSize
    x: Array
    codes: Array
    scale: Array
    weights: Array

    @property
    def group(self) -> int:
        """Terms that share a scale."""
        return GROUP if self.size.bits == 4 else self.size.terms


def random_data(size: LayerSize, seed: int = 0) -> LayerData:
    """Normally distributed rows, and codes that are equally likely."""
    generator = np.random.default_rng(seed)
    largest = 1 << (size.bits - 1)
    codes = generator.integers(-largest, largest, (size.columns, size.terms), dtype=np.int8)
    group = GROUP if size.bits == 4 else size.terms
    groups = -(-size.terms // group)
    scale = generator.uniform(0.01, 0.02, (size.columns, groups)).astype(np.float32)
    weights = aligned_zeros(codes.shape, np.float32)
    np.multiply(codes, scale[:, np.arange(size.terms) // group], out=weights)
    x = aligned_zeros((size.rows, size.terms), np.float32)
    generator.standard_normal(out=x, dtype=np.float32)
    return LayerData(size, x, codes, scale, weights)


def reference(data: LayerData) -> Array:
    """The right product, in float64."""
    result: Array = data.x.astype(np.float64) @ data.weights.T.astype(np.float64)
    return result


def tolerance(data: LayerData) -> float:
    """The largest error where each activation is rounded to 7 bits, as torch does."""
    step = float(np.abs(data.x).max()) / 64
    return step * float(np.abs(data.weights).sum(axis=1).max())


def contestants(data: LayerData, threads: int) -> tuple[Contestant, ...]:
    """polysched with rounded and with exact rows, and torch's dynamic-quantized and f32 layers."""
    return (
        Contestant(OWN, partial(prepare_own, data, threads, exact=False)),
        Contestant(EXACT, partial(prepare_own, data, threads, exact=True)),
        Contestant(DYNAMIC, partial(prepare_torch, data, threads, dynamic=True), torch_kernels),
        Contestant(FLOAT, partial(prepare_torch, data, threads, dynamic=False), torch_kernels),
    )


def weights_of(data: LayerData) -> Computed:
    """The weights as users describe them, not transposed."""
    size = data.size
    codes: Any = data.codes
    if size.bits == 4:
        packed = pack_bits(data.codes, "i4", rows="padded", overflow="raise")
        codes = Input(packed, "i4", columns=size.terms)
    block = (1, data.group) if data.scale.shape[1] > 1 else (1, 1)
    return computed(
        lambda code, scale: cast(code, "f32") * scale, codes, Input(data.scale, block=block)
    )


def prepare_own(data: LayerData, threads: int, *, exact: bool) -> Runner:
    """``ps.matmul`` with weights that are prepared for rounded rows, or as they are stored."""
    weights = weights_of(data).T
    right = weights if exact else prepare(weights, activations="int8")
    out = aligned_zeros((data.size.rows, data.size.columns), np.float32)
    return warm(Runner(partial(matmul, data.x, right, out, threads=threads), lambda: out))


def prepare_torch(data: LayerData, threads: int, *, dynamic: bool) -> Runner:
    """``torch.nn.Linear``, in f32 or dynamically quantized."""
    torch = torch_on(threads)
    layer = torch.nn.Linear(data.size.terms, data.size.columns, bias=False)
    layer.weight = torch.nn.Parameter(torch.from_numpy(data.weights), requires_grad=False)
    if dynamic:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            layer = torch.ao.quantization.quantize_dynamic(
                torch.nn.Sequential(layer), {torch.nn.Linear}, dtype=torch.qint8
            )
    x = torch.from_numpy(data.x)

    def multiply() -> Any:
        with torch.inference_mode():
            return layer(x)

    return returning(multiply, lambda result: result.numpy())

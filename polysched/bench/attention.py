"""Benchmark of attention: sizes, data and contestants."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, returning, warm
from polysched.bench.measure.peer_libraries import torch_kernels, torch_on
from polysched.bench.measure.speedup import OWN
from polysched.errors import BenchError
from polysched.library.attention.call import attention
from polysched.runtime.memory import aligned_zeros

PEER = "torch"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class AttentionSize:
    """Heads, queries (as many as keys), and elements of a query; all in f32."""

    heads: int
    length: int
    width: int
    causal: bool = False

    def __post_init__(self) -> None:
        if min(self.heads, self.length, self.width) < 1:
            raise BenchError(f"{self}; expected positive sizes")

    def __str__(self) -> str:
        causal = " causal" * self.causal
        return f"attention {self.heads}x{self.length}x{self.width}{causal}"

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each element of both products.

        A causal size counts the visible keys only. Exponentials are not counted.
        """
        pairs = self.length * (self.length + 1) // 2 if self.causal else self.length**2
        return 4 * self.heads * pairs * self.width


SUITE = tuple(
    AttentionSize(*size, causal)
    for size in (
        (32, 128, 64),
        (16, 512, 64),
        (8, 1024, 64),
        (8, 4096, 64),
        (32, 128, 128),
        (16, 512, 128),
        (8, 2048, 128),
    )
    for causal in (False, True)
)
"""Lengths within the L2 cache and beyond it."""


@dataclass(frozen=True)
class AttentionData:
    """Operands in ``[heads, length, width]``: normally distributed, 128-byte aligned."""

    size: AttentionSize
    q: Array
    k: Array
    v: Array


def random_data(size: AttentionSize, seed: int = 0) -> AttentionData:
    """Random operands."""
    generator = np.random.default_rng(seed)
    arrays = []
    for _ in range(3):
        array = aligned_zeros((size.heads, size.length, size.width), np.float32)
        generator.standard_normal(out=array, dtype=np.float32)
        arrays.append(array)
    return AttentionData(size, *arrays)


def reference(data: AttentionData) -> Array:
    """The right result, in float64, head by head."""
    result = np.empty(data.q.shape)
    hidden = ~np.tri(data.size.length, dtype=bool) if data.size.causal else None
    for head, (q, k, v) in enumerate(zip(data.q, data.k, data.v, strict=True)):
        scores = q.astype(np.float64) @ k.T.astype(np.float64)
        scores /= math.sqrt(data.size.width)
        if hidden is not None:
            scores[hidden] = -np.inf
        scores -= scores.max(-1, keepdims=True)
        np.exp(scores, out=scores)
        scores /= scores.sum(-1, keepdims=True)
        result[head] = scores @ v.astype(np.float64)
    return result


def tolerance(size: AttentionSize) -> float:
    """Bound the rounding error of a sum of ``width`` terms and then one of ``length`` terms."""
    return (size.width + size.length) * 8 * float(np.finfo(np.float32).eps)


def contestants(data: AttentionData, threads: int) -> tuple[Contestant, ...]:
    """``ps.attention`` and torch, each called as users call it."""
    return (
        Contestant(OWN, partial(prepare_own, data, threads)),
        Contestant(PEER, partial(prepare_torch, data, threads), torch_kernels),
    )


def prepare_own(data: AttentionData, threads: int) -> Runner:
    """``ps.attention``, which writes to an output array."""
    out = aligned_zeros(data.q.shape, np.float32)
    run = partial(attention, data.q, data.k, data.v, causal=data.size.causal, out=out)
    return warm(Runner(partial(run, threads=threads), lambda: out))


def prepare_torch(data: AttentionData, threads: int) -> Runner:
    """torch's ``scaled_dot_product_attention``."""
    torch = torch_on(threads)
    # torch computes online only with four dimensions.
    operands = [torch.from_numpy(array)[None] for array in (data.q, data.k, data.v)]
    compute = partial(torch.nn.functional.scaled_dot_product_attention, *operands)
    return returning(partial(compute, is_causal=data.size.causal), lambda result: result[0].numpy())

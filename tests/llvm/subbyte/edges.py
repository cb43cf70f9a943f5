"""Packed arrays of all sizes up to an edge, against numpy: what the tests and the sweep check."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from polysched.ir.expr.dtypes import DType
from polysched.ir.semantics.bit_packing import pack_bits, unpack_bits
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule
from tests.support import packed_kernels
from tests.support.differential import NO_CACHE

MACHINES = ("host", "skylake-avx512", "haswell-avx2", "generic")
"""What the host may have: all strategies, those without VBMI, without AVX-512, without vectors."""

LARGEST = 70


def check_vectors(dtype: DType, lanes: int, machine: Machine, sizes: Iterable[int]) -> None:
    """Pack and unpack vectors of so many elements; what stands behind the last one stays."""
    name = dtype.name
    unpack = Schedule(packed_kernels.unpack(name)).vectorize("i", lanes)
    pack = Schedule(packed_kernels.pack(name)).vectorize("i", lanes)
    run_unpack, run_pack = (compile(one, machine, cache=NO_CACHE) for one in (unpack, pack))
    generator = np.random.default_rng(dtype.bits)
    for n in sizes:
        buffer = generator.integers(0, 256, -(-n * dtype.bits // 8), dtype=np.uint8)
        values = unpack_bits(buffer, dtype, (n,))
        np.testing.assert_array_equal(run_unpack(buffer, n=n), values, f"{dtype} {n}")
        wide = generator.integers(-(2**31), 2**31, n).astype(np.int32)
        got = buffer.copy()
        run_pack(wide, got)
        kept = buffer & ~pack_bits(np.full(n, -1), dtype, overflow="wrap")
        expected = pack_bits(wide, dtype, overflow="wrap") | kept
        np.testing.assert_array_equal(got, expected, f"{dtype} {n}")


def check_matrices(
    dtype: DType, rows: str, machine: Machine, shapes: Iterable[tuple[int, int]]
) -> None:
    """``v[i, j] += w[j, i]``, with lanes along j: neighbors of ``v``, gathered of ``w``."""
    schedule = Schedule(packed_kernels.halves(dtype.name, rows)).vectorize("j", 16)
    run = compile(schedule, machine, cache=NO_CACHE)
    for (n, m), seed in zip(shapes, _seeds(), strict=False):
        generator = np.random.default_rng(seed)
        v, w = (
            generator.integers(
                dtype.lowest, dtype.highest, shape, dtype.numpy(), endpoint=True
            ).astype(np.int64)
            for shape in ((n, m), (m, n))
        )
        given, got = (pack_bits(one, dtype, rows=rows, overflow="raise") for one in (w, v))
        run(given, got, n=n, m=m)
        expected = pack_bits(v + w.T, dtype, rows=rows, overflow="wrap")
        np.testing.assert_array_equal(got, expected, f"{dtype} {rows} {n}x{m}")


def _seeds() -> Iterator[int]:
    seed = 0
    while True:
        yield seed
        seed += 1

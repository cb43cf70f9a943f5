"""Benchmark of packing and unpacking sub-byte integers: works, data and contestants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import llvmlite.binding as llvm
import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, warm
from polysched.bench.measure.peer_libraries import numpy_kernels
from polysched.bench.measure.peers import PeerKernels
from polysched.bench.measure.speedup import OWN
from polysched.errors import BenchError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.llvm.subbyte.contributions import Contribution, contributions
from polysched.llvm.subbyte.conversion import Conversion, Direction
from polysched.llvm.subbyte.probe import probe_module
from polysched.llvm.subbyte.strategies import applicable
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.cache import default_cache
from polysched.runtime.jit import Entry, compile_module
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import aligned_zeros
from polysched.runtime.pipeline import CompileOptions
from polysched.schedule.schedule import Schedule

CODE = "polysched, code alone"
"""polysched's machine code, called without the checks of a call, as LLVM's code is."""

LLVM = "LLVM"
PEERS = ("numpy", LLVM)
TYPES = ("u4", "i4", "i5", "u2", "i3")
LARGE = 1 << 24
LANES = 64
UNROLLED = 4

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class BitcastWork:
    """Packing or unpacking ``count`` elements of a sub-byte type."""

    direction: Direction
    dtype: DType
    count: int

    def __post_init__(self) -> None:
        if self.count < 1 or self.count % (LANES * UNROLLED):
            raise BenchError(
                f"{self.count} elements; expected a positive multiple of {LANES * UNROLLED}"
            )
        if not self.dtype.is_odd_width or self.dtype.bits > 7:
            raise BenchError(f"elements of {self.dtype}; expected integers of 1 to 7 bits")

    def __str__(self) -> str:
        return f"{self.direction.value} {self.dtype} {self.count}"

    @property
    def conversion(self) -> Conversion:
        """The conversion of one vector."""
        return Conversion(self.dtype.bits, 8, LANES, self.dtype.is_signed)


def block_count(machine: Machine) -> int:
    """Elements of the largest block, a byte each, that lies in the L2 cache beside its copy."""
    cache = machine.cache(2) or machine.cache(1)
    size = (cache.bytes if cache else 1 << 20) // 2
    return max(1, size // (LANES * UNROLLED)) * LANES * UNROLLED


@dataclass(frozen=True)
class PackingData:
    """Input and expected output of one work, as bytes."""

    work: BitcastWork
    given: Array
    expected: Array


def random_data(work: BitcastWork, seed: int = 0) -> PackingData:
    """Random values, drawn evenly from all values of the type."""
    dtype = work.dtype
    wide = aligned_zeros((work.count,), dtype.numpy())
    generator = np.random.default_rng(seed)
    wide[:] = generator.integers(
        dtype.lowest, dtype.highest, work.count, dtype.numpy(), endpoint=True
    )
    packed = aligned_zeros((work.count * dtype.bits // 8,), np.uint8)
    step = 1 << 20  # the reference takes eight bytes an element while it works
    for first in range(0, work.count, step):
        part = pack_bits(wide[first : first + step], dtype, overflow="raise")
        start = first * dtype.bits // 8
        packed[start : start + part.size] = part
    if work.direction is Direction.PACK:
        return PackingData(work, wide, packed)
    return PackingData(work, packed, wide)


def contestants(
    data: PackingData, *, strategies: bool = False, machine: Machine | None = None
) -> tuple[Contestant, ...]:
    """polysched, numpy and LLVM's own lowering of the conversion.

    Args:
        strategies: whether each of polysched's strategies races too, by its name.
    """
    target = machine or load_machine()
    named: tuple[Contestant, ...] = ()
    if strategies:
        strategy_names = applicable(
            data.work.direction, data.work.conversion, target.enabled_features
        )
        named = tuple(
            Contestant(f"strategy {name}", partial(prepare_strategy, data, name, target))
            for name in strategy_names
            if name != "native"
        )
    return (
        Contestant(OWN, partial(prepare_own, data, target)),
        Contestant(CODE, partial(prepare_code, data, target)),
        Contestant("numpy", partial(prepare_numpy, data), numpy_kernels),
        Contestant(
            LLVM, partial(prepare_strategy, data, "native", target), partial(_llvm_kernels, target)
        ),
        *named,
    )


def packing_kernel(direction: Direction, dtype: DType, count: int) -> Kernel:
    """``w[i] = x[i]``, or the other way round: ``x`` of bytes, ``w`` packed."""
    build = KernelBuilder(direction.value)
    if direction is Direction.PACK:
        x = build.input("x", dtype.container, (count,))
        w = build.output("w", dtype, (count,))
        with build.loops(i=count) as i:
            w[i] = cast(x[i], dtype)
    else:
        w = build.input("w", dtype, (count,))
        x = build.output("x", dtype.container, (count,))
        with build.loops(i=count) as i:
            x[i] = cast(w[i], dtype.container)
    return build.kernel()


def packing_schedule(kernel: Kernel) -> Schedule:
    """A few vectors in each iteration."""
    schedule = Schedule(kernel).split("i", LANES * UNROLLED, into=("block", "at"))
    return schedule.vectorize("at", LANES).unroll("at")


def prepare_own(data: PackingData, machine: Machine) -> Runner:
    """The kernel as a user writes and calls it."""
    run, out = _compiled(data.work, machine), _output(data)
    return warm(Runner(lambda: run(data.given, out), lambda: out))


def prepare_code(data: PackingData, machine: Machine) -> Runner:
    """The machine code of that kernel, called with addresses."""
    run, out = _compiled(data.work, machine), _output(data)
    places = data.given.ctypes.data, out.ctypes.data
    return warm(Runner(partial(run.native.call, *places), lambda: out))


def _compiled(work: BitcastWork, machine: Machine) -> CompiledKernel:
    kernel = packing_kernel(work.direction, work.dtype, work.count)
    return compile(packing_schedule(kernel), machine)


def prepare_strategy(data: PackingData, name: str, machine: Machine) -> Runner:
    """One strategy of :mod:`polysched.llvm.subbyte` in a bare loop; ``native`` is LLVM's own."""
    work, out = data.work, _output(data)
    text = probe_module("probe", work.direction, name, work.conversion, machine)
    entry = Entry("probe", 2, 1)
    function = compile_module(text, entry, machine, CompileOptions(), default_cache())
    places = data.given.ctypes.data, out.ctypes.data, work.count // LANES
    return warm(Runner(partial(function.call, *places), lambda: out))


def _llvm_kernels(machine: Machine, name: str, _: Callable[[], object]) -> PeerKernels:
    """LLVM compiles for the machine that polysched's own code is for, so nothing holds it back."""
    version = ".".join(map(str, llvm.llvm_version_info))
    return PeerKernels(name, "LLVM", version, f"compiled for {machine.cpu}")


def prepare_numpy(data: PackingData) -> Runner:
    """Shifts, masks and ors of whole arrays, eight elements side by side."""
    work, out = data.work, _output(data)
    if work.direction is Direction.PACK:
        return warm(Runner(lambda: _pack(data.given, work.dtype, out), lambda: out))
    return warm(Runner(lambda: _unpack(data.given, work.dtype, out), lambda: out))


def _pack(values: Array, dtype: DType, out: Array) -> None:
    lanes = values.view(np.uint8).reshape(-1, 8)
    made = out.reshape(-1, dtype.bits)
    for byte, parts in enumerate(contributions(dtype.bits, 8, 8)):
        made[:, byte] = _combined(lanes, parts)


def _combined(lanes: Array, parts: Iterable[Contribution]) -> Any:
    total: Any = 0
    for part in parts:
        mask = (1 << part.high) - (1 << part.low)
        total = total | (((lanes[:, part.source] & mask) >> part.low) << part.shift)
    return total


def _unpack(packed: Array, dtype: DType, out: Array) -> None:
    lanes = packed.reshape(-1, dtype.bits)
    made = out.view(np.uint8).reshape(-1, 8)
    for element, parts in enumerate(contributions(8, dtype.bits, dtype.bits)):
        made[:, element] = _combined(lanes, parts)
    if dtype.is_signed:
        sign = dtype.numpy().type(1 << (dtype.bits - 1))
        np.bitwise_xor(out, sign, out=out)
        np.subtract(out, sign, out=out)


def _output(data: PackingData) -> Array:
    return aligned_zeros(data.expected.shape, data.expected.dtype)

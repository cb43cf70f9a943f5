"""The machine's peak, measured in bursts of milliseconds, to be quoted beside a kernel's speed.

A shared or virtual machine changes its speed from one second to the next, so a peak measured once
says little; a burst before and after each run says what that run could have had.
"""

import ctypes
import time

import numpy as np
from llvmlite import binding

from polysched.errors import MachineError
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.target import target_machine

_ENTRY = "polysched_peak"
# Rounds of all chains in one trip of the loop, so that loop control takes no share worth counting.
_ROUNDS = 4
# A burst is timed in so many slices, and the best one counts: an interruption spoils only one.
_SLICES = 5


def chain_count(machine: Machine) -> int:
    """How many independent FMA chains the peak kernel runs.

    Twice `fma_units * fma_latency`, which would do if the latency were sure, but at least 12 and
    at most what the registers hold beside the two operands.
    """
    wanted = max(12, 2 * machine.fma_units * machine.fma_latency)
    return min(wanted, machine.vector_registers - 2)


def peak_kernel(machine: Machine, dtype_bits: int = 32) -> str:
    """LLVM IR of ``void polysched_peak(int64 trips, T *operands, T *chains)``, T of `dtype_bits`.

    Each trip (`trips >= 1`) does `_ROUNDS` times ``x = x * a + b`` on each chain's vector.
    `operands` holds the vectors a and b, `chains` the start of every chain and, after the call, its
    end: all known at run time only, so that LLVM can fold nothing. The multiply and add may
    contract to an FMA, and do where the machine has one.
    """
    element = _element(dtype_bits)
    lanes = machine.lanes(dtype_bits)
    vector = f"<{lanes} x {element}>"
    size = machine.vector_bits // 8
    chains = range(chain_count(machine))
    lines = [
        f'target triple = "{machine.triple}"',
        f"define void @{_ENTRY}(i64 %trips, ptr %operands, ptr %chains) {{",
        "entry:",
        f"  %a = load {vector}, ptr %operands, align {size}",
        f"  %b_at = getelementptr i8, ptr %operands, i64 {size}",
        f"  %b = load {vector}, ptr %b_at, align {size}",
    ]
    for c in chains:
        lines += [
            f"  %at_{c} = getelementptr i8, ptr %chains, i64 {c * size}",
            f"  %start_{c} = load {vector}, ptr %at_{c}, align {size}",
        ]
    lines += ["  br label %loop", "loop:", "  %trip = phi i64 [ %trips, %entry ], [ %left, %loop ]"]
    lines += [
        f"  %x_{c}_0 = phi {vector} [ %start_{c}, %entry ], [ %x_{c}_{_ROUNDS}, %loop ]"
        for c in chains
    ]
    for round_ in range(_ROUNDS):
        for c in chains:
            lines += [
                f"  %m_{c}_{round_} = fmul contract {vector} %x_{c}_{round_}, %a",
                f"  %x_{c}_{round_ + 1} = fadd contract {vector} %m_{c}_{round_}, %b",
            ]
    lines += [
        "  %left = sub i64 %trip, 1",
        "  %more = icmp ne i64 %left, 0",
        "  br i1 %more, label %loop, label %done",
        "done:",
    ]
    lines += [f"  store {vector} %x_{c}_{_ROUNDS}, ptr %at_{c}, align {size}" for c in chains]
    return "\n".join([*lines, "  ret void", "}", ""])


class PeakMeter:
    """Bursts of the machine's FMA peak on one core, the width and type those of the machine.

    `machine` must run on this host; `dtype_bits` is 32 or 64. Raises `MachineError` otherwise. The
    compiled kernel lives as long as the meter. A meter is not to be used by two threads at once.
    """

    def __init__(self, machine: Machine, dtype_bits: int = 32) -> None:
        missing = machine.missing_on(detect_host())
        if missing:
            raise MachineError(
                f"machine {machine.name!r} cannot be measured here: this host lacks "
                f"{', '.join(missing)}"
            )
        kernel = peak_kernel(machine, dtype_bits)
        size = machine.vector_bits // 8
        dtype = np.dtype(f"f{dtype_bits // 8}")
        # 0.5 x + 0.5 keeps every chain near 1: no overflow, no subnormal numbers to slow it down.
        self._operands = aligned_array(2 * size, size).view(dtype)
        self._operands[:] = 0.5
        self._chains = aligned_array(chain_count(machine) * size, size).view(dtype)
        self._chains[:] = np.linspace(0.5, 1.5, self._chains.size)
        self._flops_per_trip = 2 * machine.lanes(dtype_bits) * chain_count(machine) * _ROUNDS
        module = binding.parse_assembly(kernel)
        module.verify()
        target = target_machine(machine)
        self.assembly: str = target.emit_assembly(module)
        self._engine = binding.create_mcjit_compiler(module, target)
        self._engine.finalize_object()
        prototype = ctypes.CFUNCTYPE(None, ctypes.c_int64, ctypes.c_void_p, ctypes.c_void_p)
        self._kernel = prototype(self._engine.get_function_address(_ENTRY))
        self._trips_per_second = self._calibrate()

    def burst(self, seconds: float = 0.005) -> float:
        """Floating-point operations a second, the best slice of a burst of about `seconds`."""
        if seconds <= 0:
            raise MachineError(f"a burst of {seconds} seconds: expected a positive time")
        trips = max(1, int(self._trips_per_second * seconds / _SLICES))
        shortest = min(self._seconds(trips) for _ in range(_SLICES))
        self._trips_per_second = trips / shortest
        return self._trips_per_second * self._flops_per_trip

    def _calibrate(self) -> float:
        """Trips a second, good enough to size the first burst (and the processor's wake-up)."""
        trips = 256
        while (seconds := self._seconds(trips)) < 2e-4:
            trips *= 2
        return trips / seconds

    def _seconds(self, trips: int) -> float:
        start = time.perf_counter()
        self._kernel(trips, self._operands.ctypes.data, self._chains.ctypes.data)
        return time.perf_counter() - start


def aligned_array(size: int, alignment: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """A new array of `size` bytes, unset, whose first byte stands at a multiple of `alignment`."""
    buffer = np.empty(size + alignment, dtype=np.uint8)
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + size]


def _element(dtype_bits: int) -> str:
    """LLVM's name of the floating-point type of that size."""
    if dtype_bits not in (32, 64):
        raise MachineError(f"a peak of {dtype_bits}-bit numbers: expected 32 or 64")
    return {32: "float", 64: "double"}[dtype_bits]

"""Measurement of the machine's FMA peak, in bursts of milliseconds.

The speed of a shared or virtual machine changes from one second to the next, so a peak measured
once says little. A burst before and after each run measures the peak that was available to that
run.
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
# Rounds of all chains per trip of the loop, to make the cost of loop control negligible.
_ROUNDS = 4
# Number of timed slices of a burst. The best slice counts, so an interruption spoils only one.
_SLICES = 5


def chain_count(machine: Machine) -> int:
    """Return the number of independent FMA chains that the peak kernel runs.

    `fma_units * fma_latency` chains would saturate the FMA units if the latency were certain. The
    kernel runs twice as many, at least 12, and at most as many as fit the registers beside the two
    operands.
    """
    wanted = max(12, 2 * machine.fma_units * machine.fma_latency)
    return min(wanted, machine.vector_registers - 2)


def peak_kernel(machine: Machine, dtype_bits: int = 32) -> str:
    """Return LLVM IR of ``void polysched_peak(int64 trips, T *operands, T *chains)``.

    T has `dtype_bits`. Each trip (`trips >= 1`) does `_ROUNDS` times ``x = x * a + b`` on each
    chain's vector. `operands` holds the vectors a and b. `chains` holds the start of every chain,
    and its end after the call. All values are known only at run time, so that LLVM cannot fold
    them. The multiplication and addition may contract to an FMA, and do so if the machine has one.
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
    """Meter of the FMA peak of one core, at the machine's vector width.

    `machine` must run on this host; `dtype_bits` is 32 or 64. Raises `MachineError` otherwise. The
    compiled kernel lives as long as the meter. Two threads must not use a meter at once.
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
        """Return the operations per second of the best slice of a burst of about `seconds`."""
        if seconds <= 0:
            raise MachineError(f"a burst of {seconds} seconds: expected a positive time")
        trips = max(1, int(self._trips_per_second * seconds / _SLICES))
        shortest = min(self._seconds(trips) for _ in range(_SLICES))
        self._trips_per_second = trips / shortest
        return self._trips_per_second * self._flops_per_trip

    def _calibrate(self) -> float:
        """Return trips per second, to size the first burst; also wakes the processor up."""
        trips = 256
        while (seconds := self._seconds(trips)) < 2e-4:
            trips *= 2
        return trips / seconds

    def _seconds(self, trips: int) -> float:
        start = time.perf_counter()
        self._kernel(trips, self._operands.ctypes.data, self._chains.ctypes.data)
        return time.perf_counter() - start


def aligned_array(size: int, alignment: int) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
    """Return a new, uninitialized array of `size` bytes at a multiple of `alignment`."""
    buffer = np.empty(size + alignment, dtype=np.uint8)
    start = -buffer.ctypes.data % alignment
    return buffer[start : start + size]


def _element(dtype_bits: int) -> str:
    if dtype_bits not in (32, 64):
        raise MachineError(f"a peak of {dtype_bits}-bit numbers: expected 32 or 64")
    return {32: "float", 64: "double"}[dtype_bits]

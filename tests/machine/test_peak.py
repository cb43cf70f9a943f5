from dataclasses import replace

import numpy as np
import pytest
from llvmlite import binding

from polysched.errors import MachineError
from polysched.inspect.assembly import hot_loop, parse
from polysched.inspect.instruction_counts import InstructionCounts
from polysched.machine.detect import detect_host
from polysched.machine.peak import (
    PeakMeter,
    aligned_array,
    chain_count,
    peak_kernel,
)
from polysched.machine.presets import PRESETS
from polysched.machine.target import target_machine


def inner_loop(assembly: str) -> InstructionCounts:
    (function,) = parse(assembly)
    loop = hot_loop(function)
    assert loop is not None
    return loop.counts


@pytest.mark.parametrize("bits", [32, 64])
@pytest.mark.parametrize("name", ["haswell-avx2", "skylake-avx512", "znver4", "znver5"])
def test_the_loop_is_fmas_and_loop_control_and_nothing_else(name: str, bits: int) -> None:
    machine = PRESETS[name]
    module = binding.parse_assembly(peak_kernel(machine, bits))
    counts = inner_loop(target_machine(machine).emit_assembly(module))
    assert counts.accumulators == chain_count(machine)
    assert counts.fma == 4 * chain_count(machine)
    assert counts.fma + counts.loop_control == counts.total
    assert counts.loop_control == 2
    assert counts.fma_memory == counts.spills == counts.stores == 0


@pytest.mark.parametrize(
    ("units", "latency", "registers", "chains"),
    [(2, 4, 32, 16), (1, 4, 32, 12), (2, 5, 16, 14), (2, 8, 32, 30)],
)
def test_chains_cover_the_latency_and_fit_the_registers(
    units: int, latency: int, registers: int, chains: int
) -> None:
    machine = replace(
        PRESETS["generic"], fma_units=units, fma_latency=latency, vector_registers=registers
    )
    assert chain_count(machine) == chains


@pytest.mark.parametrize("bits", [32, 64])
def test_the_kernel_computes_what_it_says(bits: int) -> None:
    meter = PeakMeter(detect_host(), bits)
    start = np.linspace(0.5, 1.5, meter._chains.size).astype(meter._chains.dtype)
    meter._chains[:] = start
    meter._operands[: meter._operands.size // 2] = 0.25
    meter._operands[meter._operands.size // 2 :] = 3.0
    meter._seconds(1)
    expected = start
    for _ in range(4):
        expected = expected * start.dtype.type(0.25) + start.dtype.type(3)
    np.testing.assert_allclose(meter._chains, expected, rtol=1e-6)


def test_a_burst_is_a_plausible_rate() -> None:
    host = detect_host()
    single, double = PeakMeter(host).burst(), PeakMeter(host, 64).burst()
    # Between 0.1 and 10 GHz of what one core can do each cycle.
    for rate, bits in ((single, 32), (double, 64)):
        assert 1e8 < rate / host.flops_per_cycle(bits) < 1e10


def test_the_assembly_of_a_meter_is_at_hand() -> None:
    counts = inner_loop(PeakMeter(detect_host()).assembly)
    assert counts.total > 0
    assert counts.spills == counts.stores == 0


def test_bad_requests() -> None:
    host = detect_host()
    with pytest.raises(MachineError, match="16-bit numbers: expected 32 or 64"):
        PeakMeter(host, 16)
    with pytest.raises(MachineError, match="0 seconds: expected a positive time"):
        PeakMeter(host).burst(0)
    alien = replace(host, name="alien", features=f"{host.features},+amx-fp8")
    if not host.has("amx-fp8"):
        with pytest.raises(MachineError, match="'alien' cannot be measured here.*lacks amx-fp8"):
            PeakMeter(alien)


@pytest.mark.parametrize("alignment", [1, 64, 4096])
def test_aligned_arrays(alignment: int) -> None:
    array = aligned_array(100, alignment)
    assert array.nbytes == 100
    assert array.ctypes.data % alignment == 0

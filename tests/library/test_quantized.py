"""Products of quantized weights and a vector against numpy."""

import numpy as np
import pytest

from polysched.errors import KernelError, ScheduleError
from polysched.inspect.assembly import hot_loop, parse
from polysched.ir.expr.dtypes import as_dtype
from polysched.ir.semantics.bit_packing import pack_bits
from polysched.library.gemv import gemv_kernel
from polysched.library.quantized import quantized_gemv_kernel, quantized_gemv_schedule
from polysched.lower import compile, show
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from tests.support.differential import NO_CACHE
from tests.support.effort import covering


def data(rows: int, columns: int, group: int, dtype: str) -> dict[str, np.ndarray]:
    """Small integers, with which every order of the sums gives the same result."""
    generator = np.random.default_rng(rows + columns)
    element, groups = as_dtype(dtype), -(-columns // group)
    low, high = max(element.lowest, -8), min(element.highest, 15)
    return {
        "codes": generator.integers(low, high, (rows, columns), endpoint=True),
        "scale": generator.integers(1, 5, (rows, groups)).astype(np.float32),
        "zero": generator.integers(0, 16, (rows, groups)).astype(np.uint8),
        "x": generator.integers(-4, 5, columns).astype(np.float32),
    }


def check(
    rows: int, columns: int, group: int, dtype: str, machine: Machine, threads: int = 1
) -> None:
    given = data(rows, columns, group, dtype)
    kernel = quantized_gemv_kernel(rows, columns, group=group, dtype=dtype)
    run = compile(quantized_gemv_schedule(kernel, machine, threads), machine, cache=NO_CACHE)
    packed = pack_bits(given["codes"], dtype, rows="padded", overflow="raise")
    own = np.arange(columns) // group
    numbers = (given["codes"] - given["zero"][:, own].astype(int)) * given["scale"][:, own]
    got = run(packed, given["scale"], given["zero"], given["x"])
    np.testing.assert_array_equal(got, numbers @ given["x"])


@pytest.mark.parametrize("dtype", ["u4", "i4", "u3", "i5", "u1", "u12"])
def test_types_of_codes(dtype: str) -> None:
    check(3, 300, 128, dtype, load_machine(None))


@covering(1, columns=[1, 31, 256, 257], group=[1, 16, 32, 100, 256])
def test_groups_and_lengths(group: int, columns: int) -> None:
    check(2, columns, group, "u4", load_machine(None))


@pytest.mark.parametrize("name", ["haswell-avx2", "generic"])
def test_other_machines(name: str) -> None:
    check(3, 200, 64, "u4", load_machine(name))


def test_threads_share_the_rows_or_the_terms() -> None:
    for rows, columns in ((300, 512), (1, 1 << 18)):
        check(rows, columns, 128, "u4", load_machine(None), threads=2)


def test_bytes_become_numbers_in_registers() -> None:
    machine = load_machine("znver5")
    schedule = quantized_gemv_schedule(quantized_gemv_kernel(64, 4096), machine)
    (function,) = parse(show(schedule, "asm", machine))
    loop = hot_loop(function)
    assert loop is not None
    names = [one.mnemonic for one in loop.body]
    assert names.count("vpmultishiftqb") == names.count("vfmadd231ps") == 8
    assert not any("gather" in name for name in names)


def test_bad_sizes_and_types() -> None:
    with pytest.raises(KernelError, match="quantized gemv: rows is -1; expected an integer >= 0"):
        quantized_gemv_kernel(-1, 4)
    with pytest.raises(KernelError, match="group is 0; expected an integer >= 1"):
        quantized_gemv_kernel(1, 4, group=0)
    with pytest.raises(KernelError, match="codes of u8 are not packed; expected an integer type"):
        quantized_gemv_kernel(1, 4, dtype="u8")
    with pytest.raises(ScheduleError, match="quantized_gemv_kernel"):
        quantized_gemv_schedule(gemv_kernel(3, 4), load_machine(None))

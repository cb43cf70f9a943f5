from dataclasses import FrozenInstanceError, replace

import pytest

from polysched.errors import MachineError
from polysched.ir.expr.dtypes import f32, f64
from polysched.machine.description import Cache, Machine
from polysched.machine.presets import PRESETS

SKYLAKE = PRESETS["skylake-avx512"]


@pytest.mark.parametrize(
    ("vector_bits", "bits", "lanes"), [(512, 32, 16), (512, 64, 8), (256, 32, 8), (128, 8, 16)]
)
def test_lanes(vector_bits: int, bits: int, lanes: int) -> None:
    assert replace(SKYLAKE, vector_bits=vector_bits).lanes(bits) == lanes


def test_lanes_of_an_element_type() -> None:
    assert (SKYLAKE.lanes(f32), SKYLAKE.lanes(f64)) == (16, 8)


@pytest.mark.parametrize("bits", [0, -8, 48, 1024])
def test_lanes_refuses_sizes_that_do_not_fill_a_vector(bits: int) -> None:
    with pytest.raises(MachineError, match=rf"elements of {bits} bits do not fill a vector of 512"):
        SKYLAKE.lanes(bits)


def test_cache_by_level() -> None:
    first = SKYLAKE.cache(1)
    assert first is not None
    assert (first.bytes, first.sets) == (32 * 1024, 64)
    assert SKYLAKE.cache(4) is None


def test_features_are_read_as_llvm_does_the_last_one_counting() -> None:
    machine = replace(SKYLAKE, features="+fma,-avx2,+avx2,+avx,-fma")
    assert machine.has("avx2")
    assert not machine.has("fma")
    assert machine.enabled_features == {"avx", "avx2"}
    assert replace(SKYLAKE, features="").enabled_features == frozenset()


def test_flops_per_cycle_counts_an_fma_twice() -> None:
    assert SKYLAKE.flops_per_cycle(32) == 64
    assert SKYLAKE.flops_per_cycle(64) == 32


def test_missing_on_names_instructions_but_not_tuning() -> None:
    machine = replace(SKYLAKE, features="+avx2,+avx512f,+prefer-256-bit,-amx-tile")
    host = replace(SKYLAKE, features="+avx2")
    assert machine.missing_on(host) == ("avx512f",)
    assert host.missing_on(machine) == ()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"vector_bits": 384}, "vector_bits is 384; expected 128, 256 or 512"),
        ({"fma_units": 0}, "fma_units is 0; expected a positive number"),
        ({"vector_registers": -1}, "vector_registers is -1; expected 8 or more"),
        ({"vector_registers": 7}, "vector_registers is 7; expected 8 or more"),
        ({"features": "avx2"}, "features is 'avx2'; expected LLVM feature names, each after"),
        ({"features": "+avx2,"}, "expected LLVM feature names"),
        ({"cpu": ""}, "cpu is empty"),
        ({"caches": (SKYLAKE.caches[1], SKYLAKE.caches[0])}, r"levels \[2, 1\]; expected rising"),
    ],
)
def test_bad_values_are_named(change: dict[str, object], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        replace(SKYLAKE, **change)


def test_bad_cache_values_are_named() -> None:
    with pytest.raises(MachineError, match="cache line is 0; expected a positive number"):
        Cache(level=1, bytes=1024, line=0, associativity=1, shared_by=1)


def test_a_machine_is_a_value() -> None:
    assert replace(SKYLAKE) == SKYLAKE
    assert len({SKYLAKE, replace(SKYLAKE)}) == 1
    with pytest.raises(FrozenInstanceError):
        SKYLAKE.cpu = "znver4"  # type: ignore[misc]
    assert isinstance(SKYLAKE, Machine)


def test_cache_bytes() -> None:
    """A level that the machine does not have counts as the next lower one."""
    levels = [SKYLAKE.cache_bytes(level) for level in (1, 2, 3, 4)]
    assert levels == [*(cache.bytes for cache in SKYLAKE.caches), SKYLAKE.last_cache_bytes]
    bare = replace(SKYLAKE, caches=())
    assert 0 < bare.cache_bytes(1) < bare.cache_bytes(2) < bare.cache_bytes(3)
    assert bare.last_cache_bytes == bare.cache_bytes(3)
    assert PRESETS["generic"].cache_bytes(3) == PRESETS["generic"].last_cache_bytes

from dataclasses import replace
from pathlib import Path

import pytest

from polysched.machine.description import Cache
from polysched.machine.detect import (
    DEFAULT_CACHES,
    Sources,
    data_caches,
    detect,
    detect_host,
    processors,
    usable_cores,
)
from polysched.machine.target import target_machine

AVX512 = dict.fromkeys(("avx2", "fma", "avx512f", "avx512bw", "avx512dq", "avx512vl"), True)


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def write_cache(sysfs: Path, processor: int, index: int, **values: str) -> None:
    for name, text in values.items():
        write(sysfs / f"devices/system/cpu/cpu{processor}/cache/index{index}/{name}", text + "\n")


@pytest.fixture
def sources(tmp_path: Path) -> Sources:
    return Sources(
        sysfs=tmp_path / "sys",
        proc=tmp_path / "proc",
        affinity=frozenset({0, 1, 2, 3}),
        cpu="sapphirerapids",
        features=AVX512,
        triple="x86_64-unknown-linux-gnu",
        page_bytes=4096,
    )


def test_what_nothing_tells_gets_documented_defaults(sources: Sources) -> None:
    machine = detect(sources)
    assert machine.caches == DEFAULT_CACHES
    assert machine.cores_usable == 4
    assert machine.name == "unnamed processor (sapphirerapids)"


def test_name_caches_cores_and_quota(sources: Sources) -> None:
    write(sources.proc / "cpuinfo", "processor\t: 0\nmodel name\t: Fast CPU 9000 \n")
    for processor in range(4):
        write(
            sources.sysfs / f"devices/system/cpu/cpu{processor}/topology/thread_siblings_list",
            "0-1\n" if processor < 2 else "2-3\n",
        )
    write_cache(
        sources.sysfs,
        0,
        0,
        level="1",
        type="Data",
        size="48K",
        coherency_line_size="64",
        ways_of_associativity="12",
        shared_cpu_list="0-1",
    )
    machine = detect(sources)
    assert machine.name == "Fast CPU 9000 (sapphirerapids)"
    assert machine.caches == (Cache(1, 48 * 1024, 64, 12, 2),)
    assert machine.cores_usable == 2
    write(sources.proc / "self/cgroup", "0::/\n")
    write(sources.sysfs / "fs/cgroup/cpu.max", "150000 100000\n")
    assert detect(sources).cores_usable == 1
    write(sources.sysfs / "fs/cgroup/cpu.max", "20000 100000\n")
    assert detect(sources).cores_usable == 1


def test_data_caches_leave_out_instructions_and_the_unknown(tmp_path: Path) -> None:
    write_cache(tmp_path, 5, 0, level="1", type="Instruction", size="32K")
    write_cache(tmp_path, 5, 1, level="3", type="Unified", size="32M", shared_cpu_list="0,5,8-9")
    write_cache(tmp_path, 5, 2, level="2", type="Unified", size="1024K", coherency_line_size="0")
    write_cache(tmp_path, 5, 3, level="4", type="Unified")
    write_cache(tmp_path, 5, 10, level="5", type="Unified", size="0K")
    assert data_caches(tmp_path, 5) == (
        Cache(2, 1024**2, 64, 8, 1),
        Cache(3, 32 * 1024**2, 64, 8, 4),
    )
    assert data_caches(tmp_path, 0) == ()


@pytest.mark.parametrize(
    ("features", "bits", "registers"),
    [
        (AVX512, 512, 32),
        ({**AVX512, "avx512vl": False}, 256, 16),
        ({"avx2": True, "fma": False}, 128, 16),
        ({"neon": True}, 128, 32),
        ({}, 128, 16),
    ],
)
def test_the_vector_width_is_what_the_features_allow_not_what_the_name_promises(
    sources: Sources, features: dict[str, bool], bits: int, registers: int
) -> None:
    machine = detect(replace(sources, features=features))
    assert (machine.vector_bits, machine.vector_registers) == (bits, registers)


def test_features_are_explicit_both_ways(sources: Sources) -> None:
    machine = detect(replace(sources, features={"fma": True, "avx512f": False, "amx-tile": True}))
    assert machine.features == "+amx-tile,-avx512f,+fma"
    assert machine.matrix_unit == "amx"
    assert "-prefer-256-bit" in detect(sources).features.split(",")


@pytest.mark.parametrize(
    ("cpu", "units", "latency"),
    [("sapphirerapids", 2, 4), ("znver4", 1, 4), ("haswell", 1, 5), ("never-heard-of", 2, 4)],
)
def test_fma_pipes_by_processor(sources: Sources, cpu: str, units: int, latency: int) -> None:
    machine = detect(replace(sources, cpu=cpu))
    assert (machine.fma_units, machine.fma_latency) == (units, latency)


def test_fma_units_are_those_of_the_width_in_use(sources: Sources) -> None:
    machine = detect(replace(sources, cpu="znver4", features={"avx2": True, "fma": True}))
    assert (machine.vector_bits, machine.fma_units) == (256, 2)


def test_hardware_threads_of_a_core_count_once(tmp_path: Path) -> None:
    for processor in (0, 4):
        write(
            tmp_path / f"devices/system/cpu/cpu{processor}/topology/thread_siblings_list", "0,4\n"
        )
    assert usable_cores(tmp_path, frozenset({0, 4})) == 1
    assert usable_cores(tmp_path, frozenset({0, 1, 4})) == 2
    assert usable_cores(tmp_path, frozenset()) == 1


def test_processor_lists() -> None:
    assert processors("0-2,8\n") == {0, 1, 2, 8}
    assert processors("") == frozenset()


def test_this_host_is_detected_once_and_fits_llvm() -> None:
    host = detect_host()
    assert host is detect_host()
    assert host.features
    target_machine(host)

"""Detection of the host machine, from Linux's sysfs and procfs and LLVM's host CPU features."""

import ctypes
import functools
import math
import mmap
import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from llvmlite import binding

from polysched.machine.cgroup import quota_cores
from polysched.machine.description import Cache, Machine
from polysched.machine.features import (
    feature_string,
    matrix_unit,
    vector_registers,
    widest_vector_bits,
)
from polysched.machine.processors import credible_processor, default_costs, fma_pipes

_SYS_ARCH_PRCTL = 158
_ARCH_REQ_XCOMP_PERM = 0x1023
_XTILEDATA = 18

# Assumed if the system does not report caches (some containers hide sysfs). Every processor of the
# last ten years has at least these sizes, so cache blocks sized by them always fit.
DEFAULT_CACHES = (
    Cache(level=1, bytes=32 * 1024, line=64, associativity=8, shared_by=1),
    Cache(level=2, bytes=256 * 1024, line=64, associativity=8, shared_by=1),
)

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Sources:
    """The inputs of detection; tests pass folders of their own."""

    sysfs: Path
    proc: Path
    affinity: frozenset[int]
    cpu: str
    features: Mapping[str, bool]
    triple: str
    page_bytes: int


@functools.cache
def detect_host() -> Machine:
    """Return the machine this process runs on; detected once, later affinity is ignored."""
    affinity = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return detect(
        Sources(
            sysfs=Path("/sys"),
            proc=Path("/proc"),
            affinity=frozenset(affinity),
            cpu=binding.get_host_cpu_name(),
            features=without_forbidden_tiles(binding.get_host_cpu_features()),
            triple=binding.get_process_triple(),
            page_bytes=mmap.PAGESIZE,
        )
    )


def detect(sources: Sources) -> Machine:
    """Return the machine that `sources` describe."""
    enabled = frozenset(name for name, on in sources.features.items() if on)
    vector_bits = widest_vector_bits(enabled)
    features = dict(sources.features)
    if vector_bits == 512:
        # LLVM's tuning of several Intel processors prefers 256 bits; the emitter chooses the width.
        features["prefer-256-bit"] = False
    cpu = credible_processor(sources.cpu, enabled)
    pipes = fma_pipes(cpu)
    cores = usable_cores(sources.sysfs, sources.affinity)
    quota = quota_cores(sources.proc, sources.sysfs / "fs" / "cgroup")
    if quota is not None:
        cores = min(cores, max(1, math.floor(quota)))
    return Machine(
        name=f"{model_name(sources.proc) or 'unnamed processor'} ({cpu})",
        cpu=cpu,
        features=feature_string(features),
        triple=sources.triple,
        vector_bits=vector_bits,
        vector_registers=vector_registers(enabled),
        fma_units=pipes.units(vector_bits),
        fma_latency=pipes.latency,
        caches=data_caches(sources.sysfs, min(sources.affinity, default=0)) or DEFAULT_CACHES,
        cores_usable=cores,
        page_bytes=sources.page_bytes,
        matrix_unit=matrix_unit(enabled),
        costs=default_costs(cpu),
    )


def model_name(proc: Path) -> str | None:
    """Return the processor's model name from ``/proc/cpuinfo``, or None."""
    match = re.search(r"^model name\s*:\s*(\S.*?)\s*$", _text(proc / "cpuinfo"), re.MULTILINE)
    return match.group(1) if match else None


def data_caches(sysfs: Path, processor: int) -> tuple[Cache, ...]:
    """Return the data and unified caches of one logical processor by level; () if unknown."""
    folder = sysfs / "devices" / "system" / "cpu" / f"cpu{processor}" / "cache"
    caches = [_cache(index) for index in sorted(folder.glob("index[0-9]*"))]
    by_level = {cache.level: cache for cache in caches if cache is not None}
    return tuple(by_level[level] for level in sorted(by_level))


def usable_cores(sysfs: Path, affinity: frozenset[int]) -> int:
    """Return the number of physical cores under the logical processors of `affinity`, at least 1.

    Hardware threads of one core share its FMA units, so they count once.
    """
    folder = sysfs / "devices" / "system" / "cpu"
    cores = {
        _text(folder / f"cpu{processor}" / "topology" / "thread_siblings_list").strip()
        or str(processor)
        for processor in affinity
    }
    return max(1, len(cores))


def processors(text: str) -> frozenset[int]:
    """Return the numbers in a Linux processor list such as ``0-3,8``."""
    numbers: set[int] = set()
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)


def _cache(index: Path) -> Cache | None:
    """Return one cache, or None for an instruction cache or a folder without a size.

    Emulators report 0 for unknown values; the line size is then 64 bytes and the associativity 8.
    """
    size = re.fullmatch(r"(\d+)([KMG]?)", _text(index / "size").strip())
    level = _number(index / "level")
    if _text(index / "type").strip() not in ("Data", "Unified") or not size or not level:
        return None
    capacity = int(size[1]) * _UNITS[size[2]]
    if not capacity:
        return None
    return Cache(
        level=level,
        bytes=capacity,
        line=_number(index / "coherency_line_size") or 64,
        associativity=_number(index / "ways_of_associativity") or 8,
        shared_by=len(processors(_text(index / "shared_cpu_list"))) or 1,
    )


def _number(path: Path) -> int | None:
    text = _text(path).strip()
    return int(text) if text.isdigit() else None


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def without_forbidden_tiles(features: Mapping[str, bool]) -> dict[str, bool]:
    """Switch AMX off if the processor has it, but the kernel does not permit its use.

    Args:
        features: the processor's features by LLVM's names.
    """
    allowed = not features.get("amx-tile") or may_use_tiles()
    return {name: on and (allowed or not name.startswith("amx-")) for name, on in features.items()}


@functools.cache
def may_use_tiles() -> bool:
    """Whether the kernel permits this process to use tiles; asked once.

    The processor must be an x86-64 with AMX.
    """
    if not sys.platform.startswith("linux"):
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    number, request, feature = map(
        ctypes.c_long, (_SYS_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _XTILEDATA)
    )
    return int(libc.syscall(number, request, feature)) == 0

"""Detection of the machine this process runs on, from Linux's files and LLVM's look at the CPU."""

import functools
import math
import mmap
import os
import re
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
from polysched.machine.processors import fma_pipes

# What is assumed where the system does not tell (some containers hide sysfs): small enough to hold
# on every processor of the last ten years, so that blocks sized by it always fit.
DEFAULT_CACHES = (
    Cache(level=1, bytes=32 * 1024, line=64, associativity=8, shared_by=1),
    Cache(level=2, bytes=256 * 1024, line=64, associativity=8, shared_by=1),
)

_UNITS = {"": 1, "K": 1024, "M": 1024**2, "G": 1024**3}


@dataclass(frozen=True)
class Sources:
    """Where detection looks; tests put folders of their own here."""

    sysfs: Path
    proc: Path
    affinity: frozenset[int]
    cpu: str
    features: Mapping[str, bool]
    triple: str
    page_bytes: int


@functools.cache
def detect_host() -> Machine:
    """The machine this process runs on. Detected once: affinity changed later is not seen."""
    affinity = (
        os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
    )
    return detect(
        Sources(
            sysfs=Path("/sys"),
            proc=Path("/proc"),
            affinity=frozenset(affinity),
            cpu=binding.get_host_cpu_name(),
            features=dict(binding.get_host_cpu_features()),
            triple=binding.get_process_triple(),
            page_bytes=mmap.PAGESIZE,
        )
    )


def detect(sources: Sources) -> Machine:
    """The machine that `sources` describe."""
    enabled = frozenset(name for name, on in sources.features.items() if on)
    vector_bits = widest_vector_bits(enabled)
    features = dict(sources.features)
    if vector_bits == 512:
        # The tuning of several Intel names prefers 256 bits; the emitter decides the width itself.
        features["prefer-256-bit"] = False
    pipes = fma_pipes(sources.cpu)
    cores = usable_cores(sources.sysfs, sources.affinity)
    quota = quota_cores(sources.proc, sources.sysfs / "fs" / "cgroup")
    if quota is not None:
        cores = min(cores, max(1, math.floor(quota)))
    return Machine(
        name=f"{model_name(sources.proc) or 'unnamed processor'} ({sources.cpu})",
        cpu=sources.cpu,
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
    )


def model_name(proc: Path) -> str | None:
    """The processor's own name from ``/proc/cpuinfo``, or None."""
    found = re.search(r"^model name\s*:\s*(\S.*?)\s*$", _text(proc / "cpuinfo"), re.MULTILINE)
    return found.group(1) if found else None


def data_caches(sysfs: Path, processor: int) -> tuple[Cache, ...]:
    """The data and unified caches of one logical processor, in rising level; () where unknown."""
    folder = sysfs / "devices" / "system" / "cpu" / f"cpu{processor}" / "cache"
    found = [_cache(index) for index in sorted(folder.glob("index[0-9]*"))]
    by_level = {cache.level: cache for cache in found if cache is not None}
    return tuple(by_level[level] for level in sorted(by_level))


def usable_cores(sysfs: Path, affinity: frozenset[int]) -> int:
    """The number of physical cores under the logical processors of `affinity`, at least 1.

    Hardware threads of one core share its FMA pipes, so they count once.
    """
    folder = sysfs / "devices" / "system" / "cpu"
    cores = {
        _text(folder / f"cpu{processor}" / "topology" / "thread_siblings_list").strip()
        or str(processor)
        for processor in affinity
    }
    return max(1, len(cores))


def processors(text: str) -> frozenset[int]:
    """The numbers of a Linux processor list such as ``0-3,8``."""
    numbers: set[int] = set()
    for low, high in re.findall(r"(\d+)(?:-(\d+))?", text):
        numbers.update(range(int(low), int(high or low) + 1))
    return frozenset(numbers)


def _cache(index: Path) -> Cache | None:
    """One cache, or None for one of instructions or a folder that does not tell its size.

    Emulators report 0 for what they do not know: a line is then 64 bytes, and the ways are 8.
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

"""The hardware description: vectors, registers, FMA units, caches and cores of a machine."""

import re
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

from polysched.errors import MachineError
from polysched.machine.costs import Costs

FEWEST_REGISTERS = 8
"""Fewest vector registers of any processor with vectors; the library's schedules share them out."""

DEFAULT_CACHE_BYTES = (32 * 1024, 256 * 1024, 32 * 1024 * 1024)
"""Bytes of the caches of a machine whose caches are unknown, level 1 first."""

_FEATURES = re.compile(r"([+-][a-z0-9._-]+(,[+-][a-z0-9._-]+)*)?")


class HasBits(Protocol):
    """An element type."""

    @property
    def bits(self) -> int:
        """The size of an element."""


@dataclass(frozen=True)
class Cache:
    """One level of data cache as one core sees it.

    `bytes` is the whole size, `line` the size of a line in bytes, `associativity` the number of
    ways and `shared_by` the number of logical processors that share the cache.
    """

    level: int
    bytes: int
    line: int
    associativity: int
    shared_by: int

    def __post_init__(self) -> None:
        for key in ("level", "bytes", "line", "associativity", "shared_by"):
            _expect_positive(f"cache {key}", getattr(self, key))

    @property
    def sets(self) -> int:
        """The number of sets; addresses `sets * line` bytes apart map to the same set."""
        return max(1, self.bytes // (self.line * self.associativity))


@dataclass(frozen=True)
class Machine:
    """A machine: its names in LLVM, vectors, FMA units, caches and cores.

    - `cpu` and `features` are LLVM's. `features` is explicit, e.g. ``"+avx2,+fma,-avx512f"``, since
      a virtual machine may mask features that the processor's name implies.
    - `vector_bits` (128, 256 or 512) is the vector width that code generation uses, and
      `vector_registers` the number of registers of that width.
    - `fma_units` is the number of FMAs of that width started per cycle, `fma_latency` is in cycles.
    - `caches` are the data caches in ascending order of level.
    - `cores_usable` is the number of physical cores that this process may use.
    - `matrix_unit` names a matrix unit (``"amx"``), else None.
    - `costs` are the measured numbers of the cost models.

    Raises `MachineError`, naming the field, if a value is invalid.
    """

    name: str
    cpu: str
    features: str
    triple: str
    vector_bits: int
    vector_registers: int
    fma_units: int
    fma_latency: int
    caches: tuple[Cache, ...]
    cores_usable: int = 1
    page_bytes: int = 4096
    matrix_unit: str | None = None
    costs: Costs = field(default_factory=Costs)

    def __post_init__(self) -> None:
        for key in ("name", "cpu", "triple"):
            if not getattr(self, key):
                raise MachineError(f"machine: {key} is empty; expected a name")
        if self.vector_bits not in (128, 256, 512):
            raise MachineError(
                f"machine {self.name!r}: vector_bits is {self.vector_bits}; "
                "expected 128, 256 or 512"
            )
        if self.vector_registers < FEWEST_REGISTERS:
            raise MachineError(
                f"machine {self.name!r}: vector_registers is {self.vector_registers}; expected "
                f"{FEWEST_REGISTERS} or more"
            )
        for key in ("fma_units", "fma_latency", "cores_usable", "page_bytes"):
            _expect_positive(f"machine {self.name!r}: {key}", getattr(self, key))
        if not _FEATURES.fullmatch(self.features):
            raise MachineError(
                f"machine {self.name!r}: features is {self.features!r}; "
                "expected LLVM feature names, each after + or -, with commas between"
            )
        levels = [cache.level for cache in self.caches]
        if levels != sorted(set(levels)):
            raise MachineError(
                f"machine {self.name!r}: the caches have levels {levels}; expected rising levels"
            )

    def lanes(self, element: int | HasBits) -> int:
        """Return the number of elements in one vector register.

        Args:
            element: an element type such as ``ps.f32``, or its number of bits.
        """
        bits = element if isinstance(element, int) else element.bits
        if bits <= 0 or self.vector_bits % bits:
            raise MachineError(
                f"machine {self.name!r}: elements of {bits} bits do not fill a vector of "
                f"{self.vector_bits} bits; expected a divisor of it"
            )
        return self.vector_bits // bits

    def cache(self, level: int) -> Cache | None:
        """Return the data cache of a level, or None if the machine has none."""
        for cache in self.caches:  # each new shape asks: generators would take three times as long
            if cache.level == level:
                return cache
        return None

    def cache_bytes(self, level: int) -> int:
        """Return the bytes of a cache level, or of the next lower level that the machine has."""
        size = DEFAULT_CACHE_BYTES[min(level, len(DEFAULT_CACHE_BYTES)) - 1]
        for cache in self.caches:
            if cache.level <= level:
                size = cache.bytes
        return size

    @property
    def last_cache_bytes(self) -> int:
        """The bytes of the last cache."""
        levels = [cache.level for cache in self.caches]
        return self.cache_bytes(max(levels, default=len(DEFAULT_CACHE_BYTES)))

    @cached_property
    def near_caches(self) -> tuple[Cache, ...]:
        """The caches, of the third level only the part that is near to one core."""
        near = self.costs.near_l3_bytes
        return tuple(
            replace(cache, bytes=near) if cache.level == 3 and cache.bytes > near else cache
            for cache in self.caches
        )

    def has(self, feature: str) -> bool:
        """Return whether `features` enables an LLVM feature, e.g. ``has("avx512f")``."""
        return feature in self.enabled_features

    @property
    def enabled_features(self) -> frozenset[str]:
        """The features that `features` enables; the last mention of a feature counts."""
        return self._features("+")

    @property
    def disabled_features(self) -> frozenset[str]:
        """The features that `features` disables."""
        return self._features("-")

    def _features(self, sign: str) -> frozenset[str]:
        signs = {item[1:]: item[0] for item in self.features.split(",") if item}
        return frozenset(feature for feature, last in signs.items() if last == sign)

    def flops_per_cycle(self, bits: int) -> int:
        """Return the peak of one core in operations per cycle; an FMA counts as two."""
        return 2 * self.fma_units * self.lanes(bits)

    def missing_on(self, host: "Machine") -> tuple[str, ...]:
        """Return the features that this machine's code may use and `host` lacks.

        The code runs on `host` if there are none. Tuning hints (``prefer-...``) are never missing.
        """
        needed = {f for f in self.enabled_features if not f.startswith("prefer-")}
        return tuple(sorted(needed - host.enabled_features))


def _expect_positive(name: str, value: int) -> None:
    if value < 1:
        raise MachineError(f"{name} is {value}; expected a positive number")

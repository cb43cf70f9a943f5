"""The hardware abstraction layer: all that polysched knows of a machine, as one value."""

import re
from dataclasses import dataclass

from polysched.errors import MachineError

FEWEST_REGISTERS = 8
"""Of the processors that have vectors at all; the schedules of the library divide them up."""

_FEATURES = re.compile(r"([+-][a-z0-9._-]+(,[+-][a-z0-9._-]+)*)?")


@dataclass(frozen=True)
class Cache:
    """One level of data cache as one core sees it.

    `bytes` is the whole size, `line` the line's size in bytes, `associativity` the ways of a set
    and `shared_by` the number of logical processors that share the cache.
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
        """The number of sets; lines `sets * line` bytes apart compete for one of them."""
        return max(1, self.bytes // (self.line * self.associativity))


@dataclass(frozen=True)
class Machine:
    """A machine: LLVM's names for it, its vectors, FMA pipes, caches, cores.

    - `cpu` and `features` are LLVM's; `features` is explicit, e.g. ``"+avx2,+fma,-avx512f"``, since
      the name may promise what a virtual machine masks.
    - `vector_bits` (128, 256 or 512) is the width the emitter uses; `vector_registers` how many.
    - `fma_units` is the number of FMAs of that width started each cycle, `fma_latency` in cycles.
    - `caches` are the data caches in rising level.
    - `cores_usable` counts the physical cores that this process may keep busy.
    - `matrix_unit` names a matrix unit (``"amx"``), else None.

    Raises `MachineError`, naming the field, when a value makes no sense.
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

    def lanes(self, bits: int) -> int:
        """How many elements of `bits` bits (e.g. 32) one vector register holds."""
        if bits <= 0 or self.vector_bits % bits:
            raise MachineError(
                f"machine {self.name!r}: elements of {bits} bits do not fill a vector of "
                f"{self.vector_bits} bits; expected a divisor of it"
            )
        return self.vector_bits // bits

    def cache(self, level: int) -> Cache | None:
        """The data cache of that level, or None where the machine has none."""
        return next((cache for cache in self.caches if cache.level == level), None)

    def has(self, feature: str) -> bool:
        """Whether `features` switches this LLVM feature on, e.g. ``has("avx512f")``."""
        return feature in self.enabled_features

    @property
    def enabled_features(self) -> frozenset[str]:
        """The features that `features` switches on; the last mention of one counts, as in LLVM."""
        return self._features("+")

    @property
    def disabled_features(self) -> frozenset[str]:
        """The features that `features` switches off."""
        return self._features("-")

    def _features(self, sign: str) -> frozenset[str]:
        signs = {item[1:]: item[0] for item in self.features.split(",") if item}
        return frozenset(feature for feature, last in signs.items() if last == sign)

    def flops_per_cycle(self, bits: int) -> int:
        """The peak of one core, an FMA counted as two operations."""
        return 2 * self.fma_units * self.lanes(bits)

    def missing_on(self, host: "Machine") -> tuple[str, ...]:
        """The features that this machine's code may use and `host` lacks; empty: it runs there.

        Tuning hints (``prefer-...``) are not instructions and never missing.
        """
        needed = {f for f in self.enabled_features if not f.startswith("prefer-")}
        return tuple(sorted(needed - host.enabled_features))


def _expect_positive(what: str, value: int) -> None:
    if value < 1:
        raise MachineError(f"{what} is {value}; expected a positive number")

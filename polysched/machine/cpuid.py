"""Runtime detection of instruction sets in exported code: the ``cpuid`` queries that guard it.

Exported code runs on other processors, so it queries ``cpuid`` and ``xgetbv`` first: a missing
instruction kills the process, and ``lzcnt`` and ``tzcnt`` silently give wrong results. The bits are
those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A, CPUID, and
volume 1, 13.3 and 14.3 (the registers that the operating system saves).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from enum import IntEnum
from types import MappingProxyType

from polysched.errors import MachineError
from polysched.machine.description import Machine
from polysched.machine.target import require_x86_names
from polysched.machine.x86_names import FEATURES


class Register(IntEnum):
    """The registers of a result of ``cpuid``, in its order."""

    EAX = 0
    EBX = 1
    ECX = 2
    EDX = 3


@dataclass(frozen=True)
class Question:
    """A query: whether a register has all bits of ``mask`` set and is at least ``minimum``.

    ``leaf`` and ``subleaf`` are the inputs of ``cpuid``. A leaf of None stands for ``xgetbv`` of
    register 0, whose EAX tells which registers the operating system saves. Numbers are unsigned.
    """

    leaf: int | None
    subleaf: int
    register: Register
    mask: int = 0
    minimum: int = 0


_EXTENDED = 0x80000000
_LAST_BASIC, _BASIC, _STRUCTURED, _LAST_EXTENDED, _LONG = 0, 1, 7, _EXTENDED, _EXTENDED + 1
_OSXSAVE = 1 << 27
"""Bit OSXSAVE of leaf 1, ECX: ``xgetbv`` may be used."""

_YMM_SAVED = 0b110
_ZMM_SAVED = 0b11100110

# The bit of each feature, under LLVM's name, by leaf, subleaf and register.
_FEATURE_BITS: Mapping[tuple[int, int, Register], Mapping[str, int]] = MappingProxyType(
    {
        (_BASIC, 0, Register.ECX): {
            "sse3": 0,
            "ssse3": 9,
            "fma": 12,
            "sse4.1": 19,
            "sse4.2": 20,
            "movbe": 22,
            "popcnt": 23,
            "avx": 28,
            "f16c": 29,
        },
        (_STRUCTURED, 0, Register.EBX): {
            "bmi": 3,
            "avx2": 5,
            "bmi2": 8,
            "avx512f": 16,
            "avx512dq": 17,
            "avx512ifma": 21,
            "avx512cd": 28,
            "avx512bw": 30,
            "avx512vl": 31,
        },
        (_STRUCTURED, 0, Register.ECX): {
            "avx512vbmi": 1,
            "avx512vbmi2": 6,
            "gfni": 8,
            "avx512vnni": 11,
            "avx512bitalg": 12,
            "avx512vpopcntdq": 14,
        },
        (_STRUCTURED, 0, Register.EDX): {"avx512vp2intersect": 8, "avx512fp16": 23},
        (_STRUCTURED, 1, Register.EAX): {"avxvnni": 4, "avx512bf16": 5, "avxifma": 23},
        (_STRUCTURED, 1, Register.EDX): {"avxvnniint8": 4, "avxneconvert": 5, "avxvnniint16": 10},
        (_LONG, 0, Register.ECX): {"lzcnt": 5},
    }
)

CHECKED = frozenset(feature for features in _FEATURE_BITS.values() for feature in features)
"""The features that exported code can query, and so the only features that it may use."""

# Features of every 64-bit processor, and tuning hints, which are harmless if they are wrong.
_UNCHECKED = frozenset(
    """
    64bit cmov cx8 fxsr mmx nopl sse sse2 x87
    branchfusion ermsb evex512 false-deps-perm fast-gather fast-variable-crosslane-shuffle
    fast-variable-perlane-shuffle fsrm macrofusion prefer-128-bit prefer-256-bit prefer-no-gather
    prefer-no-scatter slow-3ops-lea vzeroupper
    """.split()
)

# The features that a feature implies, in LLVM or on all processors that have it.
_IMPLIED: Mapping[str, tuple[str, ...]] = MappingProxyType(
    {
        "ssse3": ("sse3",),
        "sse4.1": ("ssse3",),
        "sse4.2": ("sse4.1",),
        "avx": ("sse4.2", "popcnt"),
        "f16c": ("avx",),
        "fma": ("avx",),
        "avx2": ("avx",),
        "avx512f": ("avx2", "fma", "f16c"),
        "avx512fp16": ("avx512bw", "avx512dq", "avx512vl"),
    }
)


def checkable(machine: Machine) -> Machine:
    """Return the machine without the features that ``cpuid`` queries cannot detect.

    Its code runs wherever all :func:`questions` are answered with yes. Features that the
    processor's name implies are switched off too, unless the machine enables them itself.

    Raises:
        MachineError: the machine is not 64-bit x86, or LLVM does not know a name.
    """
    if not machine.triple.startswith("x86_64"):
        raise MachineError(
            f"machine {machine.name!r}: code for {machine.triple!r} cannot query the features of "
            "its processor; expected a triple that begins with 'x86_64' (C text works everywhere)"
        )
    require_x86_names(machine)
    used = _checked(machine.enabled_features)
    others = FEATURES - _UNCHECKED - used
    unchecked = [item for item in machine.features.split(",") if item[1:] in _UNCHECKED]
    # LLVM reads from left to right, and each item also switches the features that depend on it.
    items = [
        *(f"-{name}" for name in sorted(others)),
        *unchecked,
        *(f"+{name}" for name in sorted(used)),
    ]
    return replace(machine, features=",".join(items), matrix_unit=None)


def questions(features: Set[str]) -> tuple[Question, ...]:
    """Return the queries to make, in this order, before code with these features runs.

    Every answer must be yes. An earlier query ensures that a later one is valid.
    """
    return tuple(dict.fromkeys(_questions(_checked(features))))


def _checked(features: Set[str]) -> frozenset[str]:
    """Return the features that can be queried, with all features that they imply."""
    closure, waiting = set(), sorted(features & CHECKED)
    while waiting:
        feature = waiting.pop()
        if feature not in closure:
            closure.add(feature)
            base = ("avx512f",) if feature.startswith("avx512") else ()
            later = ("avx2",) if feature.startswith("avx") and feature != "avx" else ()
            waiting += [*_IMPLIED.get(feature, ()), *base, *later]
    return frozenset(closure)


def _questions(features: frozenset[str]) -> Iterator[Question]:
    masks = {
        source: sum(1 << bit for feature, bit in bits.items() if feature in features)
        for source, bits in _FEATURE_BITS.items()
    }
    if "avx" in features:
        masks[_BASIC, 0, Register.ECX] |= _OSXSAVE
    leaves: set[tuple[int, int]] = set()
    for (leaf, subleaf, register), mask in masks.items():
        if not mask:
            continue
        if (leaf, subleaf) not in leaves:
            leaves.add((leaf, subleaf))
            yield from _exists(leaf, subleaf)
        yield Question(leaf, subleaf, register, mask)
        if leaf == _BASIC and "avx" in features:
            saved = _ZMM_SAVED if "avx512f" in features else _YMM_SAVED
            yield Question(None, 0, Register.EAX, saved)


def _exists(leaf: int, subleaf: int) -> Iterator[Question]:
    """Yield the queries that a leaf exists.

    Some processors answer a query of a missing leaf with the data of another leaf.
    """
    if leaf == _STRUCTURED:
        yield Question(_LAST_BASIC, 0, Register.EAX, minimum=_STRUCTURED)
        if subleaf:
            yield Question(_STRUCTURED, 0, Register.EAX, minimum=subleaf)
    if leaf == _LONG:
        yield Question(_LAST_EXTENDED, 0, Register.EAX, minimum=_LONG)

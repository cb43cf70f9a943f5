"""The instruction sets that code may use only after asking the processor, and how it is asked.

Code that is compiled here and runs elsewhere asks ``cpuid`` and ``xgetbv`` first, since a missing
instruction kills the process (``lzcnt`` and ``tzcnt`` even give wrong results without a word). The
bits are those of the Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2A,
CPUID, and volume 1, 13.3 and 14.3 (which registers the operating system saves).
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
    """The registers of an answer, in the order of ``cpuid``'s results."""

    EAX = 0
    EBX = 1
    ECX = 2
    EDX = 3


@dataclass(frozen=True)
class Question:
    """Whether a register of an answer has all bits of ``mask`` and is at least ``minimum``.

    ``leaf`` and ``subleaf`` are what ``cpuid`` is asked; no leaf stands for ``xgetbv`` of register
    0, which tells in EAX what the operating system saves. Numbers are unsigned.
    """

    leaf: int | None
    subleaf: int
    register: Register
    mask: int = 0
    minimum: int = 0


_EXTENDED = 0x80000000
_LAST_BASIC, _BASIC, _STRUCTURED, _LAST_EXTENDED, _LONG = 0, 1, 7, _EXTENDED, _EXTENDED + 1
_SAVES = 1 << 27
"""Leaf 1, ECX: ``xgetbv`` may be used."""

_YMM_SAVED = 0b110
_ZMM_SAVED = 0b11100110

# Leaf, subleaf, register, and the bit of each feature, by LLVM's names.
_PLACES: Mapping[tuple[int, int, Register], Mapping[str, int]] = MappingProxyType(
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

CHECKED = frozenset(feature for features in _PLACES.values() for feature in features)
"""The features that exported code can ask for, and so the only ones that it may use."""

# What every 64-bit processor has, and hints for tuning: harmless where they are not true.
_UNCHECKED = frozenset(
    """
    64bit cmov cx8 fxsr mmx nopl sse sse2 x87
    branchfusion ermsb evex512 false-deps-perm fast-gather fast-variable-crosslane-shuffle
    fast-variable-perlane-shuffle fsrm macrofusion prefer-128-bit prefer-256-bit prefer-no-gather
    prefer-no-scatter slow-3ops-lea vzeroupper
    """.split()
)

# What a feature brings along, in LLVM or on all processors that have it.
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
    """The machine without the features that code cannot ask for; its code runs wherever all of
    :func:`questions` are answered with yes.

    What the processor's name promises is switched off too, unless the machine itself says so.

    Raises:
        MachineError: it is no 64-bit x86 machine, or LLVM does not know a name.
    """
    if not machine.triple.startswith("x86_64"):
        raise MachineError(
            f"machine {machine.name!r}: code for {machine.triple!r} cannot ask its processor what "
            "it can do; expected a triple that begins with 'x86_64' (C text works everywhere)"
        )
    require_x86_names(machine)
    used = _checked(machine.enabled_features)
    others = FEATURES - _UNCHECKED - used
    given = [item for item in machine.features.split(",") if item[1:] in _UNCHECKED]
    # LLVM goes from left to right, and switching one feature off or on moves what hangs on it.
    items = [
        *(f"-{name}" for name in sorted(others)),
        *given,
        *(f"+{name}" for name in sorted(used)),
    ]
    return replace(machine, features=",".join(items), matrix_unit=None)


def questions(features: Set[str]) -> tuple[Question, ...]:
    """What to ask, in this order, before code with these features runs: every answer must be yes.

    An earlier question makes sure that a later one may be asked.
    """
    return tuple(dict.fromkeys(_questions(_checked(features))))


def _checked(features: Set[str]) -> frozenset[str]:
    """Those that are asked for, with all that they bring along."""
    found, waiting = set(), sorted(features & CHECKED)
    while waiting:
        feature = waiting.pop()
        if feature not in found:
            found.add(feature)
            base = ("avx512f",) if feature.startswith("avx512") else ()
            later = ("avx2",) if feature.startswith("avx") and feature != "avx" else ()
            waiting += [*_IMPLIED.get(feature, ()), *base, *later]
    return frozenset(found)


def _questions(features: frozenset[str]) -> Iterator[Question]:
    asked = {
        place: sum(1 << bit for feature, bit in bits.items() if feature in features)
        for place, bits in _PLACES.items()
    }
    if "avx" in features:
        asked[_BASIC, 0, Register.ECX] |= _SAVES
    leaves: set[tuple[int, int]] = set()
    for (leaf, subleaf, register), mask in asked.items():
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
    """Whether there is such a leaf: some processors answer for another one where there is not."""
    if leaf == _STRUCTURED:
        yield Question(_LAST_BASIC, 0, Register.EAX, minimum=_STRUCTURED)
        if subleaf:
            yield Question(_STRUCTURED, 0, Register.EAX, minimum=subleaf)
    if leaf == _LONG:
        yield Question(_LAST_EXTENDED, 0, Register.EAX, minimum=_LONG)

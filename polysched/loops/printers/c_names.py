"""Names of arrays and variables in C: their own names unless these are taken."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from polysched.ir.expr.operators import LIBRARY_BINARY, LIBRARY_UNARY
from polysched.loops.ir.nodes import For, LoopProgram, walk

KEYWORDS = frozenset(
    """
    auto bool break case char const continue default do double else enum extern false float for
    goto if inline int long register restrict return short signed sizeof static struct switch true
    typedef union unsigned void volatile while
    """.split()
)
"""The words of C99 and of its header ``stdbool.h``."""

CPP_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm bitand bitor catch char16_t char32_t char8_t class co_await
    co_return co_yield compl concept const_cast consteval constexpr constinit decltype delete
    dynamic_cast explicit export friend mutable namespace new noexcept not not_eq nullptr operator
    or or_eq private protected public reinterpret_cast requires static_assert static_cast template
    this thread_local throw try typeid typename using virtual wchar_t xor xor_eq
    """.split()
)
"""The words of C++20 that C does not have."""

_LIBRARY = {operator.value for operator in LIBRARY_UNARY | LIBRARY_BINARY}

_RESERVED = (
    KEYWORDS
    | CPP_KEYWORDS
    | _LIBRARY
    | {f"{name}f" for name in _LIBRARY}
    | frozenset(
        """
    main linux unix i386
    int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t size_t
    INT8_MIN INT16_MIN INT32_MIN INT64_MIN INT64_MAX INT64_C UINT64_C NAN INFINITY NULL
    ceil ceilf exp expf fabs fabsf floor floorf fma fmaf free malloc rint rintf
    round roundf signbit sqrt sqrtf trunc truncf elements workspace lanes
    """.split()
    )
)


@dataclass(frozen=True)
class CNames:
    """The C names of the function, the arrays and the parameters and loop variables."""

    function: str
    arrays: Mapping[str, str]
    variables: Mapping[str, str]


def c_names(program: LoopProgram, taken: Collection[str]) -> CNames:
    """Choose names that differ from each other, from C's keywords and from those ``taken``."""
    used = {*_RESERVED, *taken}
    variables = [node.variable for node in walk(program.body) if isinstance(node, For)]
    function = _named([program.name], used)
    arrays = _named(program.arrays, used)
    return CNames(function[program.name], arrays, _named([*program.parameters, *variables], used))


def _named(names: Iterable[str], used: set[str]) -> dict[str, str]:
    """A new name for each of ``names``, added to ``used``."""
    result = {}
    for name in dict.fromkeys(names):
        candidate = name
        while candidate in used:
            candidate += "_"
        used.add(candidate)
        result[name] = candidate
    return result

"""Advice on making a picture smaller, in the names of the user's kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from polysched.ir.isl.extrema import greatest, least
from polysched.ir.semantics.points import at_parameters
from polysched.schedule.core.program import Program


def ways_to_shrink(
    program: Program,
    shown: Sequence[str],
    sizes: Mapping[str, int] | Sequence[str],
    dimensions: Sequence[str] | None = None,
    at: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """Suggest ways to make a picture smaller, as an imperative sentence.

    Args:
        program: the scheduled program.
        shown: the statements in the picture.
        sizes: the parameters, with their values if known.
        dimensions: the axes; None if fixing an index would not make the picture smaller.
        at: the dimensions that are already fixed.
    """
    ways = []
    if sizes:
        known = sizes if isinstance(sizes, Mapping) else dict.fromkeys(sizes, 0)
        name = max(known, key=lambda parameter: known[parameter])
        than = f" than {known[name]}" if known[name] else ""
        ways.append(f"use a smaller '{name}'{than} (--size {name}=...)")
    if dimensions is not None and isinstance(sizes, Mapping):
        fixed = _index_to_fix(program, shown, sizes, (*dimensions, *at))
        if fixed is not None:
            name, value = fixed
            ways.append(f"fix '{name}' (at={{'{name}': {value}}}, or --at {name}={value})")
    if len(shown) > 1:
        ways.append(f"show one statement (statements=('{shown[0]}',), or --statement {shown[0]})")
    return ", or ".join(ways) or "declare the kernel with smaller sizes"


def _index_to_fix(
    program: Program,
    shown: Sequence[str],
    sizes: Mapping[str, int],
    taken: Sequence[str],
) -> tuple[str, int] | None:
    """The index with the largest range that is neither an axis nor fixed, and its least value."""
    extents: dict[str, tuple[int, int]] = {}
    for name in shown:
        statement = program.statements[name]
        domain = at_parameters(statement.domain, sizes)
        for position, index in enumerate(statement.indices):
            low, high = least(domain, position), greatest(domain, position)
            if index not in taken and low is not None and high is not None and high > low:
                extents.setdefault(index, (high - low, low))
    if not extents:
        return None
    longest = max(extents, key=lambda index: extents[index][0])
    return longest, extents[longest][1]

"""What to change about a picture that is too large, in names of the kernel at hand."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from polysched.ir.extrema import greatest, least
from polysched.ir.points import at_parameters
from polysched.schedule.program import Program


def ways_to_shrink(
    program: Program,
    shown: Sequence[str],
    sizes: Mapping[str, int] | Sequence[str],
    dimensions: Sequence[str] | None = None,
    at: Mapping[str, int] = MappingProxyType({}),
) -> str:
    """What makes a picture smaller, as an imperative.

    Args:
        sizes: the parameters, with the values that they have.
        dimensions: the axes; None if an index that is fixed makes the picture no smaller.
        at: the dimensions that are fixed already.
    """
    ways = []
    if sizes:
        given = sizes if isinstance(sizes, Mapping) else dict.fromkeys(sizes, 0)
        name = max(given, key=lambda one: given[one])
        than = f" than {given[name]}" if given[name] else ""
        ways.append(f"take a smaller '{name}'{than} (--size {name}=...)")
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
    """The longest index that is neither an axis nor fixed, and its least value."""
    extents: dict[str, tuple[int, int]] = {}
    for statement in shown:
        found = program.statements[statement]
        domain = at_parameters(found.domain, sizes)
        for position, index in enumerate(found.indices):
            low, high = least(domain, position), greatest(domain, position)
            if index not in taken and low is not None and high is not None and high > low:
                extents.setdefault(index, (high - low, low))
    if not extents:
        return None
    name = max(extents, key=lambda index: extents[index][0])
    return name, extents[name][1]

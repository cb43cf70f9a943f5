"""Choose a part of a domain that is too large for a picture."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod

import islpy as isl

from polysched.ir.semantics.points import at_parameters, bounding_box
from polysched.legality.verdicts.verdict import Violation
from polysched.plot.dimensions import coordinate, witness_values
from polysched.plot.instances import fixed_domain
from polysched.plot.view import Fixed
from polysched.schedule.core.program import Program

READABLE = 1_500
"""Limit on the bounding boxes of a part's instances, in points: some 25 x 25 dots with arrows."""

_BESIDE_AXES = 2
"""Values that remain of an index that is not an axis: two show the dependences its loop carries."""


def readable_part(
    program: Program,
    shown: Sequence[str],
    axes: Sequence[str],
    at: Fixed,
    sizes: Mapping[str, int],
    violation: Violation | None,
) -> dict[str, range]:
    """Ranges of indices, so that the instances within them make a readable picture.

    Indices that are not axes are shortened first. A range holds the witness of a violation, else
    the lexicographically least instance of the deepest statement that has the index.

    Args:
        axes: the dimensions that are axes.
        at: the values at which instances are shown.
        violation: the violation that the picture shows.
    """
    extents: dict[str, range] = {}
    kept: dict[str, list[int]] = {}
    for name in sorted(shown, key=lambda name: -len(program.statements[name].indices)):
        domain = at_parameters(fixed_domain(program, name, at), sizes)
        if domain.is_empty():
            continue
        indices = program.statements[name].indices
        first = domain.lexmin().sample_point()
        for position, (index, extent) in enumerate(zip(indices, bounding_box(domain), strict=True)):
            present = extents.get(index, extent)
            extents[index] = range(min(present.start, extent.start), max(present.stop, extent.stop))
            value = first.get_coordinate_val(isl.dim_type.set, position)
            kept.setdefault(index, [int(value.to_python())])
    for index in extents:
        pair = [values[index] for values in witness_values(program, shown, violation)]
        kept[index] = pair or kept[index]
    lengths = _shortened(program, shown, set(_behind(program, shown, axes)), extents, kept)
    return {
        index: _around(kept[index], length, extents[index])
        for index, length in lengths.items()
        if length < len(extents[index])
    }


def _behind(program: Program, shown: Sequence[str], axes: Sequence[str]) -> Iterator[str]:
    """The indices that the axes depend on."""
    for name in shown:
        indices = program.statements[name].indices
        for function in (coordinate(program, name, axis) for axis in axes):
            if function is not None:
                for position, index in enumerate(indices):
                    if function.involves_dims(isl.dim_type.in_, position, 1):
                        yield index


def _shortened(
    program: Program,
    shown: Sequence[str],
    behind: set[str],
    extents: Mapping[str, range],
    kept: Mapping[str, Sequence[int]],
) -> dict[str, int]:
    """Lengths of ranges: the longest is halved until the picture is readable."""
    lengths = {index: len(extent) for index, extent in extents.items()}
    least = {
        index: max(max(kept[index]) - min(kept[index]) + 1, 1 if index in behind else _BESIDE_AXES)
        for index in lengths
    }
    while _points(program, shown, lengths) > READABLE:
        longer = [index for index, length in lengths.items() if length > least[index]]
        if not longer:
            break
        longest = max(longer, key=lambda index: (index not in behind, lengths[index]))
        lengths[longest] = max(least[longest], lengths[longest] // 2)
    return lengths


def _points(program: Program, shown: Sequence[str], lengths: Mapping[str, int]) -> int:
    return sum(
        prod(lengths.get(index, 1) for index in program.statements[name].indices) for name in shown
    )


def _around(values: Sequence[int], length: int, extent: range) -> range:
    """A range of a length inside an extent with the values near its middle."""
    start = (min(values) + max(values) + 1 - length) // 2
    start = max(extent.start, min(start, extent.stop - length))
    return range(start, start + length)

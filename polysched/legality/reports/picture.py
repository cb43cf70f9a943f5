"""Draw the iteration space around a witness as text."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polysched.errors import KernelError
from polysched.ir.isl.quota import QuotaExceededError, operation_quota
from polysched.legality.reports.plane import Cell, Plane, planes
from polysched.legality.verdicts.verdict import Violation
from polysched.schedule.core.program import Program

WIDTH = 60
"""Largest length of a line, in characters."""

QUOTA = 200_000
"""isl operations for one picture; if they are spent, there is no picture."""

SECONDS = 0.5
"""Wall time for one picture, in seconds."""

# Numbers of (outer, inner) values to show; the first pair that fits into WIDTH is used.
_SIZES = ((8, 8), (8, 6), (8, 5), (8, 4), (8, 3), (8, 2))
_GAP = "..."
_BETWEEN = " " * 4


def picture(program: Program, violation: Violation) -> tuple[str, ...]:
    """Draw the instances around a witness and the order in which the schedule runs them.

    The left grid shows the instances as dots, the source of the witness as A and the sink as B. The
    right grid, if there is room, numbers the shown instances in the order of the schedule. Equal
    numbers run at once.

    ::

        instances of S       order of the schedule
        i\\j  2  3            i\\j   2   3
          2  .  A              2   1  3A
          3  B  .              3  2B   4
        A = S[2,3], B = S[3,2]

    The result is empty if the witness is one instance, a statement is in no loop, the numbers are
    too long for a line, or isl exceeds its quota.

    Args:
        program: the program in which the violation was found; for a fault of the declared kernel,
            the program before the first step.
    """
    try:
        with operation_quota(QUOTA, SECONDS):
            for with_order in (True, False):
                for size in _SIZES:
                    shown = planes(program, violation.witness, size)
                    lines = _lines(shown, with_order=with_order)
                    if max(map(len, lines), default=0) <= WIDTH:
                        return (*lines, *_legend(violation)) if lines else ()
    except (QuotaExceededError, KernelError, isl.Error):
        pass
    return ()


def _lines(shown: tuple[Plane, ...], *, with_order: bool) -> list[str]:
    times = {cell.time for plane in shown for cell in plane.cells.values()}
    numbers = {time: str(number) for number, time in enumerate(sorted(times), start=1)}
    lines = []
    for plane in shown:
        block = [
            _title(plane, WIDTH // 2 if with_order else WIDTH),
            *_grid(plane, lambda cell: cell.mark or "."),
        ]
        if with_order:
            order = _grid(plane, lambda cell: f"{numbers[cell.time]}{cell.mark or ' '}")
            width = max(map(len, block))
            block = [
                f"{left.ljust(width)}{_BETWEEN}{right}"
                for left, right in zip(block, ["order of the schedule", *order], strict=True)
            ]
        lines += [line.rstrip() for line in block]
    return lines


def _title(plane: Plane, width: int) -> str:
    fixed = ", ".join(f"{name} = {value}" for name, value in plane.fixed)
    title = f"{plane.statement} at {fixed}" if fixed else f"instances of {plane.statement}"
    return title if len(title) <= width else f"{title[: width - len(_GAP)]}{_GAP}"


def _grid(plane: Plane, text: Callable[[Cell], str]) -> list[str]:
    """Format a header of column values, and a line for each row."""
    *outer, inner = plane.axes
    table = [["\\".join(axis.name for axis in plane.axes), *map(_value, inner.values)]]
    for row in outer[0].values if outer else (None,):
        label = _value(row) if outer else ""
        places = [(row, column) if outer else (column,) for column in inner.values]
        cells = [plane.cells.get(place) for place in places]
        table.append([label, *("" if cell is None else text(cell) for cell in cells)])
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    return [
        "  ".join(cell.rjust(width) for cell, width in zip(line, widths, strict=True))
        for line in table
    ]


def _value(value: int | None) -> str:
    return _GAP if value is None else str(value)


def _legend(violation: Violation) -> tuple[str, ...]:
    source, sink = violation.witness.source, violation.witness.sink
    return () if sink is None else (f"A = {source.name}, B = {sink.name}",)

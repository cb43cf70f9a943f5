"""Results of races as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from polysched.bench.race import Result, Withdrawn


class RacedContestant(Protocol):
    """A result of any race."""

    @property
    def contestant(self) -> str:
        """The contestant's name."""

    @property
    def held_back(self) -> str | None:
        """Why its kernels are not the best for this processor."""


HEADINGS = ("kernel", "contestant", "of peak", "GFLOP/s", "peak GFLOP/s", "runs", "max abs error")
IS_NUMBER = (False, False, True, True, True, True, True)


def markdown_table(results: Sequence[Result], withdrawn: Sequence[Withdrawn] = ()) -> str:
    """The results, fastest first within each kernel, then a line for each withdrawn contestant.

    Kernels keep the order in which they first appear. Columns are padded, so that the text can be
    read as it stands too. Ends with a newline.
    """
    kernels = list(dict.fromkeys(result.kernel for result in results))
    ordered = sorted(
        results, key=lambda result: (kernels.index(result.kernel), -result.fraction_of_peak)
    )
    rows = [HEADINGS, *(_cells(result) for result in ordered)]
    widths = [max(3, *(len(row[column]) for row in rows)) for column in range(len(HEADINGS))]
    rule = [
        "-" * (width - 1) + ":" if is_number else "-" * width
        for width, is_number in zip(widths, IS_NUMBER, strict=True)
    ]
    lines = [_line(rows[0], widths), _line(rule, widths)]
    lines += [_line(row, widths) for row in rows[1:]]
    if withdrawn:
        lines.append("")
        lines += [
            f"Not raced: {entry.contestant} ({entry.kernel}): {entry.reason}."
            for entry in withdrawn
        ]
    return "\n".join(lines) + "\n"


def _cells(result: Result) -> tuple[str, ...]:
    """Format a result, with as many digits as are reproducible on a shared machine."""
    return (
        _escaped(result.kernel),
        _escaped(contestant_cell(result)),
        f"{result.fraction_of_peak:.3f}",
        f"{result.gflops:.1f}",
        f"{result.peak_gflops:.1f}",
        str(result.runs),
        f"{result.max_abs_err:.1e}",
    )


def contestant_cell(result: RacedContestant) -> str:
    """The contestant's name, marked if its kernels are not the best for this processor."""
    return result.contestant if result.held_back is None else f"{result.contestant} (held back)"


def _escaped(text: str) -> str:
    """Escape the characters that would end a cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One row, words to the left and numbers to the right."""
    padded = (
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, is_number in zip(cells, widths, IS_NUMBER, strict=True)
    )
    return f"| {' | '.join(padded)} |"

"""Results of races as a Markdown table."""

from __future__ import annotations

from collections.abc import Sequence
from types import MappingProxyType

from polysched.bench.race import Result

_RATES = MappingProxyType(
    {
        "flop": ("of peak", "GFLOP/s", "peak GFLOP/s"),
        "byte": ("of a copy", "GB/s", "copy GB/s"),
    }
)
_IS_NUMBER = (False, False, True, True, True, True, True)


def markdown_table(results: Sequence[Result]) -> str:
    """The results, fastest first within each kernel; empty without results.

    Kernels keep the order in which they first appear. Columns are padded, so that the text can be
    read as it stands too. Ends with a newline.

    Args:
        results: all of one unit.
    """
    if not results:
        return ""
    kernels = list(dict.fromkeys(result.kernel for result in results))
    ordered = sorted(
        results, key=lambda result: (kernels.index(result.kernel), -result.fraction_of_peak)
    )
    headings = ("kernel", "contestant", *_RATES[results[0].unit], "runs", "max abs error")
    rows = [headings, *map(_cells, ordered)]
    widths = [max(3, *map(len, column)) for column in zip(*rows, strict=True)]
    rule = [
        "-" * (width - 1) + ":" if is_number else "-" * width
        for width, is_number in zip(widths, _IS_NUMBER, strict=True)
    ]
    lines = [_line(row, widths) for row in (headings, rule, *rows[1:])]
    return "\n".join(lines) + "\n"


def _cells(result: Result) -> tuple[str, ...]:
    """Format a result, with as many digits as are reproducible on a shared machine."""
    held_back = "" if result.held_back is None else " (held back)"
    return (
        _escaped(result.kernel),
        _escaped(result.contestant + held_back),
        f"{result.fraction_of_peak:.3f}",
        f"{result.rate:.1f}",
        f"{result.peak_rate:.1f}",
        str(result.runs),
        f"{result.max_abs_err:.1e}",
    )


def _escaped(text: str) -> str:
    """Escape the characters that would end a cell."""
    return text.replace("|", "\\|").replace("\n", " ")


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    """One row, words to the left and numbers to the right."""
    padded = (
        cell.rjust(width) if is_number else cell.ljust(width)
        for cell, width, is_number in zip(cells, widths, _IS_NUMBER, strict=True)
    )
    return f"| {' | '.join(padded)} |"

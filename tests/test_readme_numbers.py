"""The figures of README are those of the record of measurements, notes/measurements.md."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
RECORD = (ROOT / "notes" / "measurements.md").read_text(encoding="utf-8")

Row = list[str]


def tables(text: str) -> list[list[Row]]:
    """The tables of a text, as rows of cells, without the line below the header."""
    found = re.findall(r"(?:^\|.*\|\n)+", text, re.MULTILINE)
    lines = [[line.strip("|").split("|") for line in table.splitlines()] for table in found]
    return [
        [[cell.strip() for cell in row] for row in table if set("".join(row)) - set("-: ")]
        for table in lines
    ]


def table(text: str, *header: str) -> list[Row]:
    """The only table whose header begins with these cells."""
    (found,) = (one for one in tables(text) if one[0][: len(header)] == list(header))
    return found


def of_type(title: str) -> Row:
    """The last column of the record's table of products of a type: times the fastest."""
    section = RECORD[RECORD.index(f"### {title}") :]
    return [row[-1].split()[0] for row in tables(section)[0][1:]]


@pytest.mark.parametrize(
    ("row", "title"),
    [
        ("f32, 1 thread", "f32, one thread"),
        ("f64, 1 thread", "f64, one thread"),
        ("i8, 1 thread", "int8 summed in int32, one thread"),
        ("bf16, 1 thread", "bf16 summed in f32, one thread"),
        ("f32, 2 threads", "f32, two threads"),
        ("f64, 2 threads", "f64, two threads"),
    ],
)
def test_matrix_products(row: str, title: str) -> None:
    (cells,) = (one[1:] for one in table(README, "M x N x K") if one[0] == row)
    assert cells[:-1] == of_type(title)


def test_the_convolution() -> None:
    def figures(text: str) -> list[Row]:
        return [row[1:] for row in table(text, "contestant", "of peak")]

    assert figures(README) == figures(RECORD)


def test_schedules_by_hand() -> None:
    shown, record = table(README, "gemm", "syrk"), table(RECORD, "program", "of peak")
    by_gcc = {row[0].split()[0]: float(row[3]) for row in record[1:]}
    for name, ratio in zip(*shown, strict=True):
        if name != "trisolv":  # measured again, alone
            assert float(ratio) == round(by_gcc[name], 0 if by_gcc[name] > 9.95 else 1)


def test_schedules_of_the_autoscheduler() -> None:
    shown, record = table(README, "over", "gemm"), table(RECORD, "program", "as written", "by hand")
    rows = {row[0].split()[0]: row[1:] for row in record[1:]}
    rows["mean of all"] = next(row[1:] for row in record if row[0] == "geometric mean")
    names, *lines = shown
    for position, line in enumerate(lines):
        for name, ratio in zip(names[1:], line[1:], strict=True):
            assert ratio == rows[name][position], (line[0], name)


def test_programs_without_a_schedule_by_hand() -> None:
    record = table(RECORD, "program", "as written, strict")
    programs = [row for row in record[1:] if not row[0].startswith("geometric")]
    (mean,) = (row for row in record if row[0].startswith("geometric"))
    strict, fast = ([float(row[column]) for row in programs] for column in (3, 4))
    text = " ".join(README.split())
    assert f"races {len(programs)} C functions" in text
    assert f"{mean[3]} times the fastest of the three" in text
    assert f"and {mean[4]} times with `-ffast-math`" in text
    below = [sum(ratio < 1 for ratio in ratios) for ratios in (strict, fast)]
    assert f"{below[0]} and {below[1]} of them are below 1" in text
    assert f"lowest at {min(strict):.2f} and {min(fast):.2f}" in text

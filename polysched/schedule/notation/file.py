"""Schedule files: the text of :mod:`polysched.schedule.notation.text`, in UTF-8."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

from polysched.errors import ScheduleError
from polysched.instructions.declaration import Instruction
from polysched.schedule.notation.text import apply_text
from polysched.schedule.schedule import Schedule

_Schedule = TypeVar("_Schedule", bound=Schedule)

LARGEST_FILE = 2**20
"""Largest size of a schedule file in bytes."""


def apply_file(
    schedule: _Schedule, path: Path | str, instructions: Iterable[Instruction] = ()
) -> _Schedule:
    """Apply the steps of a schedule file to a schedule.

    Args:
        instructions: the declared instructions that ``tensorize`` steps may name.

    Raises:
        ScheduleError: the file cannot be read, or a line of it is not a step that fits the program.
    """
    return apply_text(schedule, read_schedule_file(path), str(path), instructions)


def read_schedule_file(path: Path | str) -> str:
    """Read the text of a schedule file, without a byte order mark."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ScheduleError(f"cannot read schedule file '{path}': {error.strerror}") from error
    except ValueError:
        raise ScheduleError(f"cannot read schedule file {str(path)!r}: it is not a path") from None
    if len(content) > LARGEST_FILE:
        raise ScheduleError(
            f"schedule file '{path}' is larger than {LARGEST_FILE:,} bytes; expected one step "
            "per line, such as split('i', 4)"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScheduleError(
            f"{path}:{line}: byte {error.start} of the file, 0x{content[error.start]:02x}, is not "
            "UTF-8; expected a schedule as text, one step per line"
        ) from None

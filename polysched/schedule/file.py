"""Schedules in files: the text of :mod:`polysched.schedule.text`, in UTF-8."""

from __future__ import annotations

from pathlib import Path
from typing import TypeVar

from polysched.errors import ScheduleError
from polysched.schedule.schedule import Schedule
from polysched.schedule.text import apply_text

_Schedule = TypeVar("_Schedule", bound=Schedule)

LARGEST_FILE = 2**20
"""Bytes: a file beyond this is no schedule that anyone wrote."""


def apply_file(schedule: _Schedule, path: Path | str) -> _Schedule:
    """The schedule with the steps that a file lists applied to it.

    Raises:
        ScheduleError: there is no such file, it is no text, or a line of it is no step that fits.
    """
    return apply_text(schedule, read_schedule_file(path), str(path))


def read_schedule_file(path: Path | str) -> str:
    """The text of a schedule file; a byte order mark at its start is left out.

    Raises:
        ScheduleError: there is no such file, it is too large, or it is not UTF-8.
    """
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise ScheduleError(f"cannot read schedule file '{path}': {error.strerror}") from error
    except ValueError:
        raise ScheduleError(f"cannot read schedule file {str(path)!r}: it is no path") from None
    if len(content) > LARGEST_FILE:
        raise ScheduleError(
            f"schedule file '{path}' is larger than {LARGEST_FILE:,} bytes; expected one step a "
            "line, such as split('i', 4)"
        )
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ScheduleError(
            f"{path}:{line}: byte {error.start} of the file, 0x{content[error.start]:02x}, is not "
            "UTF-8; expected a schedule as text, one step a line"
        ) from None

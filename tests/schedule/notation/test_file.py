from pathlib import Path

import pytest

from polysched.errors import ScheduleError
from polysched.schedule.notation.file import apply_file
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def applied(path: Path | str) -> Schedule:
    return apply_file(Schedule(kernels.grid()), path)


@pytest.mark.parametrize(
    "content",
    [
        b"split('i', 4)\n",
        b"split('i', 4)",
        b"\xef\xbb\xbfsplit('i', 4)\r\n",
        b"\t# \xc3\xa4\r\n\r\n  split('i', 4)\r\n",
    ],
)
def test_files(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "a.sched"
    path.write_bytes(content)
    assert applied(path).steps == (Split("i", 4),)


def test_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "a.sched"
    path.touch()
    assert applied(path).steps == ()


def fails(path: Path | str, message: str) -> None:
    with pytest.raises(ScheduleError) as raised:
        applied(path)
    assert message in str(raised.value)


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    fails(tmp_path, f"cannot read schedule file '{tmp_path}': Is a directory")
    missing = tmp_path / "none"
    fails(missing, f"cannot read schedule file '{missing}': No such file or directory")
    fails("a\0b", "cannot read schedule file 'a\\x00b': it is not a path")
    fails("/dev/zero", "schedule file '/dev/zero' is larger than 1,048,576 bytes; expected one st")


def test_not_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "a.sched"
    path.write_bytes(b"split('i', 4)\n# \xe4\n")
    fails(path, f"{path}:2: byte 16 of the file, 0xe4, is not UTF-8; expected a schedule as text")


def test_a_line_that_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "a.sched"
    path.write_text("split('i', 4)\nunroll('i')\n")
    fails(path, f"{path}:2:8: no loop 'i': step 1, split(loop='i', factor=4), at {path}:1:1, repl")

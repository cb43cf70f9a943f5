import io
import sys

import pytest

from polysched import progress
from polysched.progress import progress_line


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "quiet", "shown"),
    [
        (Terminal(), 0.0, "\rname: longer\rname: at    \r            \r"),
        (Terminal(), 60.0, ""),
        (io.StringIO(), 0.0, ""),
    ],
)
def test_a_line(
    stream: io.StringIO, quiet: float, shown: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setattr(progress, "QUIET_SECONDS", quiet)
    with progress_line("name") as tell:
        tell("longer")
        tell("at")
    assert stream.getvalue() == shown

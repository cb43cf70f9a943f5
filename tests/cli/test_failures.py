from errno import EPIPE
from io import StringIO

import click
import pytest
from click.testing import CliRunner, Result

from polysched.cli.failures import ReportingGroup
from polysched.cli.main import main
from polysched.errors import PolyschedError, ScheduleError
from polysched.legality.verdicts.verdict import Verdict, VerdictKind


def outcome(error: BaseException | None) -> Result:
    @click.group(cls=ReportingGroup)
    def main() -> None:
        pass

    @main.command()
    def work() -> None:
        if error is not None:
            raise error

    return CliRunner().invoke(main, ["work"])


class Unread(StringIO):
    """An output whose reader goes before it has read what is there."""

    def flush(self) -> None:
        raise BrokenPipeError(EPIPE, "Broken pipe")


def refusal(kind: VerdictKind, reason: str) -> Exception:
    with pytest.raises(ScheduleError) as caught:
        Verdict(kind, reason=reason).raise_if_refused()
    return caught.value


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (None, 0, ""),
        (refusal(VerdictKind.ILLEGAL, "illegal: it is\n  so"), 1, "illegal: it is\n  so\n"),
        (refusal(VerdictKind.UNKNOWN, "too long"), 3, "unknown: too long\n"),
        (PolyschedError("no [such] thing"), 2, "error: no [such] thing\n"),
        (ScheduleError("no loop :x:"), 2, "error: no loop :x:\n"),
        (OSError(28, "No space left on device"), 2, "error: [Errno 28] No space left on device\n"),
        (BrokenPipeError(EPIPE, "Broken pipe"), 141, ""),
        (KeyboardInterrupt(), 130, "error: interrupted\n"),
    ],
)
def test_exit_codes_and_messages(error: BaseException | None, code: int, message: str) -> None:
    result = outcome(error)
    assert (result.exit_code, result.stderr, result.stdout) == (code, message, "")


def test_defects_are_not_hidden() -> None:
    error = ZeroDivisionError("a defect")
    assert outcome(error).exception is error


def test_what_is_left_to_write_when_nobody_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdout", Unread())
    with pytest.raises(SystemExit) as ended:
        main(["--version"], prog_name="polysched")
    assert ended.value.code == 141

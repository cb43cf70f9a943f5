import json

import pytest

from polysched.cli.terminal import print_code, print_error, print_json, print_verdict, progress
from polysched.legality.verdicts.verdict import Checked, Verdict, VerdictKind

Captured = pytest.CaptureFixture[str]


def test_markup_in_messages_is_text(capsys: Captured) -> None:
    print_error("array 'A[bold]' :smile: [/x]")
    assert capsys.readouterr().err == "error: array 'A[bold]' :smile: [/x]\n"


def test_json_is_one_line_unless_indented(capsys: Captured) -> None:
    print_json({"a": [1, 2]})
    assert capsys.readouterr().out == '{"a": [1, 2]}\n'
    print_json({"a": 1}, indent=2)
    assert capsys.readouterr().out == '{\n  "a": 1\n}\n'


def test_json_has_no_nan() -> None:
    with pytest.raises(ValueError, match="Out of range float values"):
        print_json(json.loads('{"a": NaN}'))


def test_verdict_counts_in_words(capsys: Captured) -> None:
    print_verdict(Verdict(VerdictKind.LEGAL, checked=Checked(1, 0, 2, 1)), "it")
    assert capsys.readouterr().out == (
        "legal: it; proved: 1 statement, 0 dependences, 2 accesses, 1 buffer\n"
    )


def test_code_is_untouched_off_a_terminal(capsys: Captured) -> None:
    print_code("int [b]x[/b];\n", "c")
    assert capsys.readouterr().out == "int [b]x[/b];\n"


def test_progress_is_silent_off_a_terminal(capsys: Captured) -> None:
    with progress() as tell:
        tell("working")
    assert capsys.readouterr() == ("", "")

"""Completion scripts: what the shells get, and what bash makes of it."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli.completion import SHELLS
from polysched.cli.main import main
from tests.cli.conftest import Polysched

WORDS = """
compopt() { printf 'compopt %s %s\\n' "$@"; }
try() {
  COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
  _polysched_completion polysched "${!#}" ""; printf '%s\\n' "${COMPREPLY[*]}"
}
"""


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(polysched: Polysched, shell: str) -> None:
    result = polysched("completion", shell)
    assert (result.exit_code, result.stderr) == (0, "")
    assert "_POLYSCHED_COMPLETE" in result.stdout


def completed(*words: str) -> list[tuple[str, str]]:
    """The answer to bash: the kind and the text of each completion."""
    environment = {
        "_POLYSCHED_COMPLETE": "bash_complete",
        "COMP_WORDS": "\n".join(("polysched", *words)),
        "COMP_CWORD": str(len(words)),
    }
    result = CliRunner(env=environment).invoke(main, prog_name="polysched")
    pairs = (line.partition(",") for line in result.output.splitlines())
    return [(kind, value) for kind, _, value in pairs]


@pytest.mark.parametrize(
    "words",
    [
        ("check", "exa"),
        ("run", "exa"),
        ("show", "exa"),
        ("plot", "exa"),
        ("compile", "exa"),
        ("rewrite", "exa"),
        ("explain", "exa"),
        ("optimize", "exa"),
        ("check", "x.py", "--schedule", "exa"),
        ("check", "x.py", "-I", "exa"),
        ("check", "x.py", "--machine", "exa"),
    ],
    ids=" ".join,
)
def test_files_are_left_to_the_shell(words: tuple[str, ...]) -> None:
    assert completed(*words) == [("file", "exa")]


def test_commands_options_and_machines() -> None:
    assert completed("ch") == [("plain", "check")]
    assert completed("check", "x.py", "--sched") == [("plain", "--schedule")]
    assert ("plain", "haswell-avx2") in completed("check", "x.py", "--machine", "has")
    assert completed("completion", "z") == [("plain", "zsh")]


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_runs_the_script(polysched: Polysched, tmp_path: Path) -> None:
    command = Path(sys.executable).with_name("polysched")
    if not command.exists():
        pytest.skip("the command is not installed beside Python")
    script = tmp_path / "script.sh"
    script.write_text(
        f"{polysched('completion', 'bash').stdout}\n{WORDS}"
        "try polysched check exa\ntry polysched che\n"
    )
    found = subprocess.run(
        ["bash", str(script)],
        capture_output=True,
        text=True,
        check=True,
        env={"PATH": f"{command.parent}:/usr/bin:/bin"},
    )
    assert found.stdout == "compopt -o default\n\ncheck\n"

"""Completion scripts: what the shells get, and what they make of it."""

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

ZSH_WORDS = """
compdef() { true; }
_path_files() { printf 'files %s\\n' "$*"; }
compadd() { printf '%s\\n' "${completions[*]}"; }
_describe() { printf '%s\\n' "${completions_with_descriptions[*]}"; }
try() { words=("$@"); CURRENT=$#; _polysched_completion; }
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


def test_a_shell_that_stops_reading_sees_no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    def closed(*_: object) -> None:
        raise BrokenPipeError

    monkeypatch.setattr("click.shell_completion.echo", closed)
    environment = {"_POLYSCHED_COMPLETE": "fish_complete", "COMP_WORDS": "ch", "COMP_CWORD": "ch"}
    result = CliRunner(env=environment).invoke(main, prog_name="polysched")
    assert isinstance(result.exception, SystemExit)
    assert result.exit_code == 141


def run_by(shell: str, polysched: Polysched, folder: Path, commands: str) -> str:
    """The output of a shell that runs its completion script, then commands."""
    command = Path(sys.executable).with_name("polysched")
    program = shutil.which(shell)
    if program is None or not command.exists():
        pytest.skip(f"needs {shell}, and the command beside Python")
    script = folder / f"script.{shell}"
    script.write_text(f"{polysched('completion', shell).stdout}\n{commands}")
    found = subprocess.run(
        [program, str(script)],
        capture_output=True,
        text=True,
        check=True,
        cwd=folder,
        env={"PATH": f"{command.parent}:/usr/bin:/bin", "HOME": str(folder)},
    )
    assert not found.stderr
    return found.stdout


def test_bash_runs_the_script(polysched: Polysched, tmp_path: Path) -> None:
    commands = f"{WORDS}try polysched check exa\ntry polysched cach\n"
    assert run_by("bash", polysched, tmp_path, commands) == "compopt -o default\n\ncache\n"


def test_zsh_runs_the_script(polysched: Polysched, tmp_path: Path) -> None:
    """Also where nothing has started zsh's completion before."""
    commands = f"{ZSH_WORDS}try polysched check exa\ntry polysched cach\n"
    files, command = run_by("zsh", polysched, tmp_path, commands).splitlines()
    assert files == "files -f"
    assert command.startswith("cache:Show the on-disk cache")


def test_fish_runs_the_script(polysched: Polysched, tmp_path: Path) -> None:
    (tmp_path / "example.py").touch()
    commands = "complete -C 'polysched check exa'\ncomplete -C 'polysched cach'\n"
    file, command = run_by("fish", polysched, tmp_path, commands).splitlines()
    assert file == "example.py"
    assert command.startswith("cache\tShow the on-disk cache")

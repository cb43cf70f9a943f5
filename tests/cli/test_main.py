"""The command as a whole, and as a process."""

import importlib.metadata
import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO

import pytest

from tests.cli.conftest import Polysched, WriteFile
from tests.support.effort import sampled

COMMANDS = ("bench", "check", "compile", "machine", "run", "show")


def process(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [sys.executable, "-m", "polysched", *arguments], capture_output=True, text=True, check=False
    )


def writing_into(output: IO[str], *arguments: str) -> tuple[int, str]:
    """The exit code and the error output of a process that writes into a file."""
    done = subprocess.run(
        [sys.executable, "-m", "polysched", *arguments],
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize(
    "command", [(), *[(name,) for name in COMMANDS], ("bench", "conv"), ("bench", "compile")]
)
def test_help(polysched: Polysched, command: Sequence[str]) -> None:
    for option in ("--help", "-h"):
        result = polysched(*command, option)
        assert result.exit_code == 0
        assert result.stdout.startswith(" ".join(("Usage: polysched", *command)))


def test_help_names_every_command_with_an_example(polysched: Polysched) -> None:
    text = polysched("--help").stdout
    assert all(f"\n  {name} " in text for name in COMMANDS)
    assert "\n  polysched check examples/conv2d_relu.py:tutorial\n" in text


def test_version(polysched: Polysched) -> None:
    expected = f"polysched {importlib.metadata.version('polysched')}\n"
    assert polysched("--version").stdout == expected


@pytest.mark.parametrize("arguments", [("chekc",), ("check",), ("show", "a.py", "b.py")])
def test_bad_usage(polysched: Polysched, arguments: Sequence[str]) -> None:
    result = polysched(*arguments)
    assert result.exit_code == 2
    assert result.stderr.startswith("Usage: polysched")


def test_process_runs_the_same_command(kernels: str) -> None:
    assert process("check", f"{kernels}:legal").returncode == 0
    illegal = process("check", f"{kernels}:illegal")
    assert illegal.returncode == 1
    assert illegal.stdout.startswith("illegal: ")


def test_errors_of_a_process_have_no_traceback() -> None:
    done = process("check", "none.py")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "error: cannot read 'none.py': No such file or directory\n"


def test_interrupt(write_file: WriteFile) -> None:
    path = write_file("slow.py", "import time\nprint('started', flush=True)\ntime.sleep(60)\n")
    # A test run in the background ignores the signal, and its child processes inherit that.
    command = ["env", "--default-signal=INT", sys.executable, "-m", "polysched", "check", path]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as running:
        assert running.stderr is not None
        assert running.stderr.readline() == "started\n"
        running.send_signal(signal.SIGINT)
        assert running.stderr.read() == "error: interrupted\n"
    assert running.returncode == 130


@pytest.mark.parametrize("option", ["--help", "--json"])
def test_an_output_that_nobody_reads_is_no_verdict(kernels: str, option: str) -> None:
    arguments = ["check", option, f"{kernels}:legal"]
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "w") as output:
        assert writing_into(output, *arguments) == (141, "")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk at hand")
@pytest.mark.parametrize(
    "arguments", sampled([("cache", "--help"), ("--help",), ("--version",)], 3)
)
def test_help_on_a_full_disk(arguments: Sequence[str]) -> None:
    with Path("/dev/full").open("w") as full:
        code, message = writing_into(full, *arguments)
    assert (code, message) == (2, "error: [Errno 28] No space left on device\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full disk at hand")
@pytest.mark.parametrize("command", [("chekc",), ("check", "none.py")])
def test_a_message_that_cannot_be_written(command: Sequence[str]) -> None:
    with Path("/dev/full").open("w") as full:
        call = [sys.executable, "-m", "polysched", *command]
        assert subprocess.run(call, stderr=full, check=False).returncode == 2

"""The command line in this process, and files such as a user writes."""

from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from polysched.cli.main import main

Polysched = Callable[..., Result]
WriteFile = Callable[[str, str], str]

# `wavefront` has a dependence of distance (1, -1), so its loops must not be interchanged.
KERNELS = """
import polysched as ps


def wavefront(N=9) -> ps.Kernel:
    build = ps.KernelBuilder("wavefront")
    a = build.inout("A", ps.f32, (N, N))
    with build.loops(i=(1, N), j=N - 1) as (i, j), build.statement("S"):
        a[i, j] = a[i - 1, j + 1] + 1
    return build.kernel()


def legal(kernel):
    return ps.Schedule(kernel).split("j", 4)


def illegal(kernel: ps.Kernel) -> ps.Schedule:
    return ps.Schedule(kernel).reorder("j", "i")
"""

SCALE = """
import polysched as ps

build = ps.KernelBuilder("scale")
n = build.parameter("n", minimum=1)
x = build.input("x", ps.f32, (n,))
y = build.output("y", ps.f32, (n,))
with build.loops(i=n) as i:
    y[i] = 2 * x[i] + 1

scale = build.kernel()
fast = ps.Schedule(scale).vectorize("i", 16)
"""


@pytest.fixture
def polysched() -> Polysched:
    """Return ``polysched(*arguments)``: the result of the command."""

    def run(*arguments: str, **environment: str) -> Result:
        return CliRunner(env=environment).invoke(main, arguments, prog_name="polysched")

    return run


@pytest.fixture
def write_file(tmp_path: Path) -> WriteFile:
    """Return ``write_file(name, text)``, which gives the path."""

    def write(name: str, text: str) -> str:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return write


@pytest.fixture
def kernels(write_file: WriteFile) -> str:
    """Return the path of a file with a kernel and schedules made by functions."""
    return write_file("kernels.py", KERNELS)


@pytest.fixture
def scale(write_file: WriteFile) -> str:
    """Return the path of a file with one kernel of a parameter and one schedule."""
    return write_file("scale.py", SCALE)

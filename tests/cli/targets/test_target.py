import re
from collections.abc import Callable
from pathlib import Path

import pytest

from polysched.cli.targets.target import load_target
from polysched.errors import TargetError
from polysched.machine.description import Machine
from polysched.machine.load import load_machine

WriteFile = Callable[[str, str], str]


def steps(target: str) -> str:
    return load_target(target).schedule.trace()


def fails(target: str, *parts: str) -> None:
    with pytest.raises(TargetError) as caught:
        load_target(target)
    for part in parts:
        assert part in str(caught.value)


# -- what NAME may be --


def test_schedule_by_name(scale: str) -> None:
    target = load_target(f"{scale}:fast")
    assert target.schedule.trace() == steps(scale) != ""
    assert target.label == f"{scale}:fast"


def test_kernel_is_taken_unscheduled(scale: str) -> None:
    target = load_target(f"{scale}:scale")
    assert target.schedule.kernel.name == "scale"
    assert target.schedule.steps == ()


def test_function_that_makes_a_kernel(kernels: str) -> None:
    assert load_target(f"{kernels}:wavefront").schedule.steps == ()


def test_function_of_the_only_kernel_maker(kernels: str) -> None:
    assert "split" in steps(f"{kernels}:legal")
    assert "reorder" in steps(f"{kernels}:illegal")


def test_function_of_the_only_kernel_value(scale: str, write_file: WriteFile) -> None:
    text = (
        Path(scale).read_text()
        + "def slow(kernel): return ps.Schedule(kernel).unroll('i', factor=2)\n"
    )
    assert "unroll" in steps(f"{write_file('more.py', text)}:slow")


def test_function_without_required_parameters(scale: str, write_file: WriteFile) -> None:
    text = (
        Path(scale).read_text()
        + "def made(*names, lanes=8): return ps.Schedule(scale).vectorize('i', lanes)\n"
    )
    assert "8" in steps(f"{write_file('more.py', text)}:made")


# -- without NAME --


def test_only_schedule_is_taken(scale: str) -> None:
    assert load_target(scale).label.endswith("scale.py:fast")


def test_one_schedule_of_two_names_is_taken(scale: str, write_file: WriteFile) -> None:
    text = Path(scale).read_text() + "same = fast\n"
    assert load_target(write_file("more.py", text)).label.endswith(":fast")


def test_only_kernel_is_taken(scale: str, write_file: WriteFile) -> None:
    text = Path(scale).read_text().replace("fast =", "_fast =")
    assert load_target(write_file("more.py", text)).label.endswith(":scale")


def test_candidates_are_listed(kernels: str) -> None:
    fails(kernels, "which schedule of", f"{kernels}:wavefront, {kernels}:legal, {kernels}:illegal")


def test_two_schedules_are_not_clear(scale: str, write_file: WriteFile) -> None:
    path = write_file(
        "more.py", Path(scale).read_text() + "other = ps.Schedule(scale).vectorize('i', 8)\n"
    )
    fails(path, f"{path}:fast, {path}:other")


def test_file_without_anything(write_file: WriteFile) -> None:
    path = write_file(
        "empty.py", "import math\nclass A: pass\ndef f(a, b): ...\ndef g() -> int: ...\n"
    )
    fails(path, f"{path} has no schedule and no kernel, and no function to make one")


# -- the text of TARGET --


def test_missing_file() -> None:
    fails("none.py:name", "cannot read 'none.py': No such file or directory")


def test_folder(tmp_path: Path) -> None:
    folder = tmp_path / "folder.py"
    folder.mkdir()
    fails(str(folder), "Is a directory")


def test_not_python(write_file: WriteFile) -> None:
    path = write_file("kernel.txt", "")
    fails(path, f"'{path}' is not a Python or C file; expected FILE.py, FILE.py:NAME or FILE.c")
    fails("", "is not a Python or C file")


def test_nothing_after_the_colon(scale: str) -> None:
    fails(f"{scale}:", "ends in a colon")


def test_unknown_name_gives_the_nearest(kernels: str) -> None:
    fails(f"{kernels}:ilegal", f"{kernels} has no 'ilegal'; did you mean", "'illegal'")


# -- what NAME may not be --


def test_name_of_something_else(scale: str) -> None:
    fails(f"{scale}:ps", "is of type module; expected a Schedule, a Kernel or a function")


def test_class(write_file: WriteFile) -> None:
    fails(f"{write_file('a.py', 'class A: pass')}:A", "is of type type; expected")


def test_function_that_needs_more(write_file: WriteFile) -> None:
    path = write_file("a.py", "def make(kernel, lanes): ...\ndef other(*, kernel): ...\n")
    fails(f"{path}:make", "needs 'kernel', 'lanes'; expected a function whose parameters")
    fails(f"{path}:other", "needs 'kernel'; expected")


def test_function_that_makes_something_else(write_file: WriteFile) -> None:
    path = write_file("a.py", "def make(): return 7\n")
    fails(f"{path}:make", "returns a value of type int; expected a Schedule or a Kernel")


def test_function_whose_kernel_is_not_clear(kernels: str, write_file: WriteFile) -> None:
    text = Path(kernels).read_text()
    none = write_file("none.py", text.replace(" -> ps.Kernel", ""))
    fails(
        f"{none}:legal", "needs 'kernel', a kernel; expected one kernel in the file", "found none"
    )
    two = write_file("two.py", text + "def another() -> ps.Kernel: ...\n")
    fails(f"{two}:legal", "found 'another', 'wavefront'")


def test_kernel_maker_that_makes_something_else(write_file: WriteFile) -> None:
    path = write_file(
        "a.py",
        "import polysched as ps\ndef kernel() -> ps.Kernel: return 3\ndef make(k): return k\n",
    )
    fails(f"{path}:make", f"function '{path}:kernel' is annotated '-> Kernel' and returns", "int")


def test_annotation_that_cannot_be_evaluated(kernels: str, write_file: WriteFile) -> None:
    text = "from __future__ import annotations\n" + Path(kernels).read_text().replace(
        "def legal(kernel)", "def legal(kernel: Unknown) -> Unknown"
    )
    assert "split" in steps(f"{write_file('a.py', text)}:legal")


def test_error_inside_a_function_has_its_line(kernels: str, write_file: WriteFile) -> None:
    path = write_file("a.py", Path(kernels).read_text().replace('split("j"', 'split("jj"'))
    line = (
        Path(path).read_text().splitlines().index('    return ps.Schedule(kernel).split("jj", 4)')
        + 1
    )
    with pytest.raises(TargetError) as caught:
        load_target(f"{path}:legal")
    first, second = str(caught.value).splitlines()
    assert re.search(r"no loop|unknown loop", first)
    assert "'jj'" in first
    assert second == f"  {path}:{line} in legal"


# -- functions that take a machine --

FOR_MACHINES = """
def fast(machine, kernel): return ps.Schedule(kernel).vectorize('i', machine.lanes(32))
def wide(kernel, /, *, machine=None):
    return ps.Schedule(kernel).vectorize('i', 64 if machine else 4)
def none(machine): return ps.Schedule(scale).vectorize('i', machine.lanes(64))
"""


def test_functions_that_take_a_machine(scale: str, write_file: WriteFile) -> None:
    path = write_file("more.py", Path(scale).read_text() + FOR_MACHINES)
    haswell = load_machine("haswell-avx2")

    def lanes(name: str, machine: Machine | None = haswell) -> object:
        made = load_target(f"{path}:{name}", None, machine)
        assert made.for_machine is (name != "scale")
        return made.schedule.steps[0].lanes if made.schedule.steps else 0  # type: ignore[union-attr]

    assert (lanes("fast"), lanes("wide"), lanes("none"), lanes("scale")) == (8, 64, 4, 0)
    assert lanes("fast", None) == load_machine().lanes(32)
    assert lanes("wide", None) == 4


# -- functions of ps.jit --

JIT = """import numpy as np
import polysched as ps
@ps.jit
def twice(x):
    return 2 * x
"""


def test_the_latest_call_of_a_compiled_function(write_file: WriteFile) -> None:
    path = write_file("called.py", f"{JIT}twice(np.zeros(1000))\n")
    for text in (path, f"{path}:twice"):
        target = load_target(text)
        assert target.label == f"{path}:twice"
        assert "vectorize" in target.schedule.trace()


def test_a_compiled_function_without_calls(write_file: WriteFile) -> None:
    path = write_file("uncalled.py", JIT)
    fails(path, f"'{path}:twice' is compiled for the arguments of its calls", "use @ps.kernel")
    two = write_file("two.py", f"{JIT}thrice = ps.jit(twice.python)\n")
    fails(two, f"Name one: {two}:twice, {two}:thrice")


def test_functions_that_get_no_kernel_are_not_offered(write_file: WriteFile) -> None:
    """Without a kernel in the file, a function of one parameter cannot make a schedule."""
    text = f"{JIT}twice(np.zeros(1000))\ndef half(x):\n    return x / 2\n"
    path = write_file("plain.py", text)
    assert load_target(path).label == f"{path}:twice"
    fails(f"{path}:twise", "did you mean 'twice'")
    other = write_file("other.py", "def add(x, y):\n    return x + y\n")
    fails(f"{other}:add", "a function over arrays with the decorator @ps.jit")
    fails(f"{path}:half", "half' needs 'x', a kernel", "the decorator @ps.jit")

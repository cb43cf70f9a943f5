"""Compiling the C text of a loop program and calling it."""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from polysched.ir.kernel import Role
from polysched.ir.memory import AnyArray, argument_memory, results
from polysched.loops.c import print_c
from polysched.loops.nodes import LoopProgram

# Random programs compare things with themselves; every other warning is an error.
_WARNINGS = "-Wall -Werror -Wno-tautological-compare"
_FLAGS = f"-std=c99 {_WARNINGS} -O1 -ffp-contract=off -shared -fPIC".split()


def run_c(
    program: LoopProgram,
    arrays: Mapping[str, AnyArray],
    parameters: Mapping[str, int],
    folder: Path,
) -> dict[str, AnyArray]:
    """What the compiled text of ``program`` makes of copies of the arrays."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("needs a C compiler named cc")
    source, library = folder / "f.c", folder / "f.so"
    source.write_text(print_c(program), encoding="utf-8")
    subprocess.run([compiler, *_FLAGS, str(source), "-o", str(library), "-lm"], check=True)
    arguments = {
        name: array for name, array in program.arrays.items() if array.role is not Role.TEMPORARY
    }
    memory = argument_memory(arguments, arrays, parameters)
    pointers = [ctypes.c_void_p(array.ctypes.data) for array in memory.arrays.values()]
    numbers = [ctypes.c_int64(parameters[name]) for name in program.parameters]
    function = ctypes.CDLL(str(library))[program.name]
    assert function(*pointers, *numbers) == 0
    return results(arguments, memory)

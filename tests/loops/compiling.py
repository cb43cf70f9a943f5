"""Compiling the C text of a loop program and calling it."""

import ctypes
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from polysched.ir.core.kernel import Role
from polysched.ir.semantics.memory import AnyArray, argument_memory, results
from polysched.loops.ir.nodes import LoopProgram
from polysched.loops.printers.c import print_c

# Random programs compare things with themselves; every other warning is an error.
_WARNINGS = "-Wall -Wextra -Wpedantic -Werror -Wno-tautological-compare -Wno-type-limits"
_FLAGS = f"-std=c99 {_WARNINGS} -O1 -ffp-contract=off -shared -fPIC".split()
_CPP_FLAGS = f"-x c++ -std=c++17 {_WARNINGS} -fsyntax-only".split()


def require_c_and_cpp(text: str, folder: Path) -> None:
    """Check that C99 and C++17 compilers take a text, without a warning; those that are there."""
    source = folder / "f.c"
    source.write_text(text, encoding="utf-8")
    for compiler, flags in (
        ("cc", f"-std=c99 {_WARNINGS} -fsyntax-only".split()),
        ("c++", _CPP_FLAGS),
    ):
        if shutil.which(compiler) is not None:
            subprocess.run([compiler, *flags, str(source)], check=True)


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

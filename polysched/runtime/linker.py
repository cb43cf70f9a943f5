"""Compile and link with the system's C compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from polysched.errors import ExportError

COMPILER_VARIABLE = "CC"
_COMPILERS = ("cc", "gcc", "clang")


def link_shared(objects: Path, library: Path, *, openmp: bool) -> None:
    """Link an object file into a shared library, with libm and, if ``openmp``, OpenMP.

    Raises:
        ExportError: there is no C compiler, or it fails; the message contains its output.
    """
    # Report undefined symbols now, not when a program loads the library.
    options = ["-shared", "-Wl,-z,defs", *(["-fopenmp"] if openmp else [])]
    _run([*_compiler(), *options, "-o", str(library), str(objects), "-lm"])


def compile_c(source: Path, objects: Path, options: Sequence[str]) -> None:
    """Compile a C file to an object file, each function in a section of its own."""
    own = ["-O2", "-fPIC", "-w", "-ffunction-sections", "-fdata-sections"]
    given = shlex.split(os.environ.get("CPPFLAGS", ""))
    _run([*_compiler(), *own, *given, *options, "-c", "-o", str(objects), str(source)])


def link_function(
    objects: Sequence[Path], whole: Path, function: str, shared: Sequence[str] = ()
) -> None:
    """Link object files to one that defines a single function and its dependencies.

    Args:
        objects: the object files.
        whole: the object file to write.
        shared: the variables of the program. Those of the program's other objects take precedence.

    Raises:
        ExportError: there is no C compiler or no objcopy, or one of them fails.
    """
    options = ["-r", "-nostdlib", "-Wl,--gc-sections", f"-Wl,-u,{function}"]
    _run([*_compiler(), *options, "-o", str(whole), *map(str, objects)])
    kept = [f"--keep-global-symbol={name}" for name in (function, *shared)]
    weak = [f"--weaken-symbol={name}" for name in shared]
    _run(["objcopy", *kept, *weak, str(whole)])


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ExportError(f"cannot run '{command[0]}': {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        said = error.stderr.strip() or f"it ended with exit code {error.returncode}"
        raise ExportError(f"'{shlex.join(command)}' failed: {said}") from error


def _compiler() -> list[str]:
    """The command of the C compiler."""
    chosen = os.environ.get(COMPILER_VARIABLE)
    if chosen:
        return shlex.split(chosen)
    for name in _COMPILERS:
        if shutil.which(name):
            return [name]
    raise ExportError(
        f"a shared library, and a C function that is translated in parts, need a C compiler, and "
        f"there is none of {', '.join(_COMPILERS)}; install one, or name one in {COMPILER_VARIABLE}"
    )

"""Link shared libraries with the system's C compiler."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
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
    command = [*_compiler(), *options, "-o", str(library), str(objects), "-lm"]
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise ExportError(f"cannot run the C compiler '{command[0]}': {error.strerror}") from error
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
        f"a shared library needs a C compiler to link it, and there is none of "
        f"{', '.join(_COMPILERS)}; install one, name one in {COMPILER_VARIABLE}, or write an "
        "object file (.o)"
    )

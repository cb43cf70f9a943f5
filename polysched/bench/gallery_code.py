"""The gallery's programs as machine code: by polysched, and by C compilers."""

from __future__ import annotations

import ctypes
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polysched.bench.contestant import UnavailableError
from polysched.codegen.c_function import CFunction
from polysched.ir.kernel import Kernel
from polysched.lower import export
from polysched.machine.description import Machine
from polysched.runtime.linker import link_shared
from polysched.schedule.schedule import Schedule

C_FLAGS = ("-O3", "-march=native", "-ffast-math")
"""What C compilers may do: as much as they can for this processor, sums in any order."""


@dataclass(frozen=True)
class Program:
    """A program of the gallery.

    Attributes:
        name: of its file.
        source: its C file.
        kernel: what the file says, sums in its order.
        function: the C function.
        schedule: polysched's; None where there is none.
    """

    name: str
    source: Path
    kernel: Kernel
    function: CFunction
    schedule: Schedule | None


@dataclass(frozen=True)
class CCompiler:
    """A C compiler by the name that results call it, and the words of its command."""

    name: str
    command: tuple[str, ...]


def installed_compilers() -> tuple[CCompiler, ...]:
    """Those of gcc and clang that are found."""
    return tuple(CCompiler(name, (name,)) for name in ("gcc", "clang") if shutil.which(name))


def compiled_by_polysched(
    schedule: Schedule,
    function: CFunction,
    folder: Path,
    label: str,
    machine: Machine | None = None,
) -> ctypes.CDLL:
    """A schedule as a library that defines the C function.

    Args:
        schedule: the schedule.
        function: the C function.
        folder: where the library goes.
        label: what tells it from others of that function.
        machine: what it is compiled for; None for this one.

    Raises:
        IllegalScheduleError, UnknownLegalityError: the schedule is not proved legal.
        ExportError, LoweringError: there is no code for it.
    """
    library = folder / f"{function.name}.{label}.so"
    export(schedule, library, machine=machine, c_function=function)
    return ctypes.CDLL(str(library))


def compiled_by(compiler: CCompiler, source: Path, folder: Path) -> ctypes.CDLL:
    """A C file as a library.

    It is linked by another command without ``-ffast-math``: gcc would add code that switches
    denormal numbers off for the whole process.

    Raises:
        UnavailableError: there is no such compiler, or it refuses.
    """
    made = folder / f"{source.stem}.{compiler.name}.o"
    flags = (*C_FLAGS, "-fPIC", "-c", str(source), "-o", str(made))
    _run((*compiler.command, *flags))
    library = made.with_suffix(".so")
    link_shared(made, library, openmp=False)
    return ctypes.CDLL(str(library))


def _run(command: Sequence[str]) -> None:
    try:
        subprocess.run(command, check=True, capture_output=True, text=True, errors="replace")
    except OSError as error:
        raise UnavailableError(f"cannot run '{command[0]}': {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise UnavailableError(f"'{shlex.join(command)}' failed: {last[0]}") from error

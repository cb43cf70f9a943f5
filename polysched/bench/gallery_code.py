"""The gallery's programs as machine code: by polysched, and by C compilers."""

from __future__ import annotations

import ctypes
import functools
import re
import shlex
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from polysched.bench.contestant import UnavailableError
from polysched.bench.peers import PeerKernels, peer_kernels
from polysched.ir.core.kernel import Kernel
from polysched.llvm.export.c_function import CFunction
from polysched.lower import export
from polysched.machine.description import Machine
from polysched.runtime.linker import link_shared
from polysched.schedule.schedule import Schedule

C_FLAGS = ("-O3", "-march=native", "-ffast-math")
"""What C compilers may do: as much as they can for this processor, sums in any order."""

_MACROS = {"__AVX512F__": 512, "__AVX__": 256, "__SSE2__": 128}
"""What compilers define where they may use vectors of so many bits; the widest first."""
_REGISTERS = {"%zmm": 512, "%ymm": 256, "%xmm": 128}
_PLAIN_LOOP = """
void add(float *restrict x, const float *restrict y) {
  for (int i = 0; i < 4096; i++) x[i] += y[i];
}
"""


@dataclass(frozen=True)
class Program:
    """A program of the gallery.

    Attributes:
        name: of its file.
        source: its C file.
        kernel: what the file says, sums in its order.
        free_kernel: the same with sums in any order, as C compilers run it with -ffast-math.
        function: the C function.
        schedule: polysched's; None where there is none.
    """

    name: str
    source: Path
    kernel: Kernel
    free_kernel: Kernel
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


@functools.cache
def compiler_kernels(compiler: CCompiler) -> PeerKernels:
    """A compiler's version and flags, the processor that it tunes for, and its vectors' width.

    It is held back if the flags do not switch on this processor's widest vectors. Whether it uses
    them is its own choice, which the vectors of a plain loop show.

    Raises:
        UnavailableError: there is no such compiler, or it refuses.
    """
    flags = (*compiler.command, *C_FLAGS, "-x", "c", "-")
    macros = _run((*flags, "-dM", "-E"))
    code = _run((*flags, "-S", "-o", "-"), _PLAIN_LOOP)
    version = re.search(r"#define __VERSION__ \"(.*?)\"", macros)
    tuned = re.search(r"#define __tune_(\w+?)__ ", macros)
    enabled = next((bits for macro, bits in _MACROS.items() if f"#define {macro} " in macros), None)
    used = next((bits for register, bits in _REGISTERS.items() if register in code), None)
    return peer_kernels(
        compiler.name,
        shlex.join(compiler.command),
        version[1] if version else "of an unknown version",
        f"{' '.join(C_FLAGS)}, tuned for {tuned[1] if tuned else 'an unknown processor'}, a plain "
        f"loop has {f'vectors of {used} bits' if used else 'unknown vectors'}",
        enabled,
    )


def _run(command: Sequence[str], text: str | None = None) -> str:
    """What a command prints that is given some text."""
    try:
        done = subprocess.run(
            command, input=text, check=True, capture_output=True, text=True, errors="replace"
        )
    except OSError as error:
        raise UnavailableError(f"cannot run '{command[0]}': {error.strerror}") from error
    except subprocess.CalledProcessError as error:
        last = error.stderr.strip().splitlines()[-1:] or ["no message"]
        raise UnavailableError(f"'{shlex.join(command)}' failed: {last[0]}") from error
    return done.stdout

"""Machine code of C functions: by polysched, and by C compilers."""

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

from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.measure.peers import PeerKernels, peer_kernels
from polysched.llvm.export.c_function import CFunction
from polysched.lower import export
from polysched.machine.description import Machine
from polysched.runtime.linker import link_shared
from polysched.schedule.schedule import Schedule

STRICT_FLAGS = ("-O3", "-march=native")
"""Flags of C compilers that keep the floating-point semantics of the program."""
C_FLAGS = (*STRICT_FLAGS, "-ffast-math")
"""Options of C compilers: all optimizations for this processor, sums in any order."""

_CLANGS = ("clang-22", "clang")
_MACROS = {"__AVX512F__": 512, "__AVX__": 256, "__SSE2__": 128}
"""Predefined macros by the vector bits that they imply, the widest first."""
_REGISTERS = {"%zmm": 512, "%ymm": 256, "%xmm": 128}
_PLAIN_LOOP = """
void add(float *restrict x, const float *restrict y) {
  for (int i = 0; i < 4096; i++) x[i] += y[i];
}
"""


@dataclass(frozen=True)
class CCompiler:
    """A C compiler: its name in results, the words of its command, and its flags."""

    name: str
    command: tuple[str, ...]
    flags: tuple[str, ...] = C_FLAGS


def installed_compilers() -> tuple[CCompiler, ...]:
    """The installed compilers among gcc and clang."""
    return tuple(CCompiler(name, (name,)) for name in ("gcc", "clang") if shutil.which(name))


def peer_compilers(flags: tuple[str, ...]) -> tuple[CCompiler, ...]:
    """gcc, clang, and clang with Polly; a compiler that is not installed is withdrawn later."""
    clang = next((name for name in _CLANGS if shutil.which(name)), _CLANGS[0])
    return (
        CCompiler("gcc", ("gcc",), flags),
        CCompiler("clang", (clang,), flags),
        CCompiler("polly", (clang, "-mllvm", "-polly"), flags),
    )


def compiled_by_polysched(
    schedule: Schedule,
    function: CFunction,
    folder: Path,
    label: str,
    machine: Machine | None = None,
) -> ctypes.CDLL:
    """Compile a schedule to a shared library that defines the C function.

    Args:
        label: distinguishes the libraries of one function by their file names.

    Raises:
        IllegalScheduleError, UnknownLegalityError: the schedule is not proved legal.
        ExportError, LoweringError: there is no code for it.
    """
    library = folder / f"{function.name}.{label}.so"
    export(schedule, library, machine=machine, c_function=function)
    return ctypes.CDLL(str(library))


def compiled_by(compiler: CCompiler, source: Path, folder: Path) -> ctypes.CDLL:
    """Compile a C file to a shared library.

    Another command links it, without ``-ffast-math``: with that flag gcc links code that switches
    denormal numbers off for the whole process.
    """
    made = folder / f"{source.stem}.{compiler.name}.o"
    flags = (*compiler.flags, "-fPIC", "-c", str(source), "-o", str(made))
    _run((*compiler.command, *flags))
    library = made.with_suffix(".so")
    link_shared(made, library, openmp=False)
    return ctypes.CDLL(str(library))


@functools.cache
def compiler_kernels(compiler: CCompiler) -> PeerKernels:
    """A compiler's version and flags, the processor that it tunes for, and its vectors' width.

    The compiler is held back if the flags do not enable this processor's widest vectors. The record
    states which vectors it uses for a plain loop.
    """
    flags = (*compiler.command, *compiler.flags, "-x", "c", "-")
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
        f"{' '.join(compiler.flags)}, tuned for {tuned[1] if tuned else 'an unknown processor'}, a "
        f"plain loop has {f'vectors of {used} bits' if used else 'unknown vectors'}",
        enabled,
    )


def _run(command: Sequence[str], text: str | None = None) -> str:
    """Run a command with ``text`` as its input, and return its output."""
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

"""Clean environment of a race: clear the variables that tune libraries.

Libraries read them once, while they are loaded; numpy, and so its BLAS, is loaded with polysched.
Therefore the process is replaced by a new one that does not have them. Numbers of threads are set
by functions of the libraries.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import NoReturn

from polysched.errors import BenchError

TUNING_VARIABLES: Mapping[str, str] = MappingProxyType(
    {
        "OPENBLAS_": "OpenBLAS: kernels (CORETYPE), blocking (L2_SIZE), threads",
        "GOTO_": "OpenBLAS: threads, by its older name",
        "GOTOBLAS_": "OpenBLAS: affinity, by its older name",
        "BLIS_": "BLIS: kernels (ARCH_TYPE), blocking, threads",
        "AOCL_": "AMD's libraries: kernels (ENABLE_INSTRUCTIONS)",
        "MKL_": "MKL: kernels (ENABLE_INSTRUCTIONS, CBWR), threads, printing while it works",
        "NVPL_": "NVIDIA's libraries for processors: kernels, threads",
        "ARMPL_": "Arm's libraries: kernels, threads",
        "ONEDNN_": "oneDNN: instruction sets (MAX_CPU_ISA), printing while it works",
        "DNNL_": "oneDNN, by its older name",
        "MKLDNN_": "oneDNN, by its oldest name",
        "OMP_": "OpenMP: threads, their places, whether they spin",
        "GOMP_": "gcc's OpenMP: places, how long threads spin",
        "KMP_": "clang's and Intel's OpenMP: places, how long threads spin",
        "ATEN_": "torch: instruction sets of its own kernels (CPU_CAPABILITY)",
        "NPY_": "numpy: instruction sets of its own loops (DISABLE_CPU_FEATURES)",
        "HL_": "Halide: target, threads",
        "CCC_": "clang: changes to its command line (OVERRIDE_OPTIONS)",
        "GLIBC_TUNABLES": "the C library: instruction sets of memcpy, memory allocation",
    }
)
"""Prefixes of environment variables that make peers slower or faster, and their effects."""

CLEARED = "POLYSCHED_BENCH_CLEARED"
"""Environment variable that `clear_environment` sets: the cleared variables, one a line."""


def tuning_variables(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables that tune libraries, by name."""
    prefixes = tuple(TUNING_VARIABLES)
    return {name: environment[name] for name in sorted(environment) if name.startswith(prefixes)}


def clear_environment() -> tuple[str, ...]:
    """Replace this process by one that runs the same command without the tuning variables.

    It keeps its number, its standard streams and so its exit code. Without such variables nothing
    happens.

    Returns:
        ``NAME=value`` of each variable that was cleared before this process began.

    Raises:
        BenchError: the variables are set again whenever Python starts, or the command of Python is
            not known.
    """
    before = os.environ.pop(CLEARED, None)
    tuning = tuning_variables(os.environ)
    if tuning:
        _start_again(tuning, is_second=before is not None)
    return tuple((before or "").splitlines())


def _start_again(without: Mapping[str, str], *, is_second: bool) -> NoReturn:
    names = ", ".join(without)
    if is_second:
        raise BenchError(
            f"the environment tunes libraries by {names}, which is set again whenever Python "
            "starts; expected an environment without it: look for it in sitecustomize.py and in "
            ".pth files"
        )
    if not sys.executable:
        raise BenchError(
            f"the environment tunes libraries by {names}, and Python does not know its own command "
            "to start again without it; unset it and repeat the command"
        )
    kept = {name: value for name, value in os.environ.items() if name not in without}
    kept[CLEARED] = "\n".join(f"{name}={value}" for name, value in without.items())
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], kept)

"""Detection of the library and the kernels behind a call of torch.

torch computes products with MKL, convolutions and products of small integers with oneDNN, and the
rest with its own kernels; this depends on sizes and on the build. Both libraries can print a line
for each call, and print first which instruction set they chose. So a call runs once with this
output captured.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from polysched.bench.contestant import optional_module
from polysched.bench.peers import PeerKernels, peer_kernels, vector_bits

_STDOUT = 1
"""The file descriptor that C libraries print to."""

_MKL_HEADER = re.compile(r"oneMKL (?P<version>.*?) +Product.* architecture (?P<processor>.*?), Lnx")
_MKL_CALL = re.compile(r"^MKL_VERBOSE \w+\(", re.MULTILINE)
_MKL_DEFAULT_BITS = 256
"""MKL names no instruction set on processors of other makers. There its products run on kernels of
256 bits, and its products of a matrix and a vector on kernels of 128 bits (MKL 2024.2 on Zen 4)."""

_ONEDNN_VERSION = re.compile(r"^onednn_verbose,.*info,oneDNN v(?P<version>[\d.]+)", re.MULTILINE)
_ONEDNN_ISA = re.compile(r"^onednn_verbose,.*info,cpu,isa:(?P<isa>.*)$", re.MULTILINE)
_ONEDNN_CALL = re.compile(r"^onednn_verbose,.*,exec,cpu,", re.MULTILINE)


def torch_on(threads: int) -> Any:
    """The module torch, held to so many threads for the rest of the process.

    Raises:
        UnavailableError: torch is not installed.
    """
    torch: Any = optional_module("torch")
    torch.set_num_threads(threads)
    return torch


def torch_kernels(name: str, run: Callable[[], object]) -> PeerKernels:
    """The kernels that a call of torch runs on.

    Args:
        name: the contestant's name.
        run: calls torch; it is called once more, watched.

    Raises:
        UnavailableError: torch is not installed.
    """
    torch: Any = optional_module("torch")
    headers = _headers()
    called = _watched(torch, run)
    within = f"(torch {torch.__version__})"
    if _ONEDNN_CALL.search(called):
        version, isa = _ONEDNN_VERSION.search(headers), _ONEDNN_ISA.search(headers)
        return peer_kernels(
            name,
            "oneDNN",
            f"{version['version'] if version else 'of an unknown version'} {within}",
            isa["isa"].strip() if isa else "unknown kernels",
        )
    if _MKL_CALL.search(called):
        header = _MKL_HEADER.search(headers)
        if header is None:
            return peer_kernels(name, "MKL", f"of an unknown version {within}", "unknown kernels")
        processor = header["processor"]
        bits = vector_bits(processor)
        kernels = processor if bits else f"default kernels for '{processor}'"
        return peer_kernels(
            name, "MKL", f"{header['version']} {within}", kernels, bits or _MKL_DEFAULT_BITS
        )
    capability = torch.backends.cpu.get_cpu_capability()
    return peer_kernels(name, "torch", torch.__version__, f"own kernels for {capability}")


@functools.cache
def _headers() -> str:
    """Capture the lines that MKL and oneDNN print before the first call in a process."""
    torch: Any = optional_module("torch")

    def call_both() -> None:
        square = torch.ones(8, 8)
        torch.mm(square, square)
        small = torch.ones(32, 32, dtype=torch.int8)
        torch._int_mm(small, small)

    return _watched(torch, call_both)


def _watched(torch: Any, run: Callable[[], object]) -> str:
    """Capture the output of MKL and oneDNN while `run` is called."""
    with tempfile.TemporaryFile() as file, ExitStack() as watching:
        _flush()
        watching.callback(_restore, os.dup(_STDOUT))
        os.dup2(file.fileno(), _STDOUT)
        for library in (torch.backends.mkl, torch.backends.mkldnn):
            if library.is_available():
                watching.enter_context(library.verbose(library.VERBOSE_ON))
        run()
        watching.close()
        file.seek(0)
        return file.read().decode(errors="replace")


def _restore(kept: int) -> None:
    """Restore the standard output after flushing the C library's buffers."""
    _flush()
    os.dup2(kept, _STDOUT)
    os.close(kept)


def _flush() -> None:
    """Flush the output buffers of Python and of the C library."""
    if sys.stdout is not None:
        sys.stdout.flush()
    ctypes.CDLL(None).fflush(None)

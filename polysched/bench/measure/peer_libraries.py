"""Detection of the library and the kernels behind a call of numpy, Halide or torch."""

from __future__ import annotations

import ctypes
import functools
import os
import re
import sys
import tempfile
from collections.abc import Callable
from contextlib import ExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from polysched.bench.measure.contestant import optional_module
from polysched.bench.measure.peers import PeerKernels, peer_kernels, vector_bits

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

_LIBRARIES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def blas_kernels(name: str, _: Callable[[], object] | None = None) -> PeerKernels:
    """The kernels of the BLAS that numpy's products run on, as the loaded library itself says."""
    loaded: Any = optional_module("threadpoolctl").threadpool_info()
    libraries = [library for library in loaded if library["user_api"] == "blas"]
    if not libraries:
        return peer_kernels(name, "numpy's BLAS", np.__version__, "unknown kernels")
    # Another package may bring a BLAS of its own; numpy's wheels keep theirs beside numpy.
    libraries.sort(
        key=lambda library: not any("numpy" in part for part in Path(library["filepath"]).parts)
    )
    blas = libraries[0]
    library = _LIBRARIES.get(blas["internal_api"], blas["internal_api"])
    kernels = f"{blas.get('architecture') or 'unknown'} kernels"
    return peer_kernels(name, library, blas["version"] or "of an unknown version", kernels)


def numpy_kernels(name: str, _: Callable[[], object] | None = None) -> PeerKernels:
    """The instruction sets that numpy's own loops may use."""
    configuration: Any = np.show_config(mode="dicts")
    sets = configuration.get("SIMD Extensions", {})
    features = [*sets.get("baseline", []), *sets.get("found", [])]
    return peer_kernels(name, "numpy", np.__version__, f"loops for {', '.join(features)}")


def halide_kernels(name: str, _: Callable[[], object] | None = None) -> PeerKernels:
    """The target that Halide compiles for."""
    halide: Any = optional_module("halide")
    target = halide.get_host_target().to_string()
    return peer_kernels(name, "Halide", version("halide"), f"target {target}")


def torch_on(threads: int) -> Any:
    """The module torch, limited to a number of threads for the rest of the process."""
    torch: Any = optional_module("torch")
    torch.set_num_threads(threads)
    return torch


def torch_kernels(name: str, run: Callable[[], object]) -> PeerKernels:
    """The kernels that a call of torch runs on.

    Args:
        run: calls torch; it is called once more, watched.
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

"""Detection of the kernels that numpy and Halide run."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from polysched.bench.contestant import optional_module
from polysched.bench.peers import PeerKernels, peer_kernels

_LIBRARIES = {"openblas": "OpenBLAS", "mkl": "MKL", "blis": "BLIS", "flexiblas": "FlexiBLAS"}


def blas_kernels(name: str, _: Callable[[], object] | None = None) -> PeerKernels:
    """The kernels of the BLAS that numpy's products run on, as the loaded library itself says.

    Raises:
        UnavailableError: threadpoolctl is missing.
    """
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
    """The target that Halide compiles for.

    Raises:
        UnavailableError: Halide is not installed.
    """
    halide: Any = optional_module("halide")
    target = halide.get_host_target().to_string()
    return peer_kernels(name, "Halide", version("halide"), f"target {target}")

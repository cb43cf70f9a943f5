import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from polysched.bench.measure import peer_libraries
from polysched.bench.measure.contestant import UnavailableError
from polysched.bench.measure.peer_libraries import blas_kernels, halide_kernels, numpy_kernels


def blas(path: str, **other: Any) -> dict[str, Any]:
    default = {"user_api": "blas", "internal_api": "openblas", "version": "0.3"}
    return {**default, "filepath": path, **other}


@pytest.mark.parametrize(
    ("loaded", "library", "version", "architecture"),
    [
        (
            [
                {"user_api": "openmp", "filepath": "/libgomp.so"},
                blas("/site-packages/other.libs/libopenblas.so", architecture="Prescott"),
                blas("/site-packages/numpy.libs/libopenblas.so", architecture="Haswell"),
            ],
            "OpenBLAS",
            "0.3",
            "Haswell kernels",
        ),
        ([blas("/lib/a.so", internal_api="mkl")], "MKL", "0.3", "unknown kernels"),
        (
            [blas("/lib/a.so", internal_api="new", version=None, architecture="Zen")],
            "new",
            "of an unknown version",
            "Zen kernels",
        ),
        ([], "numpy's BLAS", np.__version__, "unknown kernels"),
    ],
)
def test_the_blas_that_is_loaded(
    loaded: list[dict[str, Any]],
    library: str,
    version: str,
    architecture: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    module = SimpleNamespace(threadpool_info=lambda: loaded)
    monkeypatch.setattr(peer_libraries, "optional_module", lambda name: module)
    found = blas_kernels("numpy")
    assert (found.name, found.library) == ("numpy", library)
    assert (found.version, found.architecture) == (version, architecture)


def test_the_blas_of_this_process() -> None:
    pytest.importorskip("threadpoolctl")
    assert blas_kernels("numpy").architecture.endswith(" kernels")


def test_numpys_own_loops() -> None:
    found = numpy_kernels("numpy")
    assert (found.library, found.version) == ("numpy", np.__version__)
    assert found.architecture.startswith("loops for ")


def test_halides_target(monkeypatch: pytest.MonkeyPatch) -> None:
    target = SimpleNamespace(to_string=lambda: "x86-64-linux-avx512")
    halide = SimpleNamespace(get_host_target=lambda: target)
    monkeypatch.setattr(peer_libraries, "optional_module", lambda name: halide)
    monkeypatch.setattr(peer_libraries, "version", lambda name: "21.0.0")
    assert str(halide_kernels("h")) == "h: Halide 21.0.0, target x86-64-linux-avx512"


def test_without_halide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "halide", None)
    with pytest.raises(UnavailableError, match="halide is not installed"):
        halide_kernels("h")

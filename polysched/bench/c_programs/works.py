"""Gallery programs as benchmark works: sizes, operation counts and inputs.

Arrays without an entry are drawn from [-1, 1), numbers without an entry are 1.25. So nothing
overflows, underflows or becomes NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Make = Callable[[np.random.Generator, tuple[int, ...]], "npt.ArrayLike"]
"""Function that makes the contents of an array from a random generator and the shape."""


@dataclass(frozen=True)
class Work:
    """Sizes, operations and inputs of a gallery program in a race.

    Attributes:
        large: the parameters for arrays much larger than the L2 cache.
        operations: counts the operations of one call from the sizes; only the leading term.
        inputs: functions that fill an array or number, by its name.
    """

    large: Mapping[str, int]
    operations: Callable[..., float]
    inputs: Mapping[str, Make] = field(default_factory=dict)

    def sizes(self, kind: str) -> dict[str, int]:
        """The ``large`` sizes, or ``small`` sizes: a twentieth, for arrays in L1 or L2."""
        part = {"large": 1, "small": 20}[kind]
        return {name: max(4, extent // part) for name, extent in self.large.items()}


def uniform(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Uniformly distributed numbers from [-1, 1)."""
    return generator.uniform(-1, 1, shape)


def dominant(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A diagonally dominant matrix: it can be factored without pivoting, and solved stably."""
    matrix = uniform(generator, shape)
    matrix[np.diag_indices(len(matrix))] = 2 * len(matrix)
    return matrix


def reflections(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """The first column, below its 1, of a well-conditioned symmetric Toeplitz matrix."""
    return uniform(generator, shape) / (2 * shape[0])


def distances(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Edge lengths of a graph, from 1 to 999."""
    return generator.integers(1, 1000, shape)


def bases(generator: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """A sequence of RNA bases, 0 to 3."""
    return generator.integers(0, 4, shape)


def zeros(_: np.random.Generator, shape: tuple[int, ...]) -> Array:
    """Zeros."""
    return np.zeros(shape)


def always(value: float) -> Make:
    """Fill an array with one number."""
    return lambda _, shape: np.full(shape, value)


def _numbers(**values: float) -> dict[str, Make]:
    return {name: always(value) for name, value in values.items()}


WORKS: Mapping[str, Work] = MappingProxyType(
    {
        "gemm": Work({"n": 1000, "m": 1100, "p": 1200}, lambda n, m, p: 2 * n * m * p),
        "symm": Work({"m": 1000, "n": 1200}, lambda m, n: 2 * m * m * n),
        "syrk": Work({"n": 1200, "m": 1000}, lambda n, m: n * n * m),
        "syr2k": Work({"n": 1200, "m": 1000}, lambda n, m: 2 * n * n * m),
        "trmm": Work({"m": 1000, "n": 1200}, lambda m, n: m * m * n),
        "gemver": Work({"n": 2000}, lambda n: 8 * n * n),
        "gesummv": Work({"n": 1300}, lambda n: 4 * n * n),
        "mvt": Work({"n": 2000}, lambda n: 4 * n * n),
        "atax": Work({"m": 1900, "n": 2100}, lambda m, n: 4 * m * n),
        "bicg": Work({"m": 1900, "n": 2100}, lambda m, n: 4 * m * n),
        "two_mm": Work(
            {"n": 500, "m": 550, "p": 650, "q": 600}, lambda n, m, p, q: 2 * n * m * (p + q)
        ),
        "three_mm": Work(
            {"n": 500, "m": 550, "p": 600, "q": 650, "r": 700},
            lambda n, m, p, q, r: 2 * (n * m * p + m * q * r + n * m * q),
        ),
        "doitgen": Work({"r": 140, "q": 150, "p": 160}, lambda r, q, p: 2 * r * q * p * p),
        "cholesky": Work({"n": 1500}, lambda n: n**3 / 3, {"A": dominant}),
        "lu": Work({"n": 1000}, lambda n: 2 * n**3 / 3, {"A": dominant}),
        "lu_solve": Work({"n": 1000}, lambda n: 2 * n**3 / 3, {"A": dominant}),
        "trisolv": Work({"n": 4000}, lambda n: n * n, {"L": dominant}),
        "durbin": Work({"n": 4000}, lambda n: 2 * n * n, {"r": reflections}),
        "gramschmidt": Work({"m": 1000, "n": 800}, lambda m, n: 2 * m * n * n),
        "covariance": Work({"n": 1200, "m": 1000}, lambda n, m: n * m * m),
        "correlation": Work({"n": 1200, "m": 1000}, lambda n, m: n * m * m),
        "floyd_warshall": Work({"n": 1000}, lambda n: 2 * n**3, {"path": distances}),
        "nussinov": Work({"n": 1500}, lambda n: n**3 / 3, {"base": bases, "score": zeros}),
        "jacobi_1d": Work({"steps": 100, "n": 400_000}, lambda steps, n: 6 * steps * n),
        "jacobi_2d": Work({"steps": 50, "n": 2000}, lambda steps, n: 10 * steps * n**2),
        "jacobi_3d": Work({"steps": 50, "n": 200}, lambda steps, n: 6 * steps * n**3),
        "heat_3d": Work({"steps": 50, "n": 200}, lambda steps, n: 30 * steps * n**3),
        "seidel_2d": Work({"steps": 20, "n": 2000}, lambda steps, n: 9 * steps * n**2),
        "fdtd_2d": Work(
            {"steps": 50, "nx": 1600, "ny": 2000}, lambda steps, nx, ny: 11 * steps * nx * ny
        ),
        "adi": Work(
            {"steps": 10, "n": 1000},
            lambda steps, n: 30 * steps * n**2,
            _numbers(a=-0.5, b=2, c=-0.5, d=-0.25, e=1.5, f=-0.25),
        ),
        "deriche": Work(
            {"w": 4096, "h": 2160},
            lambda w, h: 32 * w * h,
            _numbers(a1=-0.19, a2=0.13, a3=0.16, a4=-0.19, b1=1.41, b2=-0.61),
        ),
    }
)

"""Functions in numpy's style compute what numpy computes.

The interpreter runs the kernels, which takes a tenth of the time of compiling them;
``python -m tests.frontends.python.fuzz_numpy`` and ``...programs`` compile.
"""

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from polysched.frontends.python.calls.returns import ResultKind
from polysched.frontends.python.calls.signatures import (
    arguments_for,
    call_types,
    names_in,
    sizes_of,
)
from polysched.frontends.python.decorator import read_kernel
from polysched.frontends.python.reading import Given
from polysched.frontends.python.scope.inferred_bounds import with_inferred_bounds
from polysched.frontends.python.source.function_source import function_source
from polysched.ir.semantics.reference import run_reference
from tests.frontends.python import as_found, numpy_style

HELPERS = {"clamp", "neighbors", "scaled", "square", "two"}
FUNCTIONS = [
    value
    for module in (numpy_style, as_found)
    for name, value in vars(module).items()
    if inspect.isfunction(value) and name not in HELPERS
]


def arguments(function: Callable[..., Any], dtype: type) -> dict[str, Any]:
    generator = np.random.default_rng(1)
    shapes = {"x": (7,), "y": (7,), "a": (5, 7), "b": (5, 7)}
    given: dict[str, Any] = {"k": 4, "alpha": 1.5}
    given |= {
        name: (generator.standard_normal(shape) * 3).astype(dtype) for name, shape in shapes.items()
    }
    return {name: given[name] for name in inspect.signature(function).parameters}


@pytest.mark.parametrize("position", range(len(FUNCTIONS)), ids=[f.__name__ for f in FUNCTIONS])
def test_the_kernel_computes_what_numpy_does(position: int) -> None:
    function = FUNCTIONS[position]
    is_whole = position % 3 == 1 and function.__module__ == numpy_style.__name__
    is_whole = is_whole and function is not numpy_style.rebinding
    values = arguments(function, np.int32 if is_whole else np.float64)
    source = function_source(function)
    types = arguments_for(source, call_types(source, names_in(source), values))
    kernel = read_kernel(function, None, Given(types))
    sizes = sizes_of(kernel, types, values)
    bounded = with_inferred_bounds(kernel, source, sizes)
    arrays = {name: np.asarray(values[name]) for name in values if name in kernel.arrays}
    found = run_reference(bounded, arrays, sizes)
    copies = {name: np.copy(value) if np.ndim(value) else value for name, value in values.items()}
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        returned = function(**copies)
    for name, value in copies.items():
        if np.ndim(value) and name in found:
            same(found[name], value)
    results = returned if isinstance(returned, tuple) else (returned,)
    for result, value in zip(kernel.returns.results, results, strict=False):
        if result.kind is not ResultKind.ARGUMENT:
            same(found[result.name], np.asarray(value))


def same(found: Any, expected: Any) -> None:
    assert found.dtype == expected.dtype
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-12)

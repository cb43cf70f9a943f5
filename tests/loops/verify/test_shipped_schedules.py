"""The last-writer run finds nothing in the schedules of the examples and of the library."""

import runpy
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from pkgutil import iter_modules
from typing import Any

import pytest

import polysched.library
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import f32, i32
from polysched.legality.check import check
from polysched.library.matmul.kernel.declare import matmul_kernel
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.library.reduce import Combine
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.schedule import tile_order_of, transpose_schedule
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule

MACHINE = load_machine("skylake-avx512")
EXAMPLES = Path(__file__).parents[3] / "examples"

SIZES: Mapping[str, tuple[dict[str, Any], dict[str, int]]] = {
    "conv2d_relu": ({"N": 1, "H": 2, "W": 7, "CI": 2, "CO": 66}, {}),
    "dequantized": ({"m": 9, "n": 18, "k": 5}, {}),
    "int4_gemv": ({"m": 3, "k": 300}, {}),
    "linalg_product": ({}, {"m": 3, "n": 70, "k": 4}),
    "seidel": ({}, {"n": 11, "T": 5}),
    "jacobi": ({}, {"n": 23, "T": 5}),
    "fold_kernel": (
        {"extents": (3, 4, 21), "kept": (True, False, True), "dtype": f32},
        {},
    ),
    "gemv_kernel": ({"rows": 19, "columns": 37}, {}),
    "quantized_gemv_kernel": ({"rows": 5, "columns": 150, "group": 32}, {}),
    "reduce_kernel": ({"combine": Combine.SUM, "results": 5, "terms": 150}, {}),
    "softmax_kernel": ({"rows": 3, "columns": 37}, {}),
}
"""For each kernel of the examples and the library: arguments that declare it small, parameters."""


def modules() -> list[tuple[str, dict[str, Any]]]:
    """The examples and the modules of the library: what they define, by name."""
    library = polysched.library
    found = [(path.stem, runpy.run_path(str(path))) for path in sorted(EXAMPLES.glob("*.py"))]
    for module in iter_modules(library.__path__):
        loaded = import_module(f"{library.__name__}.{module.name}")
        own = {
            name: value
            for name, value in vars(loaded).items()
            if getattr(value, "__module__", None) == loaded.__name__
        }
        found.append((f"library.{module.name}", own))
    return found


def returning(kind: type, module: Mapping[str, Any]) -> dict[str, Callable[..., Any]]:
    found = {}
    for name, value in module.items():
        if not callable(value) or isinstance(value, type):
            continue
        # Modules of the library import some types for type checkers only, so names are compared.
        result = getattr(value, "__annotations__", {}).get("return")
        if (result.__name__ if isinstance(result, type) else result) == kind.__name__:
            found[name] = value
    return found


def shipped() -> list[Any]:
    """Every schedule of every kernel in the examples and in the library."""
    return [
        pytest.param(make, SIZES.get(kernel_name), schedule, id=f"{name}:{schedule_name}")
        for name, module in modules()
        for kernel_name, make in returning(Kernel, module).items()
        for schedule_name, schedule in returning(Schedule, module).items()
        if not schedule_name.startswith("_")
    ]


@pytest.mark.slow
@pytest.mark.parametrize(("kernel", "sizes", "schedule"), shipped())
def test_examples_and_library(
    kernel: Callable[..., Kernel],
    sizes: tuple[dict[str, Any], dict[str, int]] | None,
    schedule: Callable[..., Schedule],
) -> None:
    assert sizes is not None, f"give kernel '{kernel.__name__}' an entry in SIZES"
    declared, parameters = sizes
    is_tuned = "machine" in signature(schedule).parameters
    tuned = {"machine": MACHINE, "threads": 2} if is_tuned else {}
    scheduled = schedule(kernel(**declared), **tuned)
    found = last_writer_errors(scheduled, parameters)
    assert (not found) == check(scheduled).is_legal, "\n".join(map(str, found))


@pytest.mark.slow
@pytest.mark.parametrize(
    "config",
    [
        Config(inner_m=2, inner_n=32),
        Config(m_threads=2, inner_m=3, inner_n=16, k_block=8, pack_b=True),
        Config(k_threads=2, inner_m=2, inner_n=16),
    ],
)
def test_matrix_product(config: Config) -> None:
    scheduled = matmul_schedule(matmul_kernel(7, 35, 19), config, MACHINE)
    assert last_writer_errors(scheduled, {}) == ()


@pytest.mark.slow
@pytest.mark.parametrize("is_large", [False, True])
def test_transposition(is_large: bool) -> None:
    kernel = transpose_kernel((1, 0), i32, 4)
    order = tile_order_of(4, 64, is_large=is_large, diagonal=1, machine=load_machine("generic"))
    scheduled = transpose_schedule(kernel, 4, order)
    assert check(scheduled).is_legal
    parameters = dict.fromkeys(kernel.parameters, 9)
    assert last_writer_errors(scheduled, parameters) == ()

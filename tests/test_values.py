"""Kernels and schedules as values: equality, hashes, pickles; displays in notebooks."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import polysched as ps
from tests.support import kernels


def scale(factor: float = 2.0, name: str = "scale") -> ps.Kernel:
    build = ps.KernelBuilder(name)
    n = build.parameter("n", minimum=1)
    x, y = build.input("x", ps.f32, (n,)), build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = factor * x[i]
    return build.kernel()


def test_kernels_declared_alike_are_equal() -> None:
    first, second = scale(), scale()
    assert first == second
    assert hash(first) == hash(second)
    assert len({first, second, scale(name="other")}) == 2


@pytest.mark.parametrize(
    "other",
    [
        scale(3.0),
        scale(name="other"),
        replace(scale(), fp_contract=False),
        kernels.scale(),
        "scale",
    ],
    ids=repr,
)
def test_other_kernels_differ(other: object) -> None:
    assert scale() != other


def test_the_sign_of_zero_and_the_order_of_a_sum_are_part_of_the_value() -> None:
    assert scale(0.0) != scale(-0.0)
    assert kernels.matmul(order="any") != kernels.matmul(order="exact")


def test_kernels_are_equal_after_use() -> None:
    """isl writes a set in another way once it has been simplified."""
    build = ps.KernelBuilder("sum")
    n = build.parameter("n", minimum=1)
    x, total = build.input("x", ps.f32, (n,)), build.inout("total", ps.f32, ())
    with build.loops(i=n) as i, build.statement("S", order="any"):
        total[()] += x[i]
    used = build.kernel()
    before = hash(used)
    assert ps.Schedule(used).vectorize_reduction("S", "i").check().is_legal
    assert used == build.kernel()
    assert before == hash(used) == hash(build.kernel())


def test_schedules_compare_by_kernel_and_steps() -> None:
    first, second = ps.Schedule(scale()), ps.Schedule(scale())
    assert first.vectorize("i", 16) == second.vectorize("i", 16)
    assert hash(first.split("i", 4)) == hash(second.split("i", 4))
    assert first.vectorize("i", 16) != second.vectorize("i", 8)
    assert first != ps.Schedule(scale(3.0))
    assert first != scale()


@pytest.mark.parametrize(
    "kernel",
    [scale(), kernels.matmul(), kernels.seidel(), kernels.grid(triangular=True)],
    ids=lambda kernel: kernel.name,
)
def test_kernels_pickle(kernel: ps.Kernel) -> None:
    again = pickle.loads(pickle.dumps(kernel))
    assert again == kernel
    assert ps.Schedule(again).show("domain") == ps.Schedule(kernel).show("domain")


def test_schedules_pickle_with_their_steps_and_lines() -> None:
    product = ps.Schedule(kernels.matmul()).tile(("update.i", "update.j"), (4, 8)).pack("b", "jo")
    again = pickle.loads(pickle.dumps(product))
    assert again == product
    assert type(again) is ps.Schedule
    assert again.locations == product.locations
    assert again.show() == product.show()
    assert again.check().is_legal


def test_another_process_runs_a_pickled_schedule(tmp_path: Path) -> None:
    path = tmp_path / "schedule.pickle"
    path.write_bytes(pickle.dumps(ps.Schedule(scale()).vectorize("i", 4)))
    code = (
        "import pickle, sys, numpy as np\n"
        "run = pickle.load(open(sys.argv[1], 'rb')).compile()\n"
        "print(run(np.arange(5, dtype='f4')).tolist())"
    )
    found = subprocess.run(
        [sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True
    )
    assert found.stdout == "[0.0, 2.0, 4.0, 6.0, 8.0]\n"


def test_a_compiled_kernel_says_what_to_pickle_instead() -> None:
    with pytest.raises(TypeError, match="Pickle its schedule"):
        pickle.dumps(ps.compile(scale()))


def test_the_signature_of_a_compiled_kernel() -> None:
    signature = inspect.signature(ps.compile(scale()))
    assert str(signature) == "(x, y=None, *, n=None, threads=None)"


def test_texts_are_short() -> None:
    schedule = ps.Schedule(scale()).vectorize("i", 16)
    assert repr(schedule.check()) == (
        "<Verdict legal; proved: 1 statement, 0 dependences, 2 accesses, 0 buffers>"
    )
    report = ps.optimize(scale()).report()
    assert repr(report).startswith("<Report of scale for ")
    assert len(repr(report)) < 300


def test_displays_in_notebooks() -> None:
    kernel = scale()
    schedule = ps.Schedule(kernel).vectorize("i", 16)
    shown = {
        "y: y[i] = (2.0 * x[i])": kernel,
        "legal": schedule.check(),
        "statements:": schedule.report(),
        "input x: f32[n]": ps.compile(kernel),
    }
    for text, value in shown.items():
        html = getattr(value, "_repr_html_")()  # noqa: B009  (mypy knows no such method of object)
        assert text in "\n".join(ElementTree.fromstring(html).itertext()), value


def test_results_are_those_of_numpy_with_a_small_index_array() -> None:
    build = ps.KernelBuilder("look_up")
    n = build.parameter("n", minimum=1)
    index, table = build.input("index", ps.u8, (n,)), build.input("table", ps.f32, (256,))
    y = build.output("y", ps.f32, (n,))
    with build.loops(i=n) as i:
        y[i] = table[index[i]]
    random = np.random.default_rng(0)
    places, values = random.integers(0, 256, 99, np.uint8), random.random(256, np.float32)
    run = ps.Schedule(build.kernel()).vectorize("i").compile()
    assert np.array_equal(run(places, values), values[places])


@pytest.mark.parametrize(
    ("dtype", "extent", "outside"),
    [(ps.i8, 128, "table[-128]"), (ps.u8, 255, "table[255]"), (ps.u16, 65_535, "table[65535]")],
    ids=str,
)
def test_a_small_type_alone_does_not_make_an_access_legal(
    dtype: ps.DType, extent: int, outside: str
) -> None:
    build = ps.KernelBuilder("look_up")
    index, table = build.input("index", dtype, (9,)), build.input("table", ps.f32, (extent,))
    y = build.output("y", ps.f32, (9,))
    with build.loops(i=9) as i:
        y[i] = table[index[i]]
    verdict = ps.check(build.kernel())
    assert not verdict.is_legal
    assert f"may read {outside}" in str(verdict)

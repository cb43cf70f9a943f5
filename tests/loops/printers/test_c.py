import ctypes
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.kernel import Role
from polysched.ir.core.tree import LoopKind
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.functions import cast
from polysched.loops.ir.nodes import Allocate, Block, For, If, LoopNode, LoopProgram
from polysched.loops.printers.c import function_name, print_c
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.loops.compiling import run_c
from tests.loops.programs import (
    array,
    assign,
    i,
    j,
    load,
    loop,
    matmul_relu,
    n,
    program,
    vector,
)
from tests.support import kernels, packed_kernels
from tests.support.effort import covering
from tests.support.interpreting import interpret


def test_matmul_text(check_golden: Callable[[str, str], None]) -> None:
    check_golden("loops/matmul_relu.c", print_c(matmul_relu()))


@pytest.mark.parametrize("size", [0, 1, 2, 7])
def test_matmul_is_bit_equal_to_the_interpreter(size: int, tmp_path: Path) -> None:
    random = np.random.default_rng(4)
    arrays = {
        "a": random.random((size, size), np.float32) - np.float32(0.5),
        "b": random.random((size, 8), np.float32),
    }
    expected = interpret(matmul_relu(), arrays, {"n": size})
    actual = run_c(matmul_relu(), arrays, {"n": size}, tmp_path)
    np.testing.assert_array_equal(actual["c"], expected["c"])


def vector_program(*body: LoopNode, lower: int = 0) -> LoopProgram:
    x, y = array("x", (20,), Role.INOUT, i32), array("y", (20,), Role.INOUT, i32)
    return program([x, y], vector("i", lower, 16, *body))


def own(subscript: object) -> LoopNode:
    return assign("x", (subscript,), load("x", subscript, dtype=i32) + load("y", i, dtype=i32))


X = {shift: load("x", i + shift, dtype=i32) for shift in (0, 1, 4)}


@covering(
    1,
    lower=[0, 3, 16],
    **{
        "body, copied": [
            ([assign("x", (i,), load("y", i, dtype=i32))], False),
            ([own(i)], False),
            ([own(2 * i // 2)], False),
            ([own(5 * i // 4)], True),
            ([own(19 - i)], False),
            ([own(i // 2)], True),
            ([own(i - i)], True),
            ([own(3)], True),
            ([assign("x", (i + 1,), X[0])], True),
            ([assign("x", (i,), X[4] + X[1])], True),
            ([If(i < n, assign("x", (i + 1,), X[0]))], True),
            ([If(i < n, assign("x", (i + 1,), X[0]), own(i))], True),
            ([own(i), assign("y", (i,), load("x", 19 - i, dtype=i32))], False),
        ]
    },
)
def test_vector_loops(body: list[LoopNode], copied: bool, lower: int, tmp_path: Path) -> None:
    made = vector_program(*body, lower=lower)
    random = np.random.default_rng(5)
    arrays = {name: random.integers(0, 99, 20, np.int32) for name in "xy"}
    assert ("lanes[" in print_c(made)) == copied
    expected = interpret(made, arrays, {"n": 9})
    actual = run_c(made, arrays, {"n": 9}, tmp_path)
    for name in "xy":
        np.testing.assert_array_equal(actual[name], expected[name], name)


def test_vector_loop_with_bounds_known_at_run_time(tmp_path: Path) -> None:
    x = array("x", (20,), Role.INOUT, i32)
    inner = vector("j", 4 * i, 4 * i + n, assign("x", (j + 1,), load("x", j, dtype=i32)))
    made = program([x], loop("i", 0, 3, inner))
    arrays = {"x": np.arange(20, dtype=np.int32)}
    for size in (0, 5):
        folder = tmp_path / str(size)
        folder.mkdir()
        expected = interpret(made, arrays, {"n": size})
        actual = run_c(made, arrays, {"n": size}, folder)
        np.testing.assert_array_equal(actual["x"], expected["x"])


def buffered(extent: int) -> LoopProgram:
    """Two buffers, one of a parametric size, each used twice; a temporary over the whole run."""
    constant = array("small", (extent,), Role.TEMPORARY)
    parametric = array("large", (n, 2), Role.TEMPORARY)
    lasting = array("lasting", (4,), Role.TEMPORARY)
    x, y = array("x", (n,), Role.INPUT), array("y", (n,), Role.OUTPUT)

    def tile(name: str, at: tuple[object, ...]) -> LoopNode:
        kept = assign(name, at, load("x", i) * 2)
        out = assign("y", (i,), load(name, *at) + load("lasting", i % 4))
        return Allocate(name, Block((kept, out)))

    fill = loop("j", 0, 4, assign("lasting", (j,), Constant(3.0, f32)))
    first = loop("i", 0, n, tile("small", (i % 4,)), tile("large", (i, 1)))
    second = loop("i", 0, n, tile("large", (i, 0)), tile("small", (i % 4,)))
    return program([x, y, constant, parametric, lasting], fill, first, second)


@pytest.mark.parametrize(("extent", "on_heap"), [(4, False), (100_000, True)])
def test_buffers(extent: int, on_heap: bool, tmp_path: Path) -> None:
    made = buffered(extent)
    text = print_c(made)
    assert ("*restrict small = (float *)workspace(" in text) == on_heap
    assert "*restrict large = (float *)workspace(elements(n, 2), sizeof(float));" in text
    assert "float lasting[4];" in text
    arrays = {"x": np.arange(6, dtype=np.float32)}
    actual = run_c(made, arrays, {"n": 6}, tmp_path)["y"]
    np.testing.assert_array_equal(actual, interpret(made, arrays, {"n": 6})["y"])


def test_workspace_that_cannot_be_had(tmp_path: Path) -> None:
    """The function says so, having written nothing."""
    made = buffered(100_000)
    run_c(made, {"x": np.zeros(0, np.float32)}, {"n": 0}, tmp_path)
    function = ctypes.CDLL(str(tmp_path / "f.so"))["f"]
    y = np.full(4, 7, np.float32)
    pointer = ctypes.c_void_p(y.ctypes.data)
    for size in (2**62, 2**58):  # too many bytes to count; too many to allocate
        assert function(pointer, pointer, ctypes.c_int64(size)) == 1
    assert y.tolist() == [7] * 4


def test_scalars_steps_and_names_that_c_reserves(tmp_path: Path) -> None:
    total = array("double", (), Role.INOUT, i32)
    add = assign("double", (), load("double", dtype=i32) + load("for", i, dtype=i32))
    made = program(
        [array("for", (n,), Role.INPUT, i32), total],
        loop("i", 0, n, add, step=3, kind=LoopKind.UNROLLED),
    )
    arrays = {"for": np.arange(10, dtype=np.int32), "double": np.array(5, np.int32)}
    assert run_c(made, arrays, {"n": 10}, tmp_path)["double"] == 5 + 0 + 3 + 6 + 9


def test_temporaries_without_accesses_take_no_memory(tmp_path: Path) -> None:
    y = array("y", (4,), Role.OUTPUT, i32)
    unused = [array("small", (4,), Role.TEMPORARY), array("large", (n, 4), Role.TEMPORARY)]
    body = Allocate("small", loop("i", 0, 4, assign("y", (i,), Constant(1, i32))))
    made = program([y, *unused], Allocate("large", body))
    assert run_c(made, {}, {"n": 3}, tmp_path)["y"].tolist() == [1] * 4
    text = print_c(made)
    assert "small" not in text
    assert "large" not in text


def test_no_arguments(tmp_path: Path) -> None:
    t = array("t", (4,), Role.TEMPORARY)
    made = program([t], loop("i", 0, 4, assign("t", (i,), Constant(0.0, f32))), context="{ : }")
    assert "int f(void)" in print_c(made)


def test_a_vector_loop_without_meaning_is_refused() -> None:
    inner: For = loop("j", 0, 2, assign("x", (j,), load("y", i, dtype=i32)))
    with pytest.raises(LoweringError, match="vector loop 'i' holds a For node"):
        print_c(vector_program(inner))


def test_the_text_is_accepted_as_strict_c99(tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(print_c(buffered(4)), encoding="utf-8")
    run_c(buffered(4), {"x": np.zeros(1, np.float32)}, {"n": 1}, tmp_path)
    flags = "-std=c99 -Wall -Wextra -Wpedantic -Werror -fsyntax-only".split()
    subprocess.run(["cc", *flags, str(source)], check=True)


def test_the_name_of_the_function() -> None:
    def named(name: str) -> str:
        return function_name(program([], loop("n", 0, 1), name=name))

    assert named("f") == "f"
    assert (named("lanes"), named("int")) == ("lanes_", "int_")


def test_widths_that_c_does_not_have_are_refused() -> None:
    with pytest.raises(LoweringError, match="array 'w' holds integers of 5 bits (.i5.), which C"):
        print_c(lower(Schedule(packed_kernels.unpack("i5"))))
    given = [array("A", (n,), Role.INPUT, i32), array("B", (n,), Role.OUTPUT, i32)]
    narrow = cast(cast(load("A", i, dtype=i32), "i5"), i32)
    with pytest.raises(LoweringError, match="i5.* is an integer of 5 bits (.i5.), which C does"):
        print_c(program(given, loop("i", 0, n, assign("B", (i,), narrow))))


def test_gcc_is_told_which_loops_are_vectors() -> None:
    scaled = Schedule(kernels.scale())
    plain = print_c(lower(scaled))
    assert "POLYSCHED" not in plain
    vectors = print_c(lower(scaled.split("i", 8).vectorize("ii", 8)))
    assert "#define POLYSCHED_VECTOR" in vectors
    assert "POLYSCHED_VECTOR for (int64_t iiv = 0; iiv < 8; ++iiv) { /* vector */" in vectors
    unrolled = print_c(lower(scaled.split("i", 8).unroll("ii")))
    assert "POLYSCHED_UNROLLED for (int64_t ii = 0; ii < 8; ++ii) { /* unrolled */" in unrolled

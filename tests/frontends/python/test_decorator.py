"""Functions as kernels: the kernel computes what the function does, bit for bit."""

import inspect
from dataclasses import replace

import numpy as np
import pytest

import polysched as ps
from polysched.frontends.python.decorator import PythonKernel, read_kernel
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.semantics.reference import run_reference
from tests.frontends.python import classic_algorithms
from tests.frontends.python import functions_over_arrays as functions
from tests.support.differential import arguments

# ruff: noqa: F821

SIZE = 7
ALL = (*functions.ALL, *classic_algorithms.ALL)


def parameters(kernel: ps.Kernel) -> dict[str, int]:
    return {name: SIZE + position for position, name in enumerate(kernel.parameters)}


def given(function: PythonKernel) -> dict[str, np.ndarray]:
    """Arguments of the kernel: values that are no small integers, and subscripts in range."""
    generator = np.random.default_rng(len(function.name))
    found = {}
    sizes = parameters(function)
    for name, array in arguments(function, sizes).items():
        declared = function.arrays[name]
        if declared.role is Role.OUTPUT:
            continue
        if declared.values is not None:
            low, high = (evaluate(end, sizes) for end in declared.values)
            found[name] = generator.integers(low, high, array.shape).astype(array.dtype)
        elif declared.dtype.is_float:
            found[name] = generator.standard_normal(array.shape).astype(array.dtype)
            if array.ndim == 2:
                np.fill_diagonal(found[name], 10)  # so that matrices can be factored
        else:
            found[name] = generator.integers(-20, 20, array.shape).astype(array.dtype)
    return found


def plain(function: PythonKernel) -> dict[str, np.ndarray]:
    """What plain Python makes of the arguments."""
    arrays = {name: array.copy() for name, array in given(function).items()}
    sizes = parameters(function)
    names = inspect.signature(function.function).parameters
    returned = function.python(*(arrays[name] if name in arrays else sizes[name] for name in names))
    outputs = [a.name for a in function.arrays.values() if a.role is Role.OUTPUT]
    made = returned if isinstance(returned, tuple) else [returned]
    changed = {n: a for n, a in arrays.items() if function.arrays[n].role is Role.INOUT}
    return changed | (dict(zip(outputs, made, strict=True)) if outputs else {})


@pytest.mark.parametrize("function", ALL, ids=lambda one: one.name)
def test_the_declared_kernel_computes_what_the_function_does(function: PythonKernel) -> None:
    results = run_reference(function, given(function), parameters(function))
    expected = plain(function)
    assert expected.keys() == results.keys()
    for name, array in expected.items():
        np.testing.assert_array_equal(results[name], array, strict=True)


@pytest.mark.parametrize("function", ALL, ids=lambda one: one.name)
def test_compiled_code_computes_what_the_function_does(function: PythonKernel) -> None:
    sizes, arrays = parameters(function), given(function)
    made = ps.Schedule(replace(function, fp_contract=False)).compile()(**arrays, **sizes)
    expected = plain(function)
    outputs = [a.name for a in function.arrays.values() if a.role is Role.OUTPUT]
    if outputs:
        arrays |= dict(zip(outputs, made if isinstance(made, tuple) else [made], strict=True))
    for name, array in expected.items():
        np.testing.assert_array_equal(arrays[name], array, strict=True)


def test_statements_are_located_in_the_function() -> None:
    lines, first = inspect.getsourcelines(functions.prefix.function)
    statement = functions.prefix.statements["total"]
    assert statement.location is not None
    assert lines[statement.location.line - first].strip() == "total[i] = s"
    assert statement.location.column == 9
    assert statement.reads[0].location is not None
    assert statement.reads[0].location.column == 20
    assert functions.prefix.location is not None
    assert functions.prefix.location.file == functions.__file__


def test_the_policy_of_reductions() -> None:
    reductions = {n: s.reduction for n, s in functions.gemm.statements.items()}
    assert reductions["init"] is None
    assert reductions["c"] is not None
    assert reductions["c"].order is Order.ANY

    def two(x: "f32[n]", y: "f32[1]"):
        for i in range(x.shape[0]):
            with ps.statement("first", order="exact"):
                y[0] += x[i]
            with ps.statement("second"):
                y[0] += x[i]

    policies = {
        name: one.reduction.order
        for name, one in read_kernel(two, Order.ANY).statements.items()
        if one.reduction is not None
    }
    assert policies == {"first": Order.EXACT, "second": Order.ANY}


@pytest.mark.parametrize("order", [None, *Order])
def test_the_policy_of_reductions_of_integers(order: Order | None) -> None:
    def total(x: "i32[n]", y: "i32[1]"):
        for i in range(x.shape[0]):
            y[0] += x[i]

    (statement,) = read_kernel(total, order).statements.values()
    assert statement.reduction is not None
    assert statement.reduction.order is (order or Order.ANY)


def test_a_decorated_function_can_be_scheduled_and_called() -> None:
    schedule = (
        ps.Schedule(functions.gemm)
        .distribute("j", after="init")
        .distribute("i", after="init")
        .reorder("c.i", "p", "c.j")
        .vectorize("c.j", 16)
    )
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-3, 4, (9, 9)).astype(np.float32) for _ in range(2))
    c = np.empty((9, 9), np.float32)
    schedule.compile()(a, b, c)
    np.testing.assert_array_equal(c, a @ b)


def test_an_unknown_policy() -> None:
    with pytest.raises(ps.PolyschedError, match="unknown order policy 'some'"):
        ps.kernel(order="some")


def test_arrays_are_returned_in_the_order_of_the_return_statement() -> None:
    def function(x: "f64[3]"):
        first = np.zeros(3)
        second = np.ones(3)
        first[0] = x[1]
        return second, first

    x = np.arange(3.0)
    for one, other in zip(function(x), ps.Schedule(ps.kernel(function)).compile()(x), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_return_of_nothing() -> None:
    def function(x: "f64[3]"):
        x[0] = 1

    assert ps.Schedule(ps.kernel(function)).compile()(np.zeros(3)) is None


def test_a_kernel_is_shown_in_a_line() -> None:
    def function(x: "f64[n]"):
        for i in range(len(x)):
            x[i] = 1

    assert repr(ps.kernel(function)) == "<Kernel function(x, n): x>"


def test_an_annotation_of_python_s_says_nothing() -> None:
    def function(x: "f64[n]"):
        n: int = len(x)
        for i in range(n):
            t: float = 0.5
            x[i] = t * i

    x = np.zeros(4)
    ps.Schedule(ps.kernel(function)).compile()(x)
    np.testing.assert_array_equal(x, [0, 0.5, 1, 1.5])

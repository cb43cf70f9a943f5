"""A schedule run in four ways and compared: declared, as loops, as vectors, as machine code.

Machine code runs at all sizes, the interpreters at every second one unless there is time for all.

Arguments hold small integers, floats too: sums and products of them are exact in any order, so the
results are compared bit for bit. Arrays of the compiled kernel lie between guard bytes, which must
survive.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polysched.fuzz.judge.machine import placed
from polysched.ir.core.kernel import Array, Kernel, Role
from polysched.ir.core.packing import byte_shape
from polysched.ir.core.strides import concrete_strides
from polysched.ir.expr.dtypes import DType, boolean
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.semantics.memory import AnyArray, concrete_shape
from polysched.ir.semantics.reference import run_reference
from polysched.loops.interpret.interpreter import interpreter
from polysched.loops.ir.nodes import LoopProgram
from polysched.lower import compile, limited_loops, show
from polysched.machine.description import Machine
from polysched.machine.load import as_machine, load_machine
from polysched.runtime.cache import ObjectCache
from polysched.schedule.schedule import Schedule
from polysched.vector.interpret import interpreter as vector_interpreter
from polysched.vector.pass_list import loops_after, vector_program
from polysched.vector.verify import verify
from tests.support.effort import sampled

NO_CACHE = ObjectCache(None)

Sizes = Mapping[str, int]


def random_array(generator: np.random.Generator, shape: tuple[int, ...], dtype: DType) -> AnyArray:
    """Small integers of any type; truth values for booleans."""
    if dtype == boolean:
        return generator.integers(0, 2, shape).astype(np.bool_)
    low = 0 if dtype.is_integer and not dtype.is_signed else -4
    return generator.integers(low, 5, shape).astype(dtype.numpy())


def arguments(kernel: Kernel, sizes: Sizes, seed: int = 0) -> dict[str, AnyArray]:
    """Every argument array of a kernel; outputs too, with contents of their own."""
    generator = np.random.default_rng(seed)
    return {
        name: _contents(generator, array, sizes)
        for name, array in kernel.arrays.items()
        if array.role is not Role.TEMPORARY
    }


def _contents(generator: np.random.Generator, array: Array, sizes: Sizes) -> AnyArray:
    """Values in the declared range, if there is one; of packed arrays buffers of any bits."""
    shape = concrete_shape(array.shape, sizes)
    if array.rows is not None:
        buffer = byte_shape(array.dtype, shape, array.rows)
        return generator.integers(0, 256, buffer, dtype=np.uint8)
    if array.values is None:
        return random_array(generator, shape, array.dtype)
    lower, upper = (evaluate(end, sizes) for end in array.values)
    return generator.integers(lower, upper, shape).astype(array.dtype.numpy())


def assert_agrees(
    schedule: Schedule,
    *sizes: Sizes,
    machine: Machine | str | None = None,
    interpreted: bool = True,
    rounding: float = 0.0,
    given: Mapping[str, AnyArray] | None = None,
) -> None:
    """Fail unless loops and machine code compute, at all sizes, what the declared kernel does.

    Code for a machine whose instructions this host lacks is interpreted and compiled, but not run.

    Args:
        sizes: values of the parameters; without any, one run without parameters.
        interpreted: whether the loops and their vector program are interpreted too; the
            interpreters refuse accesses outside of arrays.
        rounding: the relative difference allowed to machine code, for functions such as exp.
        given: contents of argument arrays; random small integers where absent.
    """
    kernel, target = schedule.kernel, as_machine(machine)
    compiled = None
    if target.missing_on(load_machine(None)):
        show(schedule, "asm", target)
    else:
        compiled = compile(schedule, target, cache=NO_CACHE)
    runs = []
    if interpreted:
        loops = limited_loops(schedule)
        # The compilation has run the passes for its own machine, and the result is cached.
        wide = target if target.vector_bits == 512 else load_machine("sapphirerapids")
        vectors = vector_program(loops, wide)
        verify(vectors)
        runs = [(interpreter(loops), "loops"), (vector_interpreter(vectors), "vectors")]
    at_all = sizes or ({},)
    at_some = sampled(at_all, 2)
    for size in at_all:
        called = {**arguments(kernel, size, seed=math.prod(size.values())), **(given or {})}
        expected = run_reference(kernel, called, size)
        for run, what in runs if size in at_some else ():
            assert_equal(run(called, size), expected, f"{what} at {size}")
        if compiled is None:
            continue
        strides = {
            name: concrete_strides(kernel.arrays[name], array.shape, size)
            for name, array in called.items()
        }
        places = {
            name: placed(array, strides[name], offset=3 * number)
            for number, (name, array) in enumerate(called.items())
        }
        got = {name: place.array for name, place in places.items()}
        compiled(**got, **size)
        assert_equal(got, {**called, **expected}, f"machine code at {size}", rounding)
        for name, place in places.items():
            assert not place.changed_outside(), f"array '{name}' at {size}: written outside"


def in_registers(loops: LoopProgram) -> LoopProgram:
    """The loops after the passes before ``vectorize``, for a machine with AVX-512."""
    return loops_after(loops, load_machine("sapphirerapids"), "transpose-tiles")


def assert_equal(
    got: Mapping[str, AnyArray],
    expected: Mapping[str, AnyArray],
    what: str,
    rounding: float = 0.0,
) -> None:
    """Fail unless all arrays are equal, NaN to NaN."""
    for name, array in expected.items():
        compare: Any = np.testing.assert_array_equal
        options: dict[str, Any] = {}
        values, wanted = got[name], array
        if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":
            # numpy's comparison does not take two NaN of bf16 for equal.
            values, wanted = values.astype(np.float32), wanted.astype(np.float32)
        if rounding and wanted.dtype.kind == "f":
            compare, options = np.testing.assert_allclose, {"rtol": rounding}
        compare(values, wanted, err_msg=f"{what}: array '{name}'", **options)


def spread(*names: str, values: Iterable[int] = (1, 4, 7, 8, 9)) -> list[dict[str, int]]:
    """Sizes for parameters: each gets each value, mixed; the least and the greatest for all."""
    listed = list(values)
    if len(names) == 1:
        return [{names[0]: value} for value in listed]
    equal = [dict.fromkeys(names, value) for value in (listed[0], listed[-1])]
    mixed = [
        {name: listed[(start + 2 * place) % len(listed)] for place, name in enumerate(names)}
        for start in range(len(listed))
    ]
    return equal + mixed

"""Random Python functions, run by Python and compiled: ``python -m tests.frontends.python.fuzz``.

The bits have to be equal. What is refused has to be refused by an error of polysched's own, at a
place in the text.
"""

from __future__ import annotations

import linecache
import random
import traceback
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import click
import numpy as np

import polysched as ps
from polysched.errors import FrontendError, KernelError, PolyschedError
from polysched.frontends.python.decorator import PythonKernel, read_kernel
from polysched.ir.core.kernel import Role
from polysched.ir.semantics.memory import AnyArray
from tests.frontends.python.typed_functions import Writer
from tests.support.random_sources import Findings, run, seconds_option, seed_option

SIZES = ({"n": 12, "m": 13}, {"n": 13, "m": 12})
_PRELUDE = "import itertools, math; import numpy as np\n"


def made(text: str, name: str) -> Callable[..., Any]:
    """The function of a text; its source is where `inspect` looks for it."""
    filename = f"<{name}>"
    full = _PRELUDE + text
    linecache.cache[filename] = (len(full), None, full.splitlines(keepends=True), filename)
    names: dict[str, Any] = {}
    exec(compile(full, filename, "exec"), names)
    function = names["made"]
    assert callable(function)
    return function


def try_seeds(seeds: range) -> Findings:
    """Compare what the functions of some seeds compute in Python and compiled."""
    findings = Findings()
    for seed in seeds:
        _try_seed(seed, findings)
    return findings


def _try_seed(seed: int, findings: Findings) -> None:
    text = Writer(random.Random(seed)).function()
    findings.counts["functions"] += 1
    try:
        kernel = read_kernel(made(text, f"random function {seed}"))
        start = ps.Schedule(replace(kernel, fp_contract=False))
    except KernelError:  # more than isl can take
        findings.counts["too large"] += 1
        return
    except FrontendError as error:
        findings.refuse(str(seed), error, text)
        return
    except Exception:  # noqa: BLE001  (whatever it is, it is a finding)
        findings.wrong.append(f"{seed}: {traceback.format_exc(limit=-4)}\n{text}")
        return
    try:
        run = start.compile()
    except PolyschedError as error:
        findings.wrong.append(f"{seed}: refused late: {error}\n{text}")
        return
    for sizes in SIZES:
        given = arguments(kernel, sizes, seed)
        try:
            expected = by_python(kernel, given)
        except (ArithmeticError, ValueError):
            findings.counts["Python raises"] += 1
            continue
        findings.counts["calls"] += 1
        problem = different(expected, by_machine(kernel, run, given, sizes))
        if problem:
            findings.wrong.append(f"{seed}: {sizes}: {problem}\n{text}")
            return


def arguments(kernel: PythonKernel, sizes: dict[str, int], seed: int) -> dict[str, Any]:
    """Arrays of small numbers, zeros of both signs, infinities, NaN and the ends of ranges."""
    generator = np.random.default_rng(seed)
    given: dict[str, Any] = {}
    for array in kernel.arrays.values():
        if array.role in (Role.OUTPUT, Role.TEMPORARY):
            continue
        shape = tuple(sizes[str(extent)] for extent in array.shape)
        dtype = array.dtype.numpy()
        if dtype.kind == "b":
            given[array.name] = generator.integers(0, 2, shape).astype(dtype)
            continue
        odd: AnyArray = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-40])
        values = generator.random(shape) * 4 - 2
        if dtype.kind in "iu":
            odd = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0], dtype)
            values = generator.integers(-50 if dtype.kind == "i" else 0, 50, shape)
        places = generator.random(shape) < 0.1
        mixed = np.asarray(values).astype(dtype)
        given[array.name] = np.where(places, generator.choice(odd, shape).astype(dtype), mixed)
    return given


def by_python(kernel: PythonKernel, given: dict[str, Any]) -> list[AnyArray]:
    """What the function itself makes: of its arguments, and what it returns."""
    copies = {name: value.copy() for name, value in given.items()}
    called = {name: one if one.shape else one[()] for name, one in copies.items()}
    with np.errstate(all="ignore"):
        returned = kernel.python(**called)
    return [*copies.values(), *_listed(returned)]


def by_machine(
    kernel: PythonKernel, run: Callable[..., Any], given: dict[str, Any], sizes: dict[str, int]
) -> list[AnyArray]:
    """What the compiled kernel makes."""
    copies = {name: value.copy() for name, value in given.items()}
    returned = run(**copies, **{one: sizes[one] for one in kernel.parameters})
    outputs = [one.name for one in kernel.arrays.values() if one.role is Role.OUTPUT]
    return [*copies.values(), *(_listed(returned) if outputs else [])]


def _listed(returned: Any) -> list[AnyArray]:
    if returned is None:
        return []
    return list(returned) if isinstance(returned, tuple) else [returned]


def different(expected: list[AnyArray], found: list[AnyArray]) -> str:
    """How results differ, bit for bit, all NaN being one; nothing if they do not."""
    try:
        assert len(expected) == len(found)
        for one, other in zip(expected, found, strict=True):
            np.testing.assert_array_equal(other, one, strict=True)
            if one.dtype.kind == "f":
                numbers = ~np.isnan(one)
                np.testing.assert_array_equal(
                    np.signbit(other)[numbers], np.signbit(one)[numbers], "signs"
                )
    except AssertionError as error:
        return str(error)
    return ""


@click.command()
@seconds_option
@seed_option
def main(seconds: float, seed: int) -> None:
    """Compare random functions with their kernels; the exit code is 1 if any differs."""
    run(try_seeds, seconds, seed)


if __name__ == "__main__":
    main()

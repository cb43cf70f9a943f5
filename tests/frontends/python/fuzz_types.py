"""Types of Python and numpy: ``python -m tests.frontends.python.fuzz_types --seconds 600``.

Functions over operands of all kinds are run by Python, for one index at a time, and by the kernel's
reference interpreter; some of them compiled too. The bits have to be equal wherever Python raises
no error, and converts no float to an integer type that it does not fit: what that gives depends on
the processor. A function that is refused has to be refused at a place in its text.
"""

from __future__ import annotations

import linecache
import math
import random
import traceback
import warnings
from collections.abc import Callable
from typing import Any

import click
import numpy as np

import polysched as ps
from polysched.errors import CallError, FrontendError, PolyschedError
from polysched.frontends.python.decorator import PythonKernel, read_kernel
from polysched.ir.semantics.memory import AnyArray
from polysched.ir.semantics.reference import run_reference
from tests.frontends.python.operand_functions import MODULE, NUMPY, OperandWriter
from tests.support.random_sources import Findings, run, seconds_option, seed_option

LENGTH = 14
COMPILED = 16
"""Of how many functions one is compiled too."""
PARAMETERS = (0, 1, -1, 3, 100, 2**31, -(2**31), 2**53 + 1, 2**62 + 2**38 + 1, 2**63 - 1, -(2**63))
_DISCONTINUOUS = ("%", "//", "fmod", "floor", "ceil", "trunc", "rint", "int", "<", ">", "==", "!=")
"""What makes a difference in the last place a large one."""
_FLOATS = (0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 100.0, 300.7, 2.0**31, 2.0**63, np.inf, -np.inf, np.nan)


class _Checked:
    """numpy, whose integer types raise OverflowError for floats that do not fit."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not (isinstance(found, type) and issubclass(found, np.integer)):
            return found

        def checked(value: Any) -> Any:
            number = np.asarray(value)
            if number.dtype.kind == "f" and not _fits(float(number), np.dtype(found)):
                raise OverflowError
            return found(value)

        return checked


def _checked_int(value: Any) -> int:
    """``int(x)``, which has to be within 2**53 if ``x`` is a float."""
    if isinstance(value, float | np.floating) and not abs(value) <= 2**53:
        raise OverflowError
    return int(value)


def made(text: str, name: str, *, is_checked: bool = False) -> Callable[..., Any]:
    """The function of a text; its source is where `inspect` looks for it.

    Args:
        is_checked: whether conversions of floats that do not fit raise OverflowError.
    """
    filename = f"<{name}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    names: dict[str, Any] = {"np": np, "math": math, **MODULE}
    if is_checked:
        names |= {"np": _Checked(), "int": _checked_int}
    exec(compile(text, filename, "exec"), names)
    function: Callable[..., Any] = names["made"]
    return function


def try_seeds(seeds: range) -> Findings:
    """Compare what the functions of some seeds compute in Python and as kernels."""
    findings = Findings()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        for seed in seeds:
            _try_seed(seed, findings)
    return findings


def _try_seed(seed: int, findings: Findings) -> None:
    writer = OperandWriter(random.Random(seed))
    text, value = writer.function()
    findings.counts["functions"] += 1
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            function = made(text, f"types {seed}")
        kernel = read_kernel(function)
    except FrontendError as error:
        findings.refuse(str(seed), error, text)
        return
    except Exception:  # noqa: BLE001  (whatever it is, it is a finding)
        findings.wrong.append(f"{seed}: {traceback.format_exc(limit=-4)}\n{text}")
        return
    given = arguments(kernel, seed)
    parameter = random.Random(seed + 1).choice(PARAMETERS)
    checked = made(text, f"types {seed}", is_checked=True)
    expected, compared = by_python(checked, given, parameter, value)
    if writer.is_rounded and any(one in text for one in _DISCONTINUOUS):
        compared[:] = False
    sizes = {"n": LENGTH, "k": parameter, "lo": 0, "hi": LENGTH}
    try:
        found = run_reference(kernel, given, sizes)["out"]
    except CallError:
        findings.counts["calls refused"] += 1
        return
    except Exception:  # noqa: BLE001
        findings.wrong.append(f"{seed}: {traceback.format_exc(limit=-4)}\n{text}")
        return
    results = [found]
    if seed % COMPILED == 0:
        findings.counts["compiled"] += 1
        try:
            results.append(by_machine(kernel, given, sizes))
        except CallError:  # sizes in conditions are limited when loops are made
            findings.counts["calls refused"] += 1
        except PolyschedError as error:
            findings.wrong.append(f"{seed}: refused late: {error}\n{text}")
            return
    findings.counts["elements"] += int(compared.sum())
    for one in results:
        at = first_difference(expected, one, compared, is_rounded=writer.is_rounded)
        if at is not None:
            shown = ", ".join(f"{name}[{at}] = {array[at]!r}" for name, array in given.items())
            findings.wrong.append(
                f"{seed}: i = {at}, k = {parameter}, {shown}: expected {expected[at]!r}, found "
                f"{one[at]!r}\n{text}"
            )
            return


def arguments(kernel: PythonKernel, seed: int) -> dict[str, AnyArray]:
    """Arrays of the numbers at which types begin, end and change."""
    chosen = random.Random(seed)
    return {
        name: np.array([chosen.choice(edges(str(array.dtype))) for _ in range(LENGTH)])
        for name, array in kernel.arrays.items()
        if array.shape
    }


def edges(name: str) -> list[Any]:
    """The numbers of a type that are tried."""
    kind = NUMPY[name]
    if name == "bool":
        return [kind(False), kind(True)]
    if name[0] == "f":
        return [kind(one) for one in _FLOATS]
    ends = np.iinfo(kind)  # type: ignore[arg-type]
    numbers = (ends.min, ends.max, ends.max - 1, 0, 1, -1, 3, 7, 100, -100, 2**31, 2**53 + 1)
    return [kind(one) for one in numbers if ends.min <= one <= ends.max]


def by_python(
    function: Callable[..., Any], given: dict[str, AnyArray], parameter: int, value: str
) -> tuple[AnyArray, AnyArray]:
    """What the function makes of each element, and where it makes something.

    Where a float does not fit the integer type that it is stored in, the processor decides.
    """
    result = given["out"].copy()
    compared = np.zeros(LENGTH, bool)
    code = compile(value or "0", "<value>", "eval")
    for at in range(LENGTH):
        copies = {name: array.copy() for name, array in given.items()}
        try:
            function(**copies, k=parameter, lo=at, hi=at + 1)
            stored = eval(code, {**function.__globals__, **given, "i": at, "k": parameter})
        except (ArithmeticError, ValueError, TypeError):
            continue
        result[at] = copies["out"][at]
        is_float = np.asarray(stored).dtype.kind == "f"
        compared[at] = result.dtype.kind not in "iu" or (
            bool(value) and (not is_float or _fits(float(stored), result.dtype))
        )
    return result, compared


def _fits(value: float, dtype: np.dtype[Any]) -> bool:
    ends = np.iinfo(dtype)
    return math.isfinite(value) and ends.min <= int(value) <= ends.max


def by_machine(kernel: PythonKernel, given: dict[str, AnyArray], sizes: dict[str, int]) -> AnyArray:
    """What the compiled kernel makes."""
    copies = {name: array.copy() for name, array in given.items()}
    schedule = ps.Schedule(kernel)
    vector = schedule.vectorize("i", 8)
    schedule = vector if vector.check().is_legal else schedule
    schedule.compile()(**copies, **{one: sizes[one] for one in kernel.parameters})
    return copies["out"]


def first_difference(
    expected: AnyArray, found: AnyArray, compared: AnyArray, *, is_rounded: bool
) -> int | None:
    """The first index at which results differ; all NaN are one, and zeros of both signs."""
    if is_rounded:
        same = np.isclose(found.astype(float), expected.astype(float), rtol=1e-5, equal_nan=True)
        same |= expected.dtype.kind in "iub"
    elif expected.dtype.kind == "f":
        same = (found == expected) | (np.isnan(found) & np.isnan(expected))
    else:
        same = found == expected
    wrong = np.nonzero(compared & ~same)[0]
    return int(wrong[0]) if wrong.size else None


@click.command()
@seconds_option
@seed_option
def main(seconds: float, seed: int) -> None:
    """Compare random functions with their kernels; the exit code is 1 if any differs."""
    run(try_seeds, seconds, seed, batch=16)


if __name__ == "__main__":
    main()

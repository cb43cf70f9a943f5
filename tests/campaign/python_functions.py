"""Random Python functions: what polysched compiles against what CPython and numpy compute.

Each function is compiled as it is written and under random schedules, and runs on the same arrays
as the original function. Every bit is compared.
"""

from __future__ import annotations

import ast
import importlib.util
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

import polysched as ps
from polysched.errors import PolyschedError
from polysched.frontends.python.calls.returns import Returned
from tests.campaign.kernels import At, Outcome
from tests.campaign.python_grown import Argument, Function, grown_function

EQUAL, REFUSED, PYTHON_RAISED = "equal", "refused", "CPython raises"
CALL_REFUSED, UNDEFINED = "call refused", "conversion that C leaves undefined"
DIFFERENT, LOST_RETURN, RAW_EXCEPTION = "different", "lost return", "raw exception"
FINDINGS = frozenset({DIFFERENT, LOST_RETURN, RAW_EXCEPTION})

_MODULES = count()


@dataclass(frozen=True)
class Result:
    """What came of a function, the text that shows it, and how many compiled programs ran."""

    outcome: str
    text: str = ""
    programs: int = 0


def judge_seed(seed: int, at: At) -> Outcome:
    """Judge the function of a seed."""
    function, outcome = grown_function(seed), Outcome()
    with tempfile.TemporaryDirectory() as folder:
        at(f"function\n{function.text}")
        result = judged(function, seed, Path(folder))
        outcome.counts.update({f"function: {result.outcome}": 1, "programs": result.programs})
        if result.outcome in FINDINGS:
            at(f"shrinking\n{function.text}")
            small = shrunk(function, seed, Path(folder))
            text = f"{judged(small, seed, Path(folder)).text}\n{small.text}"
            outcome.findings.append((f"Python: {result.outcome}", text))
    return outcome


def shrunk(function: Function, seed: int, folder: Path) -> Function:
    """The smallest function that was found with a finding of the same kind."""
    wanted = judged(function, seed, folder).outcome
    while True:
        for text in _smaller(function.text):
            tried = replace(function, text=text)
            if judged(tried, seed, folder).outcome == wanted:
                function = tried
                break
        else:
            return function


def _smaller(text: str) -> Iterator[str]:
    """The same text without one statement, or with a part of an expression in its place."""
    for position in range(sum(1 for _ in ast.walk(ast.parse(text)))):
        tree = ast.parse(text)
        node = list(ast.walk(tree))[position]
        for name, value in ast.iter_fields(node):
            smaller: list[Any] = []
            if isinstance(value, list) and len(value) > 1 and isinstance(value[0], ast.stmt):
                smaller = [[*value[:number], *value[number + 1 :]] for number in range(len(value))]
            elif isinstance(value, ast.expr) and not isinstance(node, ast.arg | ast.Subscript):
                smaller = [one for one in ast.iter_child_nodes(value) if isinstance(one, ast.expr)]
            for less in smaller:
                setattr(node, name, less)
                yield ast.unparse(tree) + "\n"
            setattr(node, name, value)


def loaded(function: Function, folder: Path) -> ModuleType:
    """The module of a function, imported from a file, as the frontend needs its source."""
    path = folder / f"campaign_{next(_MODULES)}.py"
    path.write_text(function.module)
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        spec.loader.exec_module(module)
    return module


def random_arrays(function: Function, sizes: Mapping[str, int], seed: int) -> list[np.ndarray]:
    """Arguments with the edges of their types among them."""
    generator = np.random.default_rng(seed)
    return [
        _array(generator, one, [sizes[extent] for extent in one.extents])
        for one in function.arguments
    ]


def _array(generator: np.random.Generator, argument: Argument, shape: list[int]) -> np.ndarray:
    kind = {"i": "int", "u": "uint", "f": "float"}[argument.dtype[0]]
    dtype = np.dtype(f"{kind}{argument.dtype[1:]}")
    if dtype.kind == "f":
        made = generator.normal(0, 10, shape).astype(dtype)
        edges = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 1e6, -3e4]
    else:
        limits = np.iinfo(dtype)
        made = generator.integers(max(limits.min, -9), 12, shape).astype(dtype)
        edges = [limits.min, limits.max, 0, 1, limits.max - 1, min(limits.max, 200)]
    made = np.array(made, dtype)
    places = generator.random(made.shape) < 0.25
    return np.where(
        places, np.array(edges, dtype)[generator.integers(0, len(edges), made.shape)], made
    ).astype(dtype)


class UndefinedConversionError(Exception):
    """An integer type does not have this number, so the result depends on the processor."""


class _Guarded(np.ndarray):
    """An array that refuses to store a float which its integer type does not have."""

    def __setitem__(self, key: Any, value: Any) -> None:
        _require_defined(value, self.dtype)
        super().__setitem__(key, value)


class _GuardedNumpy:
    """numpy, whose integer types refuse floats that they do not have."""

    def __getattr__(self, name: str) -> Any:
        found = getattr(np, name)
        if not (isinstance(found, type) and issubclass(found, np.integer)):
            return found

        def converted(value: Any) -> Any:
            _require_defined(value, np.dtype(found))
            return found(value)

        return converted


def _require_defined(value: Any, dtype: np.dtype[Any]) -> None:
    number = np.asarray(value)
    if dtype.kind in "iu" and number.dtype.kind == "f":
        limits = np.iinfo(dtype)
        if not limits.min - 1 < float(number) < limits.max + 1:
            raise UndefinedConversionError


def _guarded(original: Any) -> Any:
    """A function whose conversions are checked."""
    return FunctionType(original.__code__, {**original.__globals__, "np": _GuardedNumpy()})


@contextmanager
def _quiet(**errors: Any) -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore", **errors):
        warnings.simplefilter("ignore")
        yield


def judged(function: Function, seed: int, folder: Path) -> Result:
    """Run a function as written and compiled, unscheduled and under random legal schedules."""
    try:
        original = getattr(loaded(function, folder), function.name)
        kernel = replace(ps.kernel(original), fp_contract=False)
        plain = ps.Schedule(kernel)
        compiled = [ps.compile(plain)]
        compiled += [one.compile() for one in _schedules(plain, seed)]
    except PolyschedError as error:
        return Result(REFUSED, str(error))
    except Exception as error:  # noqa: BLE001 -- any other exception is a finding
        return Result(RAW_EXCEPTION, f"{type(error).__name__}: {error}")
    worst = Result(EQUAL, programs=len(compiled))
    for number, size in enumerate((function.least or 0, 3, 5, 17)):
        sizes = {"n": max(size, function.least), "m": max((size * 2) % 7, function.least)}
        arrays = random_arrays(function, sizes, seed + number)
        for call in compiled:
            found = _compared(function, original, call, arrays, kernel.returns)
            if found.outcome in FINDINGS:
                return replace(found, text=f"{sizes}: {found.text}", programs=len(compiled))
            if found.outcome != EQUAL:
                worst = replace(found, programs=len(compiled))
    return worst


def _schedules(plain: Any, seed: int) -> list[Any]:
    """A few legal schedules: a loop in vectors, split, unrolled, reversed or in parallel."""
    chooser, found = random.Random(seed), []
    names = _loop_names(plain)
    for _ in range(2 if names else 0):
        name = chooser.choice(names)
        inner = f"{name.rpartition('.')[2]}i"
        steps: list[Callable[[str], Any]] = [
            lambda loop: plain.vectorize(loop, 8),
            lambda loop: plain.split(loop, 4),
            lambda loop, inner=inner: plain.split(loop, 3).unroll(inner),  # type: ignore[misc]
            plain.reverse,
            plain.parallel,
        ]
        try:
            schedule = chooser.choice(steps)(name)
            if schedule.check().is_legal:
                found.append(schedule)
        except PolyschedError:
            continue
    return found


def _loop_names(plain: Any) -> list[str]:
    return [
        f"{statement.name}.{name}"
        for statement in plain.kernel.statements.values()
        for name in statement.indices
    ]


def _compared(
    function: Function, original: Any, call: Any, arrays: list[np.ndarray], returns: Returned
) -> Result:
    expected, got = ([one.copy() for one in arrays] for _ in range(2))
    try:
        with _quiet():
            # A number is passed as numpy's scalar: an array of no axes would be changed in place.
            taken = [one.view(_Guarded) if one.ndim else one[()] for one in expected]
            returned = _guarded(original)(*taken)
    except UndefinedConversionError:
        return Result(UNDEFINED)
    except Exception as error:  # noqa: BLE001 -- whatever Python raises
        return Result(PYTHON_RAISED, f"{type(error).__name__}: {error}")
    try:
        made = call(*got)
    except PolyschedError as error:
        return Result(CALL_REFUSED, str(error))
    except Exception as error:  # noqa: BLE001 -- any other exception is a finding
        return Result(RAW_EXCEPTION, f"{type(error).__name__}: {error}")
    for one, want, have in zip(function.arguments, expected, got, strict=True):
        if not same(want, have, function.text):
            return Result(
                DIFFERENT,
                f"array {one.name}: CPython {want.ravel()[:12]}, compiled {have.ravel()[:12]}",
            )
    if returned is not None:
        if made is None:
            return Result(LOST_RETURN, f"CPython returns {returned!r}")
        values = made if isinstance(made, tuple) else (made,)
        want = np.asarray(returned)
        if any(one.is_chosen for one in returns.results):  # the type is documented to differ
            common = want.astype(np.asarray(values[0]).dtype)
            want = common if np.array_equal(common, want) else want
        if len(values) != 1 or not same(want, np.asarray(values[0]), function.text):
            return Result(DIFFERENT, f"returned: CPython {returned!r}, compiled {made!r}")
    return Result(EQUAL)


def same(want: np.ndarray, have: np.ndarray, text: str) -> bool:
    """Whether two arrays hold the same bits, any NaN for any; of zeros, extrema may take either."""
    if want.shape != have.shape or want.dtype != have.dtype:
        return False
    if want.dtype.kind != "f":
        return bool(np.array_equal(want, have))
    if not np.array_equal(want, have, equal_nan=True):
        return False
    if any(word in text for word in ("minimum", "maximum", "fmin", "fmax")):
        return True
    known = ~np.isnan(want)
    return bool(np.array_equal(np.signbit(want[known]), np.signbit(have[known])))

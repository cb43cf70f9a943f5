"""Race of ``ps.jit`` with numba on the functions of `python_functions`.

Both compile the same source. Of a function that has a form with loops too, numba takes the faster
form: the one that a numba user would write.
"""

from __future__ import annotations

import importlib
import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType
from typing import Any

import numpy as np

from polysched.bench import python_functions
from polysched.bench.measure.contestant import optional_module
from polysched.errors import BenchError, PolyschedError
from polysched.frontends.python.jit import jit

Function = Callable[..., Any]
TOLERANCE = {"f": 2e-3, "d": 1e-8}
"""Relative and absolute tolerance of results, by numpy's character of the element type."""


def _works() -> dict[str, tuple[Any, ...]]:
    """The arguments of each function, within the caches as in most calls of such functions."""
    draw = np.random.default_rng(1).random
    f32 = np.float32
    square = draw((400, 400))
    return {
        "jacobi_2d": (draw((500, 500)), draw((500, 500)), 10),
        "advection": (draw(10_000), 0.3, 50),
        "n_body": (draw((1000, 3)), draw(1000), np.zeros((1000, 3))),
        "softmax": (draw((500, 1000), f32),),
        "layer_norm": (draw((500, 1000), f32), draw(1000, f32), draw(1000, f32)),
        "box_blur": (draw((500, 700), f32),),
        "histogram": ((256 * draw(100_000)).astype(np.uint8), 256),
        "k_means_step": (draw((5000, 8)), draw((16, 8))),
        "floyd_warshall": (draw((300, 300)),),
        "cholesky": (square @ square.T + 400 * np.eye(400),),
        "conv_bias": (draw((2, 34, 34, 16), f32), draw((3, 3, 16, 32), f32), draw(32, f32)),
        "harris": (draw((500, 700), f32),),
        "mandelbrot": (3 * draw((200, 200)) - 2, 2 * draw((200, 200)) - 1, 50),
        "cavity_flow": (*(draw((300, 300)) for _ in range(3)), 0.001, 0.05, 0.05, 0.1),
        "go_fast": (draw((500, 500)),),
        "moving_average": (draw(100_000), 16),
        "gray_scale": (draw((500, 700, 3), f32),),
        "pairwise_distances": (draw((500, 3)),),
        "fir": (draw(100_000, f32), draw(32, f32)),
        "matrix_chain": (draw((300, 300)), draw((300, 200)), draw((200, 300))),
    }


NAMES = tuple(_works())
"""The functions of the race."""


@dataclass(frozen=True)
class PythonResult:
    """The result of one function.

    Attributes:
        fastmath: whether both compilers may reassociate sums.
        ratio: median of numba's time divided by ``ps.jit``'s, in rounds where both run in turn.
        first_seconds: processor time of the first call of ``ps.jit``, without cached code.
        microseconds: median time of a call of ``ps.jit``.
        numba_microseconds: median time of numba's faster form.
        numba_form: that form: ``"same"`` or ``"loops"``.
        rounds: the number of rounds.
    """

    function: str
    fastmath: bool
    ratio: float
    first_seconds: float
    microseconds: float
    numba_microseconds: float
    numba_form: str
    rounds: int


@dataclass(frozen=True)
class Refused:
    """A function that ``ps.jit`` does not compile, or computes otherwise than numba."""

    function: str
    fastmath: bool
    reason: str


def numba_compiler(*, fastmath: bool) -> Callable[[Function], Function]:
    """numba's compiler of a function and of the functions of its module that it calls."""
    try:
        njit = importlib.import_module("numba").njit
    except ImportError:
        raise BenchError("numba is not installed: pip install '.[bench]'") from None

    def compiled(function: Any) -> Function:
        names = dict(function.__globals__)
        for name in function.__code__.co_names:
            if isinstance(names.get(name), FunctionType):
                names[name] = compiled(names[name])
        own = FunctionType(function.__code__, names, function.__name__)
        result: Function = njit(fastmath=fastmath)(own)
        return result

    return compiled


def race_function(
    name: str, *, fastmath: bool, seconds: float, compiler: Callable[[Function], Function]
) -> PythonResult | Refused:
    """Race one function."""
    arguments = _works()[name]
    function = getattr(python_functions, name)
    own = jit(fastmath=fastmath)(function)
    given = _copied(arguments)
    start = time.process_time()
    try:
        outputs = _outputs(own(*given), given)
    except PolyschedError as error:
        return Refused(name, fastmath, f"{type(error).__name__}: {error}")
    first = time.process_time() - start
    contestants: dict[str, Function] = {}
    for form, source in (("same", name), ("loops", f"{name}_loops")):
        if not hasattr(python_functions, source):
            continue
        try:
            peer, given = compiler(getattr(python_functions, source)), _copied(arguments)
            expected = _outputs(peer(*given), given)
        except Exception:  # noqa: BLE001  numba refuses this form, by one of many errors
            continue
        contestants[form] = peer
        if not _agree(outputs, expected):
            return Refused(name, fastmath, "the result differs from numba's")
    if not contestants:
        return Refused(name, fastmath, "numba compiles no form of it")
    # numba's `@` calls the BLAS of scipy. Its other threads' time would not be measured.
    optional_module("threadpoolctl").ThreadpoolController().limit(limits=1, user_api="blas")
    times = _times({"": own, **contestants}, arguments, seconds)
    form = min(contestants, key=lambda name: statistics.median(times[name]))
    ratios = [theirs / ours for theirs, ours in zip(times[form], times[""], strict=True)]
    return PythonResult(
        name,
        fastmath,
        statistics.median(ratios),
        first,
        1e6 * statistics.median(times[""]),
        1e6 * statistics.median(times[form]),
        form,
        len(ratios),
    )


def _times(
    contestants: Mapping[str, Function], arguments: tuple[Any, ...], seconds: float
) -> dict[str, list[float]]:
    """The times of calls in turn, each on fresh copies of the arguments.

    Both run on one thread. Its processor time does not count when other processes run.
    """
    times: dict[str, list[float]] = {name: [] for name in contestants}
    end = time.perf_counter() + seconds
    while time.perf_counter() < end or len(times[""]) < 5:
        for name, function in contestants.items():
            given = _copied(arguments)
            start = time.thread_time()
            function(*given)
            times[name].append(time.thread_time() - start)
    return times


def _copied(arguments: tuple[Any, ...]) -> list[Any]:
    return [
        argument.copy() if isinstance(argument, np.ndarray) else argument for argument in arguments
    ]


def _outputs(result: Any, arguments: list[Any]) -> list[Any]:
    """The arguments after a call, and its results."""
    results = result if isinstance(result, tuple) else () if result is None else (result,)
    return [*arguments, *results]


def _agree(outputs: list[Any], expected: list[Any]) -> bool:
    for output, other in zip(outputs, expected, strict=True):
        tolerance = TOLERANCE.get(np.asarray(output).dtype.char, 0.0)
        if not np.allclose(output, other, rtol=tolerance, atol=tolerance):
            return False
    return True

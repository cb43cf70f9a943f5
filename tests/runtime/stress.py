"""Random calls of compiled kernels between plain Python, in several threads, for as long as asked.

    python -m tests.runtime.stress --seconds 60 --seed 0 --threads 2

Each array that a kernel reads or writes is kept for a while beside a list of what it must hold, and
compared again and again: an array whose memory is freed while it is used, or written by somebody
else, shows as a difference. Between the calls arrays are dropped and resized, kernels are compiled
anew so that old machine code is freed, garbage is collected. With ``--no-call-cache`` and the
environment variable ``POLYSCHED_NO_EXTENSION=1`` all calls go through Python. Meant to be run with
``PYTHONMALLOC=debug``, with ``MALLOC_PERTURB_``, and with an address sanitizer's allocator in
``LD_PRELOAD``.
"""

import argparse
import faulthandler
import gc
import random
import time
from collections import Counter
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Annotated, Any, NamedTuple

import numpy as np

import polysched as ps
from polysched.runtime import jit
from polysched.runtime.call_cache import CallCache

NumpyArray = np.ndarray[Any, Any]
SIZES = (1, 2, 3, 4, 5, 8, 15, 16, 17, 31, 33, 64, 100, 128, 255, 256, 257, 300, 1000)
MOST_HELD = 400


@ps.kernel
def doubled(x: Annotated[Any, "i32[n]"], y: Annotated[Any, "i32[n]"]) -> None:
    for i in range(x.shape[0]):
        y[i] = 2 * x[i] + 1


@ps.kernel
def picked(
    x: Annotated[Any, "i32[n]"],
    at: Annotated[Any, "i64[m] in range(n)"],
    y: Annotated[Any, "i32[m]"],
) -> None:
    for i in range(at.shape[0]):
        y[i] = x[at[i]]


@ps.kernel
def tripled(x: Annotated[Any, "i32[n, m]"]) -> Any:
    out = np.zeros((x.shape[0], x.shape[1]), np.int32)
    for i in range(x.shape[0]):
        for j in range(x.shape[1]):
            out[i, j] = x[i, j] * 3
    return out


def chained() -> ps.Kernel:
    """A kernel with a workspace."""
    build = ps.KernelBuilder("chained")
    n = build.parameter("n", minimum=0)
    x = build.input("x", ps.i32, (n,))
    between = build.temporary("between", ps.i32, (n,))
    y = build.output("y", ps.i32, (n,))
    with build.loops(i=n) as i:
        between[i] = x[i] * 5
    with build.loops(j=n) as j:
        y[j] = between[j] - 7
    return build.kernel()


class Held(NamedTuple):
    """An array, what it must hold, and where it comes from."""

    array: NumpyArray
    expected: Any
    origin: str


class Session:
    """What one thread does.

    Args:
        seed: what decides about all of it.
    """

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.held: list[Held] = []
        self.done: Counter[str] = Counter()
        self.compiled = {name: make(16) for name, make in MAKERS.items()}

    def run(self, seconds: float) -> None:
        """Do something random until the time is over."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            name = self.random.choice(list(ACTIONS))
            self.done[name] += 1
            ACTIONS[name](self)
            if len(self.held) > MOST_HELD:
                self.compare()
                del self.held[: MOST_HELD // 2]
        self.compare()

    def size(self) -> int:
        """How many elements an array is to have."""
        return self.random.choice(SIZES)

    def filled(self, *shape: int) -> NumpyArray:
        """An array that Python fills, element by element."""
        array = np.empty(shape, np.int32)
        flat = array.reshape(-1)
        for position in range(flat.size):
            flat[position] = self.random.randrange(1, 50)
        return array

    def hold(self, origin: str, expected: Any, found: NumpyArray, *inputs: NumpyArray) -> None:
        """Compare a result, and keep it and the inputs for later comparisons."""
        if found.tolist() != expected:
            raise AssertionError(f"{origin}: {found.tolist()}; expected {expected}")
        self.held.append(Held(found, expected, origin))
        self.held += (Held(one, one.tolist(), f"input of {origin}") for one in inputs)

    def compare(self) -> None:
        """Compare all that is held."""
        for array, expected, origin in self.held:
            if array.tolist() != expected:
                raise AssertionError(f"{origin} now holds {array.tolist()}; expected {expected}")


def _doubled(session: Session) -> None:
    x = session.filled(session.size())
    if session.held and session.random.random() < 0.3:
        x = session.random.choice(session.held).array
        x = x.reshape(-1) if x.dtype == np.int32 else session.filled(3)
    y = np.zeros(x.size, np.int32)
    session.compiled[session.random.choice(("doubled", "parallel"))](x, y)
    session.hold("doubled", [2 * value + 1 for value in x.tolist()], y, x)


def _plain(session: Session) -> None:
    x = session.filled(session.size())
    y = np.zeros(x.size, np.int32)
    doubled(x, y)
    session.hold("plain Python", [2 * value + 1 for value in x.tolist()], y, x)


def _chained(session: Session) -> None:
    x = session.filled(session.size())
    expected = [5 * value - 7 for value in x.tolist()]
    session.hold("chained", expected, session.compiled["chained"](x), x)


def _picked(session: Session) -> None:
    x, count = session.filled(session.size()), session.size()
    at = np.array([session.random.randrange(x.size) for _ in range(count)], np.int64)
    y = np.zeros(count, np.int32)
    session.compiled["picked"](x, at, y)
    session.hold("picked", [x.tolist()[place] for place in at.tolist()], y, x, at)


def _tripled(session: Session) -> None:
    x = session.filled(session.size(), session.random.randrange(1, 20))
    session.hold("tripled", (3 * x).tolist(), session.compiled["tripled"](x), x)


def _product(session: Session) -> None:
    extent = session.random.choice((3, 8, 16))
    a, b = session.filled(extent, extent), session.filled(extent, extent)
    out = np.empty((extent, extent), np.int32) if session.random.random() < 0.5 else None
    session.hold("matmul", (a @ b).tolist(), ps.matmul(a, b, out), a, b)


def _contraction(session: Session) -> None:
    a, b = session.filled(9, 4), session.filled(9, 4)
    text = session.random.choice(("ij,kj->ik", "ij,ij->i", "ij,ij->ij"))
    session.hold(text, np.einsum(text, a, b).tolist(), ps.einsum(text, a, b), a, b)


def _transposed(session: Session) -> None:
    a = session.filled(session.random.choice((1, 5, 16, 20)), 12)
    session.hold("transpose", a.T.tolist(), ps.transpose(a), a)


def _drop(session: Session) -> None:
    session.random.shuffle(session.held)
    del session.held[: session.random.randrange(len(session.held) + 1)]


def _resize(session: Session) -> None:
    own = [one for one in session.held if one.array.flags.owndata and one.array.ndim == 1]
    if not own:
        return
    array = session.random.choice(own).array
    # Nobody may look at it any more while its memory moves.
    session.held = [one for one in session.held if not np.may_share_memory(one.array, array)]
    before, size = array.tolist(), session.size()
    array.resize(size, refcheck=False)
    session.hold("resize", (before + [0] * size)[:size], array)


def _compile(session: Session) -> None:
    if session.random.random() < 0.1:
        jit.compile_once.cache_clear()
        name = session.random.choice(list(MAKERS))
        session.compiled[name] = MAKERS[name](session.random.choice((4, 8, 16)))


def _collect(session: Session) -> None:
    if session.random.random() < 0.2:
        gc.collect()


def _compare(session: Session) -> None:
    session.compare()


MAKERS: Mapping[str, Callable[[int], ps.CompiledKernel]] = {
    "doubled": lambda lanes: ps.Schedule(doubled).vectorize("i", lanes).compile(),
    "parallel": lambda lanes: (
        ps.Schedule(doubled)
        .split("i", 64, into=("io", "ii"))
        .vectorize("ii", lanes)
        .parallel("io")
        .compile()
    ),
    "picked": lambda lanes: ps.Schedule(picked).vectorize("i", lanes).compile(),
    "tripled": lambda lanes: ps.Schedule(tripled).vectorize("j", lanes).compile(),
    "chained": lambda lanes: (
        ps.Schedule(chained()).vectorize("i", lanes).vectorize("j", lanes).compile()
    ),
}

ACTIONS: Mapping[str, Callable[[Session], None]] = {
    action.__name__.removeprefix("_"): action
    for action in (
        _doubled,
        _plain,
        _chained,
        _picked,
        _tripled,
        _product,
        _contraction,
        _transposed,
        _drop,
        _resize,
        _compile,
        _collect,
        _compare,
    )
}


def _run(seed: int, seconds: float) -> str:
    session = Session(seed)
    session.run(seconds)
    return f"seed {seed}: {session.done.total()} steps, {dict(session.done)}"


def main() -> None:
    """Run as many sessions as asked for, at the same time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-call-cache", action="store_true")
    options = parser.parse_args()
    faulthandler.enable()
    if options.no_call_cache:
        CallCache.add = lambda self, options, arrays, target: None  # type: ignore[method-assign]
    seeds = range(options.seed, options.seed + options.threads)
    with ThreadPoolExecutor(options.threads) as pool:
        for text in pool.map(lambda seed: _run(seed, options.seconds), seeds):
            print(text)


if __name__ == "__main__":
    main()

"""Forks of a process whose threads declare, check, compile and run kernels.

``python -m tests.runtime.forking_stress --forks 100``. Each child does the same, with threads of
its own. The exit code is 1 if a child fails or hangs.
"""

import argparse
import multiprocessing
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from itertools import count

import numpy as np

import polysched as ps
from polysched.ir.isl.quota import operation_quota
from polysched.runtime.cache import ObjectCache
from tests.support.children import holds_in_child

PATIENCE = 60.0
"""Seconds that a child may take; alone it takes a tenth of a second."""

NUMBERS = count()


def declared(number: int) -> ps.Kernel:
    """``y[i,j] = x[i,j] + number``, with a name of its own."""
    build = ps.KernelBuilder(f"forked_{number}")
    n = build.parameter("n", minimum=1)
    x = build.input("x", ps.f32, (n, 8))
    y = build.output("y", ps.f32, (n, 8))
    with build.loops(i=n, j=8) as (i, j), build.statement("S"):
        y[i, j] = x[i, j] + float(number % 100)
    return build.kernel()


def whole_round(number: int) -> None:
    """Declare, check, compile and run a kernel that nobody has compiled before."""
    schedule = ps.Schedule(declared(number)).split("i", 4, into=("io", "ii")).parallel("io")
    assert schedule.check().is_legal
    run = schedule.compile(cache=ObjectCache(None))
    x = np.ones((40, 8), np.float32)
    for _ in range(3):
        assert (run(x, threads=3) == x + number % 100).all()


def in_child(number: int) -> None:
    """What each child does: a round in the thread that has forked, then two in new ones."""
    whole_round(number)
    with ThreadPoolExecutor(2) as pool:
        list(pool.map(whole_round, (number + 1, number + 2)))


def forked(number: int) -> bool:
    """Fork by multiprocessing, inside a question to isl, or plainly; whether the child is well."""
    if number % 3 == 1:
        process = multiprocessing.get_context("fork").Process(target=in_child, args=(number,))
        process.start()
        process.join(PATIENCE)
        is_well = process.exitcode == 0
        process.kill()
        return is_well
    asks = number % 3 == 2

    def work() -> bool:
        whole_round(number) if asks else in_child(number)
        return True

    with operation_quota(100_000_000, 100) if asks else nullcontext():
        return holds_in_child(work, PATIENCE)


def main() -> int:
    """Fork while other threads are at work; 0 if all children end well."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--forks", type=int, default=100)
    forks = parser.parse_args().forks
    whole_round(0)
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            whole_round(next(NUMBERS))

    threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
    for thread in threads:
        thread.start()
    bad = [number for number in range(forks) if not forked(number)]
    stop.set()
    for thread in threads:
        thread.join(PATIENCE)
    alive = sum(thread.is_alive() for thread in threads)
    print(f"{forks} forks, {len(bad)} children failed or hung: {bad}; {alive} threads hang")
    return 1 if bad or alive else 0


if __name__ == "__main__":
    sys.exit(main())

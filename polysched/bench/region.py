"""Overhead of a parallel region: wake the team, distribute chunks, wait for the threads."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

import numpy as np

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.user import Schedule

CALLS = 200
"""Calls that are timed together."""


def region_seconds(machine: Machine, threads: int, rounds: int = 15) -> float:
    """Seconds that a call takes longer because its loop runs on a team, the median over rounds.

    The loop has an iteration of one element for each thread, so that there is next to no work; the
    same kernel without the parallel loop is called in turn.

    Args:
        threads: of the team, at least 2.
        rounds: how often each of both is timed.
    """
    kernel = _one_element_a_thread(threads)
    team = compile(Schedule(kernel).parallel("i"), machine)
    alone = compile(Schedule(kernel), machine)
    x, y = np.ones(threads, np.float32), np.empty(threads, np.float32)
    differences = []
    for _ in range(rounds + 1):
        without = _seconds_a_call(lambda: alone(x, y))
        differences.append(_seconds_a_call(lambda: team(x, y, threads=threads)) - without)
    return statistics.median(differences[1:])  # the first round wakes the team for the first time


def _one_element_a_thread(threads: int) -> Kernel:
    build = KernelBuilder("region")
    x, y = build.input("x", f32, (threads,)), build.output("y", f32, (threads,))
    with build.loops(i=threads) as i, build.statement("S"):
        y[i] = x[i]
    return build.kernel()


def _seconds_a_call(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        call()
    return (time.perf_counter() - start) / CALLS

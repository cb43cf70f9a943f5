"""Explore one seed with the autoscheduler: judge the schedule that it finds for a random kernel.

The judge of orders demands that all pairs of the declared kernel keep their order. The schedules
here have partial sums and private buffers, which move pairs apart in memory; so their loops are
interpreted, with the source of each read checked, and some run as machine code.

Half of the seeds get threads for as little work as there is: random kernels are too small for those
of a real machine.
"""

from __future__ import annotations

import random
from dataclasses import replace

import islpy as isl

from polysched.autoscheduler.driver import optimize_schedule
from polysched.errors import KernelError, PolyschedError
from polysched.fuzz.exploring import CRASHES, Case, Explored, Judges, judged, shown
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.limits import machine_limits, plain_limits
from polysched.fuzz.generate.sketch import declare
from polysched.fuzz.judge.judgment import Finding, Mode
from polysched.fuzz.judge.subject import Subject
from polysched.machine.description import Machine
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.schedule import Schedule

THREADS = 2
"""Threads of every second seed."""


def explore_automatic(seed: int, judges: Judges) -> Explored:
    """Optimize a random kernel of the seed and judge the schedule by independent judges.

    One seed of three runs machine code, the others interpret loops.
    """
    integers = random.Random(seed).randint
    mode = Mode.MACHINE if seed % 3 == 0 else Mode.RUN
    limits = machine_limits if mode is Mode.MACHINE else plain_limits
    sketch = random_sketch(integers, limits(integers))
    explored = Explored()
    explored.counts["kernels"] += 1
    try:
        start = Schedule(declare(sketch))
    except KernelError:
        explored.counts["kernels refused"] += 1
        return explored
    if not judges.checker(start).is_legal:
        explored.counts["kernels not proved"] += 1
        return explored
    threads = 1 + seed % THREADS
    machine = with_free_regions(judges.machine) if threads > 1 else judges.machine
    try:
        schedule = optimize_schedule(start, machine, threads=threads).schedule
    except (isl.Error, PolyschedError, *CRASHES) as error:
        explored.fail(seed, Case(sketch, (), mode), Finding.CRASH, shown(error))
        return explored
    has_threads = any(isinstance(step, Parallel) for step in schedule.steps)
    explored.counts["schedules with threads"] += has_threads
    explored.counts["schedules with steps" if schedule.steps else "schedules as written"] += 1
    judgment = judged(Subject(start.kernel), schedule, mode, judges)
    explored.judged(seed, Case(sketch, schedule.steps, mode), judgment)
    return explored


def with_free_regions(machine: Machine) -> Machine:
    """Return a machine on which parallel regions cost next to nothing."""
    free = replace(machine.costs, parallel_region=1, shared_loop=1, threaded_program=1)
    return replace(machine, costs=free)

"""Random C functions, compiled by gcc and by polysched: ``python -m tests.frontends.scop.fuzz``.

Each function is compiled as it stands and under random legal schedules; the bits have to be equal.
What is refused has to be refused by an error of polysched's own, at a place in the text.
"""

from __future__ import annotations

import ctypes
import random
import re
import tempfile
import traceback
from functools import partial
from pathlib import Path

import click
import numpy as np

from polysched.errors import FrontendError, KernelError, PolyschedError
from polysched.frontends.scop import CProgram, load_c
from polysched.fuzz.generate.steps import random_step
from polysched.legality.check import check
from polysched.schedule.primitives.prefetch import Prefetch
from polysched.schedule.primitives.stream import Stream
from polysched.schedule.primitives.transpose import Transpose
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    random_arguments,
    with_shared_memory,
)
from tests.frontends.scop.random_programs import SIZES, file_text, random_file
from tests.support.random_sources import Findings, run, seconds_option, seed_option

BATCH = 20
"""Functions of one file."""
MOST_STEPS = 4
ATTEMPTS = 12
"""Random steps that are tried for a schedule."""


def try_seeds(
    seeds: range, folder: Path, *, scheduled: bool, overlapping: bool = False
) -> Findings:
    """Compile the functions of some seeds by both compilers and compare what they compute.

    Args:
        folder: for the files.
        scheduled: whether each is compiled under a random schedule too.
        overlapping: leave out every ``restrict``, and call with arrays that overlap.
    """
    findings = Findings()
    functions = random_file(seeds)
    path = folder / f"random{seeds.start}.c"
    text = file_text(functions)
    path.write_text(re.sub(r"\brestrict\b", "", text) if overlapping else text)
    theirs = compiled_by_gcc(path, folder, "-O1", "-fno-builtin")
    for seed, (name, text) in zip(seeds, functions.items(), strict=True):
        findings.counts["functions"] += 1
        try:
            program = load_c(path, name)
            program.c_function()
        except FrontendError as error:
            findings.refuse(name, error, text)
            continue
        except Exception:  # noqa: BLE001  (whatever it is, it is a finding)
            findings.wrong.append(f"{name}: {traceback.format_exc(limit=-4)}\n{text}")
            continue
        generator = random.Random(seed)
        try:
            schedules = [Schedule(program.kernel)]
        except KernelError:  # more than isl can take
            findings.counts["too large"] += 1
            continue
        if scheduled:
            schedules.append(random_schedule(schedules[0], generator))
        for schedule in schedules:
            findings.counts["schedules"] += 1
            problem = _problem(program, schedule, theirs, folder, overlapping)
            if problem:
                steps = "\n".join(map(str, schedule.steps))
                findings.wrong.append(f"{name}: {problem}\n{steps}\n{text}")
                break
    return findings


def _problem(
    program: CProgram, schedule: Schedule, theirs: ctypes.CDLL, folder: Path, overlapping: bool
) -> str:
    """What is wrong with a schedule of a function; nothing if all is well."""
    function = program.c_function()
    result = None if program.result is None else program.kernel.arrays[program.result].dtype
    try:
        mine = compiled_by_polysched(schedule, function, folder)
        for seed, sizes in enumerate(SIZES):
            given = random_arguments(program, function, sizes, seed)
            _with_odd_numbers(given, seed)
            if overlapping:
                given = with_shared_memory(given, seed)
            assert_same_bits(
                called(mine, function, result, given), called(theirs, function, result, given)
            )
    except AssertionError as error:
        return str(error)
    except PolyschedError as error:
        # isl may generate loops that cannot be proved; the unscheduled ones it has to.
        return "" if schedule.steps else f"refused late: {error}"
    except Exception:  # noqa: BLE001  (whatever it is, it is a finding)
        return traceback.format_exc(limit=-4)
    finally:
        (folder / f"{function.name}.polysched.so").unlink(missing_ok=True)
    return ""


def _with_odd_numbers(given: dict[str, object], seed: int) -> None:
    """Some elements become zeros of both signs, infinities, NaN and the ends of ranges."""
    generator = np.random.default_rng(seed)
    for value in given.values():
        if not isinstance(value, np.ndarray) or not value.size or value.dtype.kind == "b":
            continue
        odd = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e30, 1e-40])
        if value.dtype.kind in "iu":
            ends = np.iinfo(value.dtype)
            odd = np.array([ends.min, ends.max, ends.max - 1, 0], dtype=value.dtype)
        flat = value.reshape(-1)
        places = generator.random(flat.shape) < 0.15 * (seed > 0)
        with np.errstate(over="ignore"):
            flat[places] = generator.choice(odd, places.sum()).astype(value.dtype)


def random_schedule(start: Schedule, generator: random.Random) -> Schedule:
    """A legal schedule of a few random steps."""
    schedule = start
    for _ in range(ATTEMPTS):
        if len(schedule.steps) == MOST_STEPS:
            break
        step = random_step(generator.randint, schedule, buffers=True)
        if isinstance(step, Stream | Transpose | Prefetch):  # which ask of the code what it can do
            continue
        try:
            following = schedule.then(step)
            if check(following).is_legal:
                schedule = following
        except PolyschedError:
            continue
    return schedule


@click.command()
@seconds_option
@seed_option
@click.option("--scheduled/--plain", default=True, help="Try random schedules too.")
@click.option("--overlapping", is_flag=True, help="Leave out 'restrict', and let arrays overlap.")
def main(seconds: float, seed: int, scheduled: bool, overlapping: bool) -> None:
    """Compare random C functions with gcc for a while; the exit code is 1 if any is wrong."""
    with tempfile.TemporaryDirectory() as folder:
        tried = partial(
            try_seeds, folder=Path(folder), scheduled=scheduled, overlapping=overlapping
        )
        run(tried, seconds, seed, batch=BATCH)


if __name__ == "__main__":
    main()

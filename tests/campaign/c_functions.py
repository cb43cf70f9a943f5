"""Random C functions: objects of polysched's against what gcc makes of the same text.

A seed is a group of functions, so that the C compiler is started a few times a group only. Each
function is compiled as it is written and under random schedules, exported under its own signature,
and run on the same bytes between guard pages.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

import polysched as ps
from polysched.frontends.scop import load_c
from tests.campaign.c_calls import differs, value_at
from tests.campaign.c_statements import grown_function
from tests.campaign.c_text import Argument, Function, smaller
from tests.campaign.drawing import Dice
from tests.campaign.kernels import At, Finding, Outcome, guarded
from tests.campaign.modelled_steps import Step
from tests.campaign.schedules_grown import Steps

GROUP = 10
_SCHEDULES = 1
HEAD = """#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#define LARGE 123456
#define ONCE(x) do { x; } while (0)
enum { SIX = 6, SEVEN };
typedef double real;
typedef struct { double d; float f, p[2]; int k; char c; unsigned u; } rec;
typedef struct { float x; int n; } pair;
"""
# gcc rounds cbrt of a literal correctly, unlike the C library.
GCC = (
    *("gcc", "-std=c11", "-fwrapv", "-ffp-contract=off", "-fno-builtin-cbrt"),
    *("-shared", "-fPIC", "-w"),
)
_UNDEFINED = "-fsanitize=integer-divide-by-zero,float-cast-overflow,bounds,shift-exponent"


@dataclass
class Variant:
    """One object that must compute what the text says."""

    function: Function
    symbol: str
    steps: tuple[Step, ...]


def judge_seed(seed: int, at: At) -> Outcome:
    """Judge a group of functions."""
    outcome = Outcome()
    functions = [grown_function(f"f{number}", seed * GROUP + number) for number in range(GROUP)]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _judge(functions, seed, folder, outcome, at)
    return outcome


def _judge(functions: list[Function], seed: int, folder: Path, outcome: Outcome, at: At) -> None:
    variants: list[Variant] = []
    for function in functions:
        outcome.counts["functions"] += 1
        try:
            variants += _variants(function, seed, folder, outcome, at)
        except Finding as error:
            outcome.findings.append((error.title, f"{function.text()}\n{error}"))
    if not variants:
        return
    at("link")
    whole = "".join(function.text() for function in functions)
    references = [_reference(whole, folder, level) for level in ("-O1", "-O0")]
    objects = [str(folder / f"{one.symbol}.o") for one in variants]
    own = folder / "own.so"
    tool("gcc", "-shared", "-o", str(own), *objects, "-lm", "-lgomp")
    library = ctypes.CDLL(str(own))
    for one in variants:
        fault = differs(one.function, one.symbol, library, references, seed, outcome, at)
        if fault is not None:
            _record(one, fault, seed, outcome, at)


def _reference(text: str, folder: Path, level: str) -> ctypes.CDLL:
    # The loader knows a library by its path: a new text needs a new one.
    name = f"reference{abs(hash(text))}"
    source, library = folder / f"{name}.c", folder / f"{name}{level}.so"
    source.write_text(HEAD + text)
    tool(*GCC, level, "-o", str(library), str(source), "-lm")
    return ctypes.CDLL(str(library))


def tool(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{command[0]}: {done.stderr[:3000]}")


# What polysched makes of it


def program_of(function: Function, folder: Path) -> Any:
    path = folder / f"{function.name}.c"
    path.write_text(HEAD + function.text())
    return load_c(path, function.name)


def _variants(
    function: Function, seed: int, folder: Path, outcome: Outcome, at: At
) -> list[Variant]:
    at(f"read {function.name}")
    try:
        program = guarded("reading C", lambda: program_of(function, folder), ps.PolyschedError)
        guarded("its signature", program.c_function, ps.PolyschedError)
    except ps.PolyschedError as error:
        outcome.counts["refused: " + _shortened(str(error))] += 1
        return []
    outcome.counts["functions read"] += 1
    found = []
    verdict = guarded("checking C", ps.Schedule(program.kernel).check)
    if not verdict.is_legal:
        outcome.counts[f"C as written is {verdict.kind.value}"] += 1
        if verdict.violation is not None:
            raise Finding("a well-formed function refused", str(verdict))
        return []
    for number in range(_SCHEDULES + 1):
        symbol = f"{function.name}_{number}"
        schedule = ps.Schedule(replace(program.kernel, name=symbol))
        steps: tuple[Step, ...] = ()
        if number:
            dice = Dice(("c schedule", function.text(), seed, number))
            schedule, steps = _scheduled(schedule, dice, outcome, at)
            if not steps or not _is_legal(schedule, steps, outcome, at):
                continue
        if _exported(schedule, program, folder / f"{symbol}.o", steps, outcome, at):
            found.append(Variant(function, symbol, steps))
    return found


def _shortened(message: str) -> str:
    line = message.split(": ", maxsplit=1)[-1].partition("\n")[0]
    return "".join(c for c in line if not c.isdigit())[-90:]


def _scheduled(schedule: Any, dice: Dice, outcome: Outcome, at: At) -> tuple[Any, tuple[Step, ...]]:
    drawn = Steps(dice, order_only=dice.chance(0.5))
    steps: list[Step] = []
    for _ in range(dice.between(1, 5)):
        step = drawn.next(schedule.program)
        if step is None:
            continue
        at(f"apply {step}")
        try:
            schedule = guarded(
                f"applying {step}",
                lambda s=step, one=schedule: getattr(one, s.method)(*s.args, **s.options),
                ps.ScheduleError,
            )
            steps.append(step)
        except ps.ScheduleError:
            outcome.counts["steps refused"] += 1
    return schedule, tuple(steps)


def _is_legal(schedule: Any, steps: tuple[Step, ...], outcome: Outcome, at: At) -> bool:
    at(f"check {'.'.join(map(str, steps))}")
    verdict = guarded("checking a schedule of C", schedule.check)
    outcome.counts[f"schedules {verdict.kind.value}"] += 1
    return bool(verdict.is_legal)


def _exported(
    schedule: Any, program: Any, path: Path, steps: tuple[Step, ...], outcome: Outcome, at: At
) -> bool:
    at(f"export {'.'.join(map(str, steps))}")
    function = replace(program.c_function(), name=path.stem)
    try:
        guarded(
            "exporting",
            lambda: ps.export(schedule, path, c_function=function),
            ps.LoweringError,
        )
    except ps.LoweringError as error:
        outcome.counts["no code for it: " + str(error).split(":")[0][:70]] += 1
        return False
    return True


# Running


# Findings


def _record(one: Variant, fault: str, seed: int, outcome: Outcome, at: At) -> None:
    """Shrink what differs and record it, unless its behavior is undefined."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)

        def still(function: Function) -> bool:
            return _fails(function, one, seed, folder, at)

        function = one.function
        if not one.steps:
            function = _shrunk(function, still)
        if _is_undefined(function, folder):
            outcome.counts["undefined behavior"] += 1
            return
    chain = "".join(f"\n    .{step}" for step in one.steps) or "\n    unscheduled"
    outcome.findings.append(("C differs from gcc", f"{function.text()}{chain}\n{fault}"))


def _shrunk(function: Function, still: Callable[[Function], bool], tries: int = 150) -> Function:
    progress = True
    while progress and tries:
        progress = False
        for candidate in smaller(function):
            tries -= 1
            if tries <= 0:
                return function
            if still(candidate):
                function, progress = candidate, True
                break
    return function


def _fails(function: Function, one: Variant, seed: int, folder: Path, at: At) -> bool:
    try:
        program = program_of(function, folder)
        schedule = ps.Schedule(replace(program.kernel, name=one.symbol))
        path = folder / f"{one.symbol}.o"
        if not _exported(schedule, program, path, (), Outcome(), at):
            return False
        references = [_reference(function.text(), folder, level) for level in ("-O1", "-O0")]
        own = folder / "own.so"
        own.unlink(missing_ok=True)
        tool("gcc", "-shared", "-o", str(own), str(path), "-lm", "-lgomp")
    except (ps.PolyschedError, RuntimeError, Finding):
        return False
    library = ctypes.CDLL(str(own.rename(folder / f"own{abs(hash(function.text()))}.so")))
    found = differs(function, one.symbol, library, references, seed, Outcome(), at)
    return found is not None


def _is_undefined(function: Function, folder: Path) -> bool:
    """Whether a sanitizer says so, of a program that calls the function on numbers of its own."""
    sizes = {one.name: 3 for one in function.arguments if one.role == "size"}
    sizes |= {name: value_at(least, sizes) for name, least in function.widths}
    names = ", ".join(_argument(one, sizes) for one in function.arguments)
    source = folder / "undefined.c"
    source.write_text(
        f"{HEAD}{function.text()}int main(void) {{ {function.name}({names}); return 0; }}\n"
    )
    program = folder / "undefined"
    tool("gcc", "-w", "-std=c11", "-fwrapv", _UNDEFINED, "-o", str(program), str(source), "-lm")
    done = subprocess.run([str(program)], capture_output=True, text=True, check=False)
    return "runtime error" in done.stderr


def _argument(one: Argument, sizes: Mapping[str, int]) -> str:
    if one.role == "size":
        return str(sizes[one.name])
    if one.role == "number":
        return "1"
    count = int(np.prod([value_at(extent, sizes) for extent in one.extents]))
    return f"(void *)({one.type}[{max(count, 1)}]){{2}}"

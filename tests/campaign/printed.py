"""The C text of random kernels, compiled by gcc, against this campaign's own oracle.

gcc may use that signed integers do not overflow, so that text that overflows is found.
"""

from __future__ import annotations

import ctypes
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import polysched as ps
from tests.campaign.drawing import Dice
from tests.campaign.kernels import At, Case, Finding, Outcome, Scheduled, guarded
from tests.campaign.kernels_grown import grown
from tests.campaign.memory import Argument
from tests.campaign.schedules_grown import Steps

GROUP = 8
_GCC = "gcc -std=c99 -O2 -ffp-contract=off -w -shared -fPIC".split()


def judge_seed(seed: int, at: At) -> Outcome:
    """Judge the text of a group of kernels, as written and under one schedule each."""
    outcome = Outcome()
    printed: list[tuple[Case, str, str]] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for number in range(seed * GROUP, (seed + 1) * GROUP):
            case = Case(grown(number), number, outcome, at)
            try:
                printed += _texts(case, number, folder)
            except Finding as error:
                outcome.findings.append((error.title, f"{case.text}\n{error}"))
        at("gcc")
        library = folder / "printed.so"
        sources = [str(folder / f"{symbol}.c") for _, symbol, _ in printed]
        if not sources:
            return outcome
        done = subprocess.run(
            [*_GCC, "-o", str(library), *sources, "-lm"],
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            outcome.findings.append(("C text that gcc refuses", done.stderr[:3000]))
            return outcome
        code = ctypes.CDLL(str(library))
        for case, symbol, steps in printed:
            fault = _fault(case, getattr(code, symbol), symbol)
            if fault is not None:
                outcome.findings.append(("C text differs", f"{case.text}{steps}\n{fault}"))
    return outcome


def _texts(case: Case, number: int, folder: Path) -> list[tuple[Case, str, str]]:
    outcome = case.outcome
    outcome.counts["kernels"] += 1
    try:
        kernel = case.declare()
    except ps.KernelError:
        outcome.counts["kernels not declared"] += 1
        return []
    found = []
    for variant in range(2):
        symbol = f"k{number}_{variant}"
        scheduled = Scheduled(case, ps.Schedule(replace(kernel, name=symbol)))
        if variant:
            dice = Dice(("printed", number))
            drawn = Steps(dice, order_only=False)
            for _ in range(dice.between(1, 5)):
                step = drawn.next(scheduled.schedule.program)
                if step is not None:
                    scheduled.add(step)
        case.at(f"print {symbol}")
        path = folder / f"{symbol}.c"
        try:
            guarded(
                "printing C",
                lambda one=scheduled, to=path: ps.export(one.schedule, to),
                ps.LoweringError,
                ps.ScheduleError,
            )
        except (ps.LoweringError, ps.ScheduleError) as error:
            why = "no C for its types" if "C does not have" in str(error) else type(error).__name__
            outcome.counts[f"not printed: {why}"] += 1
            continue
        outcome.counts["printed"] += 1
        found.append((case, symbol, "".join(f"\n    .{step}" for step in scheduled.steps)))
    return found


def _fault(case: Case, code: Any, symbol: str) -> str | None:
    for sizes in case.sizes(3):
        expected = case.expected(sizes)
        if isinstance(expected, str):
            continue
        case.at(f"run {symbol} at {sizes}")
        case.outcome.counts["runs"] += 1

        def call(arguments: Mapping[str, Argument], sizes: dict[str, int] = sizes) -> None:
            passed = [ctypes.c_void_p(one.memory.bytes.ctypes.data) for one in arguments.values()]
            code(*passed, *map(ctypes.c_int64, sizes.values()))

        fault = expected.fault_of(call, case.dice)
        if fault is not None:
            return fault
    return None

"""Benchmark of import time, and of the time from a kernel's declaration to the callable.

Each measurement is a process of its own, with nothing compiled before and no cache on disk.
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from polysched.bench.conv.work import SCHEDULES, ConvolutionSize, kernel_of
from polysched.errors import BenchError
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.machine.files import from_toml, to_toml
from polysched.runtime.cache import ObjectCache

IMPORT = "import polysched"

# Import time has to be taken before this very module, and so polysched, is imported.
_SCRIPT = """
import json, sys, time
start = time.perf_counter()
import polysched
import_seconds = time.perf_counter() - start
from polysched.bench.compile_time import seconds_to_callable
print(json.dumps([import_seconds, seconds_to_callable(*sys.argv[1:])]))
"""


@dataclass(frozen=True)
class Delay:
    """One measured delay: its name, the median in seconds, and the number of measurements."""

    what: str
    seconds: float
    runs: int


def seconds_to_callable(name: str, machine_file: str | None = None) -> float:
    """Declare, schedule, prove and compile the convolution, by the contestant's name, uncached.

    Args:
        machine_file: the text of a machine file; None for this machine.
    """
    start = time.perf_counter()
    machine = None if machine_file is None else from_toml(machine_file, "the machine")
    compile(SCHEDULES[name](kernel_of(ConvolutionSize())), machine, cache=ObjectCache(None))
    return time.perf_counter() - start


def measure_delays(
    runs: int = 5,
    *,
    names: Sequence[str] = tuple(SCHEDULES),
    machine: Machine | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Delay, ...]:
    """Measure the import time, and the time to compile each of the convolution's schedules.

    Args:
        runs: processes for each schedule.
    """
    if runs < 1:
        raise BenchError(f"a median needs at least 1 run, got runs={runs}")
    arguments = () if machine is None else (to_toml(machine),)
    imports: list[float] = []
    delays: list[Delay] = []
    for name in names:
        compiles: list[float] = []
        for run in range(runs):
            if progress is not None:
                progress(f"{name}: process {run + 1} of {runs}")
            import_seconds, compile_seconds = _in_fresh_process(name, *arguments)
            imports.append(import_seconds)
            compiles.append(compile_seconds)
        delays.append(Delay(f"compile {name}", statistics.median(compiles), runs))
    return (Delay(IMPORT, statistics.median(imports), len(imports)), *delays)


def _in_fresh_process(name: str, *machine_file: str) -> tuple[float, float]:
    command = [sys.executable, "-c", _SCRIPT, name, *machine_file]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        last = done.stderr.strip().splitlines()[-1:] or ["it wrote no message"]
        raise BenchError(f"the process that compiles {name!r} failed: {last[0]}")
    import_seconds, compile_seconds = json.loads(done.stdout)
    return import_seconds, compile_seconds

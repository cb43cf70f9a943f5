"""All races of ``polysched bench``, run one after the other, with their JSON records.

Each benchmark runs in a process of its own, as a user would run it: no benchmark shares memory,
threads or loaded libraries with another.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from polysched.bench.measure.speedup import Speedup

Record: TypeAlias = Mapping[str, Any]
"""One JSON object that a benchmark prints."""


@dataclass(frozen=True)
class Section:
    """A benchmark of the report.

    Attributes:
        arguments: the arguments of ``polysched bench``.
        is_race: whether the command has a time limit ``--seconds`` for each of its races.
    """

    title: str
    arguments: tuple[str, ...]
    is_race: bool = True

    @property
    def name(self) -> str:
        """The benchmark's name, such as ``matmul``."""
        return self.arguments[0]

    def command(self, seconds: float | None) -> tuple[str, ...]:
        """The arguments of ``polysched``, with a time limit for each race if one is given."""
        limit = () if seconds is None or not self.is_race else ("--seconds", f"{seconds:g}")
        return ("bench", *self.arguments, *limit, "--json")


SECTIONS = (
    Section("C programs of the gallery, scheduled automatically", ("gallery", "--auto")),
    Section("Other C functions, strict floating point", ("programs",)),
    Section("Other C functions, sums in any order", ("programs", "--fast-math")),
    Section("Python functions", ("python",)),
    Section("Matrix products, float32", ("matmul",)),
    Section("Matrix products, float64", ("matmul", "--type", "f64")),
    Section("Convolution with bias and ReLU", ("conv",)),
    Section("Convolutions of networks, float32", ("layers",)),
    Section("Attention, float32", ("attention",)),
    Section("Transposes", ("transpose",)),
    Section("Packing of narrow integers", ("pack-bits",)),
    Section("Overhead of a call", ("calls",), is_race=False),
    Section("Time from declaration to callable", ("compile",), is_race=False),
)
"""The sections of the report, in order."""


@dataclass(frozen=True)
class Measured:
    """The outcome of one benchmark.

    Attributes:
        command: the command that was run.
        records: the JSON objects that it printed.
        error: the text on its error output if it failed; else empty.
    """

    section: Section
    command: str
    records: tuple[Record, ...]
    error: str = ""

    @property
    def speedups(self) -> tuple[Speedup, ...]:
        """The speedups among the records, in order."""
        return tuple(speedup for record in self.records for speedup in _speedups(record))

    @property
    def spreads(self) -> Mapping[str, float]:
        """For each work the largest interquartile range of a contestant, relative to its median."""
        largest: dict[str, float] = {}
        for record in self.records:
            if "spread" in record:
                work = record["kernel"]
                largest[work] = max(record["spread"], largest.get(work, 0.0))
        return largest

    @property
    def peers(self) -> tuple[Record, ...]:
        """The libraries that the peers ran, with their versions and kernels."""
        return tuple(record for record in self.records if "library" in record)


def measured(
    sections: Iterable[Section],
    seconds: float | None = None,
    progress: Callable[[str], None] = lambda _: None,
    run: Callable[[Sequence[str]], subprocess.CompletedProcess[str]] | None = None,
) -> tuple[Measured, ...]:
    """Run benchmarks one after the other; a benchmark that fails does not stop the others.

    Args:
        seconds: time limit of each race; None for the default of each benchmark.
        run: runs ``polysched`` with some arguments; by default in a new process.
    """
    outcomes = []
    for section in sections:
        arguments = section.command(seconds)
        command = " ".join(("polysched", *arguments))
        progress(command)
        result = (run or _run)(arguments)
        records = tuple(json.loads(line) for line in result.stdout.splitlines() if line[:1] == "{")
        error = result.stderr if result.returncode else ""
        outcomes.append(Measured(section, command, records, error))
    return tuple(outcomes)


def _run(arguments: Sequence[str]) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "polysched", *arguments]
    return subprocess.run(command, check=False, capture_output=True, text=True)


def _speedups(record: Record) -> Iterable[Speedup]:
    """The speedups that a record of any benchmark states."""
    if "over" in record and "ratio" in record:
        yield Speedup(**record)
    elif "ratios" in record:  # bench programs: one record for each program
        work = f"{record['program']} {record['sizes']}"
        for over, ratio in record["ratios"].items():
            yield Speedup(work, over, ratio)
    elif "fastmath" in record and "ratio" in record:  # bench python
        mode = "fastmath" if record["fastmath"] else "strict"
        yield Speedup(record["function"], f"numba, {mode}", record["ratio"])

"""``polysched run``: compile a schedule, run it on random inputs, check and time it."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import click
import numpy as np

from polysched.bench.measure.race import max_abs_err
from polysched.cli.completion import files
from polysched.cli.failures import ExitCode
from polysched.cli.inputs import parameter_values, random_arrays, sizes_option
from polysched.cli.targets.schedule_file import (
    Reading,
    auto_option,
    hint_at_auto,
    load_scheduled_target,
    reading_options,
)
from polysched.cli.terminal import output, print_error, print_json, progress
from polysched.cli.work import floating_point_operations, instance_counts
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.isl.budget import time_budget, time_left
from polysched.ir.semantics.memory import AnyArray
from polysched.ir.semantics.reference import run_reference
from polysched.lower import compile
from polysched.machine.detect import detect_host
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import aligned_copy

_TOLERANCES = {2: 2.0**-7, 4: 1e-4, 8: 1e-10}
"""Allowed difference for each size in bytes of a float, relative to the array's largest magnitude.

Compiled code contracts multiplications and additions to FMAs and may reorder ``order="any"``
reductions, so its floating-point results differ from the reference by rounding.
"""

REFERENCE_LIMIT = 200_000
"""Limit on the statement instances that the reference interpreter runs: a few seconds."""


@dataclass(frozen=True)
class Report:
    """Results of a run.

    Attributes:
        kernel, machine: their names.
        seconds: the time of each call.
        flops: floating-point operations of one call; None if they could not be counted.
        checksums: the sum of the elements of each result.
        comparison: the comparison with the reference; None if there are too many instances.
        threads: the number of threads of parallel loops; None if there is no parallel loop.
    """

    kernel: str
    machine: str
    parameters: Mapping[str, int]
    seconds: tuple[float, ...]
    flops: int | None
    checksums: Mapping[str, float]
    comparison: _Comparison | None
    threads: int | None

    @property
    def median(self) -> float:
        """The median time of a call in seconds."""
        return statistics.median(self.seconds)

    @property
    def gflops(self) -> float | None:
        """Speed in 1e9 floating-point operations per second; None if there are none to count."""
        return self.flops / self.median / 1e9 if self.flops else None


@click.command("run")
@click.argument("target", shell_complete=files)
@reading_options
@auto_option
@sizes_option("The value of a parameter; may be repeated.")
@click.option(
    "--repeat",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Number of timed calls, after one untimed call.",
)
@click.option(
    "--seed",
    type=click.IntRange(min=0),
    default=0,
    show_default=True,
    help="Seed of the random inputs.",
)
@click.option("--json", "as_record", is_flag=True, help="Print one JSON object.")
@click.pass_context
def run_command(
    context: click.Context,
    target: str,
    reading: Reading,
    sizes: dict[str, int],
    repeat: int,
    seed: int,
    as_record: bool,
) -> None:
    """Compile a schedule and run it on this machine, on random inputs.

    If the kernel has at most 200,000 statement instances, its results are compared with those of
    the reference interpreter. A schedule that cannot be proved legal is not run. With --machine,
    the code is compiled for another machine; this machine must have all instructions of that one.

    \b
    polysched run examples/conv2d_relu.py:tutorial
    polysched run my_kernel.py --size N=64 --size M=100 --repeat 20
    polysched run examples/conv2d_relu.py:tutorial --machine haswell-avx2

    \b
    Exit codes: 0 success, 1 illegal or wrong result, 2 bad input, 3 legality unknown.
    """
    with time_budget(reading.time_limit()):
        schedule = load_scheduled_target(target, reading, uses_threads=True).schedule
        seconds_left = time_left()
    hint_at_auto(bool(schedule.steps), reading)
    kernel = schedule.kernel
    parameters = parameter_values(kernel, sizes)
    arrays = random_arrays(kernel, parameters, seed)
    with progress() as tell:
        tell("proving and compiling")
        compiled = compile(schedule, reading.machine, seconds=seconds_left)
        tell(f"running {repeat + 1} times")
        is_unused = reading.threads is None or (reading.auto and not compiled.is_threaded)
        threads = {} if is_unused else {"threads": reading.threads or 1}
        results, seconds = _timed(compiled, kernel, arrays, parameters, repeat, threads)
        tell("comparing with the reference")
        used = (reading.threads or detect_host().cores_usable) if compiled.is_threaded else None
        report = _report(compiled, kernel, arrays, parameters, results, seconds, used)
    if as_record:
        print_json(_record(report))
    else:
        output().print("\n".join(_lines(report)))
    if report.comparison is not None and not report.comparison.is_right:
        print_error(
            f"kernel '{kernel.name}': the compiled code and the reference disagree by "
            f"{report.comparison.max_abs_err:.3g}; this is a defect of polysched"
        )
        context.exit(ExitCode.WRONG)


def _timed(
    compiled: CompiledKernel,
    kernel: Kernel,
    arrays: Mapping[str, AnyArray],
    parameters: Mapping[str, int],
    repeat: int,
    threads: Mapping[str, int],
) -> tuple[dict[str, AnyArray], tuple[float, ...]]:
    """Time `repeat` calls on the same inputs, after one untimed call; the results and seconds."""
    changed = [name for name in arrays if kernel.arrays[name].role is Role.INOUT]
    written = [name for name in arrays if kernel.arrays[name].is_written]
    own = {n: aligned_copy(array) if n in written else array for n, array in arrays.items()}
    seconds = []
    for _ in range(repeat + 1):
        for name in changed:
            np.copyto(own[name], arrays[name])
        start = time.perf_counter()
        compiled(**own, **parameters, **threads)
        seconds.append(time.perf_counter() - start)
    return {name: own[name] for name in written}, tuple(seconds[1:])


def _report(
    compiled: CompiledKernel,
    kernel: Kernel,
    arrays: Mapping[str, AnyArray],
    parameters: Mapping[str, int],
    results: Mapping[str, AnyArray],
    seconds: tuple[float, ...],
    threads: int | None,
) -> Report:
    counts = instance_counts(kernel, parameters)
    comparison = None
    if counts is not None and sum(counts.values()) <= REFERENCE_LIMIT:
        comparison = compare(results, run_reference(kernel, arrays, parameters))
    return Report(
        kernel=kernel.name,
        machine=compiled.machine.name,
        parameters=parameters,
        seconds=seconds,
        flops=None if counts is None else floating_point_operations(kernel, counts),
        checksums={name: float(array.sum(dtype=np.float64)) for name, array in results.items()},
        comparison=comparison,
        threads=threads,
    )


def _lines(report: Report) -> list[str]:
    """The report as text."""
    sizes = "".join(f", {name} = {value}" for name, value in report.parameters.items())
    speed = "" if report.gflops is None else f", {report.gflops:.2f} GFLOP/s"
    compared = (
        f"not compared (more than {REFERENCE_LIMIT:,} statement instances: use smaller sizes)"
        if report.comparison is None
        else f"largest difference from the reference {report.comparison.max_abs_err:.3g}"
    )
    checksums = ", ".join(f"{name} {value:.9g}" for name, value in report.checksums.items())
    return [
        f"kernel    {report.kernel}{sizes}",
        f"machine   {report.machine}",
        *(() if report.threads is None else (f"threads   {report.threads}",)),
        f"time      {_duration(report.median)} (median of {len(report.seconds)}, best "
        f"{_duration(min(report.seconds))}){speed}",
        f"result    {compared}",
        f"checksum  {checksums or 'no output'}",
    ]


def _record(report: Report) -> dict[str, Any]:
    """The report as JSON; unknown and non-finite values are null."""
    comparison = report.comparison
    return {
        "kernel": report.kernel,
        "machine": report.machine,
        "parameters": dict(report.parameters),
        "runs": len(report.seconds),
        "threads": report.threads,
        "seconds_median": report.median,
        "seconds_best": min(report.seconds),
        "flops": report.flops,
        "gflops": report.gflops,
        "checksums": {name: _finite(value) for name, value in report.checksums.items()},
        "compared": comparison is not None,
        "max_abs_err": None if comparison is None else _finite(comparison.max_abs_err),
    }


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _duration(seconds: float) -> str:
    for unit, size in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-6:.3g} us"


@dataclass(frozen=True)
class _Comparison:
    """The largest absolute difference over all results, and whether all lie within tolerance."""

    max_abs_err: float
    is_right: bool


def compare(results: Mapping[str, AnyArray], expected: Mapping[str, AnyArray]) -> _Comparison:
    """Compare arrays by name; `results` must have all names of `expected`.

    Integers and booleans must be equal. Floating-point numbers may differ by `_TOLERANCES` times
    the largest finite magnitude in the expected array (at least 1).
    """
    differences = [(max_abs_err(results[name], array), array) for name, array in expected.items()]
    return _Comparison(
        max((difference for difference, _ in differences), default=0.0),
        all(difference <= _allowed(array) for difference, array in differences),
    )


def _allowed(expected: np.ndarray[Any, Any]) -> float:
    if expected.dtype.kind not in "fV":  # V: bf16, which numpy does not know
        return 0.0
    finite = np.abs(expected[np.isfinite(expected)])
    largest = float(finite.astype(np.float64).max(initial=0.0))
    return _TOLERANCES[expected.dtype.itemsize] * max(1.0, largest)

"""Races of C functions as written and as optimized, against C compilers."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polysched.autoscheduler.driver import optimize_schedule
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.bench.c_programs.code import CCompiler, Program, compiled_by, compiled_by_polysched
from polysched.bench.c_programs.gallery import (
    AUTO,
    PLAIN,
    Calls,
    Expected,
    compiler_contestant,
    expected_results,
    prepared_calls,
    runner_of,
)
from polysched.bench.measure.contestant import Contestant, Runner
from polysched.bench.measure.race import Outcome, Progress, Result, Rules, Work, race
from polysched.errors import BenchError, CallError, suggestion
from polysched.frontends.scop import load_c
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.semantics.memory import check_parameters
from polysched.machine.description import Machine
from polysched.schedule.schedule import Schedule

PROGRAMS = Path(__file__).parents[1] / "programs"
"""The folder of the programs that are shipped."""

_SIZES = re.compile(r"\bsizes: *(\w+ *= *\d+(?: *, *\w+ *= *\d+)*)")


def programs_of(
    folder: Path, names: Sequence[str] = ()
) -> Iterator[tuple[Program, dict[str, int]]]:
    """Yield the function of each C file of a folder, with the sizes that a comment in it gives.

    The comment reads ``sizes: n=1000, m=800``. Parameters without a size get the one that the
    autoscheduler assumes.

    Args:
        names: of the files, without ``.c``; all if there are none.

    Raises:
        BenchError: there is no such folder or file.
        FrontendError: a file has no translation to a kernel.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.c"))}
    if not files:
        raise BenchError(f"there is no C file in '{folder}'; expected one function in each file")
    for name in names:
        if name not in files:
            raise BenchError(f"no program '{name}' in '{folder}'{suggestion(name, files)}")
    for name in names or files:
        source = files[name]
        # C compilers contract products and sums unless they are told not to.
        read = load_c(source).with_contraction(True)
        free = read.with_fast_math().kernel
        program = Program(name, source, read.kernel, free, read.c_function(), None)
        if read.translation.has_unknown_extents or program.function.members:
            raise BenchError(
                f"'{source}' accesses elements that data decide, or members of structs; expected "
                "a function whose arrays follow from its sizes"
            )
        yield program, _sizes(program, _given_sizes(source.read_text()))


def _sizes(program: Program, given: Mapping[str, int]) -> dict[str, int]:
    """Return the sizes of the calls, for which no access of the C function is out of bounds.

    Raises:
        BenchError: the accesses of the function may be outside its arrays at these sizes.
    """
    kernel, computed = program.kernel, program.function.computed
    names = set(kernel.parameters) - set(computed)
    sizes = model_sizes(kernel, {name: given[name] for name in given if name in names})
    sizes |= {name: evaluate(value, sizes) for name, value in computed.items()}
    try:
        check_parameters(kernel.context, sizes)
    except CallError as error:
        raise BenchError(
            f"'{program.source}' at the sizes {error}; give other sizes in a comment such as "
            "'sizes: n=1000, m=800'"
        ) from None
    return sizes


def _given_sizes(text: str) -> dict[str, int]:
    comment = _SIZES.search(text)
    pairs = (pair.split("=") for pair in comment[1].split(",")) if comment else ()
    return {name.strip(): int(value) for name, value in pairs}


@dataclass
class Preparation:
    """The processor time that polysched took for one program."""

    seconds: float = 0.0


@dataclass(frozen=True)
class Contest:
    """The contestants of each program's race, and the machine.

    Attributes:
        compilers: the C compilers. The first one is also the reference, with strict floating point.
        fast_math: whether the autoscheduler may reorder sums, as the compilers' flags say.
        machine: the machine that polysched compiles for.
        peak_burst: measures the machine's peak; flops a second.
    """

    compilers: tuple[CCompiler, ...]
    fast_math: bool
    machine: Machine
    peak_burst: Callable[[], float] = field(repr=False)


@dataclass(frozen=True)
class Comparison:
    """One program's race: the speedups of the autoscheduler over the other contestants.

    Attributes:
        sizes: the values of the parameters, such as ``"n=1000 m=800"``.
        ratios: the speedups by the name of the other contestant.
        seconds: processor time of the search, the proof and code generation.
    """

    program: str
    sizes: str
    ratios: Mapping[str, float]
    seconds: float

    @property
    def over_best_compiler(self) -> float | None:
        """The ratio to the fastest C compiler; None if none raced."""
        others = [ratio for name, ratio in self.ratios.items() if name != PLAIN]
        return min(others, default=None)


def raced(
    program: Program,
    sizes: Mapping[str, int],
    contest: Contest,
    folder: Path,
    rules: Rules,
    progress: Progress | None = None,
) -> tuple[Outcome, Comparison]:
    """Race one program.

    Args:
        folder: the folder for the compiled code.
        rules: duration and rounds.
    """
    calls = prepared_calls(program, sizes, {})
    expected = _expected(calls, contest, folder)
    preparation = Preparation()
    work = Work(
        program.name,
        _instances(program, sizes),
        (
            _own(calls, expected, contest, folder, AUTO, preparation),
            _own(calls, expected, contest, folder, PLAIN, Preparation()),
            *(
                compiler_contestant(calls, expected, compiler, folder)
                for compiler in contest.compilers
            ),
        ),
        expected.comparable(expected.arrays),
        contest.peak_burst,
        expected.tolerance,
    )
    outcome = race(work, rules, progress=progress)
    label = " ".join(f"{name}={size}" for name, size in sizes.items())
    ratios = _ratios(outcome.results)
    return outcome, Comparison(program.name, label, ratios, preparation.seconds)


def _expected(calls: Calls, contest: Contest, folder: Path) -> Expected:
    """Results of the first installed C compiler at -O1; without any, polysched's results."""
    for compiler in contest.compilers:
        plain = CCompiler("reference", compiler.command[:1], ("-O1", "-ffp-contract=off"))
        try:
            return Expected(calls.results(compiled_by(plain, calls.program.source, folder)))
        except BenchError:
            continue
    return expected_results(calls, folder)


def _own(
    calls: Calls,
    expected: Expected,
    contest: Contest,
    folder: Path,
    label: str,
    preparation: Preparation,
) -> Contestant:
    program, machine = calls.program, contest.machine

    def prepare() -> Runner:
        start = time.process_time()
        schedule = Schedule(program.free_kernel if contest.fast_math else program.kernel)
        if label == AUTO:
            schedule = optimize_schedule(schedule, machine, sizes=calls.sizes).schedule
        made = compiled_by_polysched(schedule, program.function, folder, label, machine)
        preparation.seconds = time.process_time() - start
        return runner_of(calls, expected, made)

    return Contestant(label, prepare)


def _instances(program: Program, sizes: Mapping[str, int]) -> float:
    """Count the statement instances of one call, in place of operations: only ratios are used."""
    body = Schedule(program.kernel).program
    return sum(statement_facts(body, name, sizes).instances for name in body.statements)


def _ratios(results: Iterable[Result]) -> dict[str, float]:
    """Speedups of the autoscheduler over the contestants that are not held back."""
    by_name = {result.contestant: result for result in results}
    own = by_name.pop(AUTO, None)
    if own is None:
        return {}
    return {
        name: own.fraction_of_peak / other.fraction_of_peak
        for name, other in by_name.items()
        if other.held_back is None
    }

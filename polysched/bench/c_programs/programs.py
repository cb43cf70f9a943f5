"""The C functions that race: those of the gallery, and those of any folder."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.facts.sizes import model_sizes
from polysched.bench.c_programs.works import WORKS, Make
from polysched.errors import BenchError, CallError, suggestion
from polysched.frontends.scop import load_c
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.semantics.memory import check_parameters
from polysched.llvm.export.c_function import CFunction
from polysched.schedule.notation.file import apply_file
from polysched.schedule.schedule import Schedule

PROGRAMS = Path(__file__).parents[1] / "programs"
"""The folder of the programs that are shipped."""

_SIZES = re.compile(r"\bsizes: *(\w+ *= *\d+(?: *, *\w+ *= *\d+)*)")


@dataclass(frozen=True)
class Program:
    """A C function to race.

    Attributes:
        kernel: the kernel that runs as written.
        free_kernel: the kernel of the schedules; its sums may have any order.
        operations: of one call, as the algorithm counts them.
        schedule: the schedule by hand, or None.
        inputs: functions that make the contents of arrays and numbers, by name.
    """

    name: str
    source: Path
    kernel: Kernel
    free_kernel: Kernel
    function: CFunction
    sizes: Mapping[str, int]
    operations: float
    schedule: Schedule | None = None
    inputs: Mapping[str, Make] = field(default_factory=dict)

    def __str__(self) -> str:
        return " ".join([self.name, *(f"{name}={size}" for name, size in self.sizes.items())])


def gallery_programs(folder: Path, names: Sequence[str], kind: str) -> Iterator[Program]:
    """Yield programs of the gallery, which have schedules by hand.

    Args:
        folder: the folder of the C files and the schedules.
        names: of the files, without ``.c``; all if there are none.
        kind: of the sizes, ``"large"`` or ``"small"``.

    Raises:
        FrontendError: a file has no translation to a kernel.
        ScheduleError: a step of a schedule cannot be applied.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.c")) if path.stem in WORKS}
    if not files:
        raise BenchError(
            f"there is no gallery in '{folder}'; its C files are in the folder examples/gallery of "
            "polysched's repository: pass that folder with --folder"
        )
    for source in _chosen(files, folder, names):
        read, steps, work = load_c(source), source.with_suffix(".sched"), WORKS[source.stem]
        free, sizes = read.with_fast_math().kernel, work.sizes(kind)
        yield Program(
            source.stem,
            source,
            read.kernel,
            free,
            read.c_function(),
            sizes,
            work.operations(**sizes),
            apply_file(Schedule(free), steps) if steps.exists() else None,
            work.inputs,
        )


def programs_of(
    folder: Path, names: Sequence[str] = (), *, fast_math: bool = False
) -> Iterator[Program]:
    """Yield the function of each C file of a folder, with the sizes that a comment in it gives.

    The comment reads ``sizes: n=1000, m=800``. Parameters without a size get the one that the
    autoscheduler assumes. Statement instances stand for operations: only ratios are used.

    Args:
        names: of the files, without ``.c``; all if there are none.
        fast_math: whether sums may have any order.

    Raises:
        FrontendError: a file has no translation to a kernel.
    """
    files = {path.stem: path for path in sorted(folder.glob("*.c"))}
    if not files:
        raise BenchError(f"there is no C file in '{folder}'; expected one function in each file")
    for source in _chosen(files, folder, names):
        # C compilers contract products and sums unless they are told not to.
        read = load_c(source).with_contraction(True)
        kernel = (read.with_fast_math() if fast_math else read).kernel
        function = read.c_function()
        if read.translation.has_unknown_extents or function.members:
            raise BenchError(
                f"'{source}' accesses elements that data decide, or members of structs; expected "
                "a function whose arrays follow from its sizes"
            )
        sizes = _sizes(source, kernel, function)
        body = Schedule(kernel).program
        instances = sum(statement_facts(body, name, sizes).instances for name in body.statements)
        yield Program(source.stem, source, kernel, kernel, function, sizes, instances)


def _chosen(files: Mapping[str, Path], folder: Path, names: Sequence[str]) -> Iterator[Path]:
    for name in names:
        if name not in files:
            raise BenchError(f"no program '{name}' in '{folder}'{suggestion(name, files)}")
    return (files[name] for name in names or files)


def _sizes(source: Path, kernel: Kernel, function: CFunction) -> dict[str, int]:
    """Return the sizes of the calls, for which no access of the C function is out of bounds.

    Raises:
        BenchError: the accesses of the function may be outside its arrays at these sizes.
    """
    given = _given_sizes(source.read_text())
    computed = set(function.computed) & set(kernel.parameters)
    names = set(kernel.parameters) - computed
    sizes = model_sizes(kernel, {name: given[name] for name in given if name in names})
    sizes |= {name: evaluate(function.computed[name], sizes) for name in computed}
    try:
        check_parameters(kernel.context, sizes)
    except CallError as error:
        raise BenchError(
            f"'{source}' at the sizes {error}; give other sizes in a comment such as "
            "'sizes: n=1000, m=800'"
        ) from None
    return sizes


def _given_sizes(text: str) -> dict[str, int]:
    comment = _SIZES.search(text)
    pairs = (pair.split("=") for pair in comment[1].split(",")) if comment else ()
    return {name.strip(): int(value) for name, value in pairs}

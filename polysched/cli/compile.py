"""``polysched compile``: export a schedule as an object file, a shared library or source text."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import click

from polysched.autoscheduler.gaining_sizes import described_sizes
from polysched.cli.compile_regions import compile_regions
from polysched.cli.completion import files
from polysched.cli.options import WrittenFile, output_option
from polysched.cli.targets.c_target import is_c_target, parted_c_target
from polysched.cli.targets.schedule_file import (
    Reading,
    auto_option,
    hint_at_auto,
    load_scheduled_target,
    reading_options,
)
from polysched.cli.targets.target import Target
from polysched.cli.terminal import output, print_error
from polysched.errors import FrontendError
from polysched.frontends.scop.header import function_header
from polysched.frontends.scop.regions import Replacement
from polysched.ir.core.tree import LoopKind, loops
from polysched.ir.expr.literal_conditions import FALSE
from polysched.ir.isl.budget import time_budget, time_left
from polysched.legality.verdicts.verdict import RefusedScheduleError
from polysched.lower import export
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.export import (
    ExportFiles,
    ExportFormat,
    export_files,
    text_writer,
    write_file,
)


@click.command("compile")
@click.argument("target", shell_complete=files)
@reading_options
@auto_option
@output_option("The file to write, which ends in .o, .so, .ll, .s or .c.")
@click.option(
    "--header",
    type=WrittenFile(path_type=Path),
    metavar="FILE",
    help="Also write a C and C++ header that declares and documents the function.",
)
@click.option(
    "--guard",
    is_flag=True,
    help="If the schedule is legal only for some values of the parameters, run the kernel as "
    "declared for all others.",
)
def compile_command(
    target: str, reading: Reading, file: Path, header: Path | None, guard: bool
) -> None:
    """Compile a schedule for programs in C and other languages, without Python.

    If the schedule cannot be proved legal, nothing is compiled or written.

    \b
    .o   an object file, for programs and shared libraries
    .so  a shared library, linked by the C compiler ($CC, by default cc)
    .ll  LLVM IR
    .s   assembly
    .c   C99, for any processor; its loops run in order on one thread

    The function takes the arrays in the order of declaration, then the parameters:

    \b
    int NAME(const float *x, float *y, int64_t n);
    int NAME_supported(void);

    NAME returns 0 on success, 1 if it cannot allocate its workspace, and 2 if the processor lacks
    an instruction set that the code uses. If it returns 1 or 2, it has written nothing.
    NAME_supported returns 1 if the processor has all of them, else 0. Sizes, alignment and overlap
    of the arrays are not checked; the header documents the requirements.

    If TARGET is a C file, the function keeps its C signature, so the code can replace it in the
    program: link FILE.o instead of the object that the C compiler makes of the function. In the
    cases of 1 and 2, and where an array that it writes lies over a loop bound in a struct, it
    prints a line to the error output and aborts. The header declares it as the file does.

    If a C function has no translation as a whole, the C compiler compiles it with calls of
    generated functions in place of its loops that have one; the command prints which loops these
    are, and why the function has no translation. Such code runs as written where 'NAME' would
    abort. This needs a C compiler and objcopy. With --auto, a loop that no schedule is predicted to
    make faster is left to the C compiler too.

    Code with parallel loops runs on omp_get_max_threads() threads of an OpenMP runtime: link with
    -fopenmp or -lgomp. Other code needs only -lm.

    \b
    polysched compile examples/conv2d_relu.py:tutorial -o conv.o --header conv.h
    polysched compile my_kernel.py:fast -o libfast.so --machine skylake-avx512
    polysched compile gemm.c --function gemm --schedule gemm.sched -o gemm.o

    \b
    Exit codes: 0 success, 1 illegal, 2 bad input, 3 legality unknown.
    """
    files = export_files(file, header)
    text = None
    if header is not None and is_c_target(target):
        files = replace(files, header=None)
        path, name = parted_c_target(target)
        text = function_header(Path(path), name or reading.function, reading.promises)
    machine = reading.machine or load_machine()
    try:
        loaded = _whole(target, reading, files, machine, guard=guard)
    except (FrontendError, RefusedScheduleError) as error:
        if not is_c_target(target):
            raise
        function, regions = compile_regions(target, reading, files, machine, error)
        output().print(f"{file}: {function} for {machine.name}")
        for region in regions:
            _print_region(region)
        rest = "except for these loops" if regions else "no loop has a schedule that pays"
        print_error(f"compiled by the C compiler, {rest}: {error}")
        hint_at_auto(False, reading)
        _write_header(header, text)
        return
    output().print(f"{file}: {loaded.schedule.kernel.name} for {machine.name}")
    threads = any(loop.kind is LoopKind.PARALLEL for loop in loops(loaded.schedule.program.tree))
    if threads and files.format not in (ExportFormat.C, ExportFormat.LIBRARY):
        output().print("link with -fopenmp: its parallel loops run on OpenMP's threads")
    if loaded.program is not None:
        for note in loaded.program.notes():
            output().print(note, highlight=False)
    if loaded.gains is not None and files.format is not ExportFormat.C:
        where = ": no schedule is predicted to gain"
        if loaded.gains != FALSE:
            where = f" unless {described_sizes(loaded.gains)}, where it gains"
        output().print(f"runs as written{where}", highlight=False)
    _write_header(header, text)


def _write_header(header: Path | None, text: str | None) -> None:
    """Write the header of a C function, and say what the header is."""
    if header is None:
        return
    if text is not None:
        write_file(header, text_writer(text))
    output().print(f"{header}: header for C and C++")


def _whole(
    target: str, reading: Reading, files: ExportFiles, machine: Machine, *, guard: bool
) -> Target:
    """Compile a whole kernel, or a whole C function."""
    with time_budget(reading.time_limit()):
        linked = files.format in (ExportFormat.OBJECT, ExportFormat.LIBRARY)
        loaded = load_scheduled_target(target, reading, takes_parts=True, prefers_parts=linked)
        seconds = time_left()
    c_function = None if loaded.program is None else loaded.program.c_function()
    hint_at_auto(bool(loaded.schedule.steps), reading)
    export(
        loaded.schedule,
        files.code,
        header=files.header,
        machine=machine,
        guard=guard,
        c_function=c_function,
        gains=loaded.gains,
        seconds=seconds,
    )
    return loaded


def _print_region(region: Replacement) -> None:
    program = region.program
    line = program.parsed.source_map.location(program.region.node).line
    output().print(f"from line {line}: {region.symbol}", highlight=False)
    for note in program.notes():
        output().print(f"  {note}", highlight=False)

"""``polysched compile``: a schedule as an object, a library or text for programs in C."""

from __future__ import annotations

from pathlib import Path

import click

from polysched.cli.options import WrittenFile, output_option
from polysched.cli.schedule_file import Reading, load_scheduled_target, reading_options
from polysched.cli.terminal import output
from polysched.ir.budget import time_budget, time_left
from polysched.lower import export
from polysched.machine.load import load_machine
from polysched.runtime.export import export_files


@click.command("compile")
@click.argument("target")
@reading_options
@output_option("Where to write the code; ends in .o, .so, .ll, .s or .c.")
@click.option(
    "--header",
    type=WrittenFile(path_type=Path),
    metavar="FILE",
    help="Where to write a header for C and C++, which says how to call the function.",
)
@click.option(
    "--guard",
    is_flag=True,
    help="If the schedule is legal for some values of the parameters only: run the kernel as "
    "declared for the others.",
)
def compile_command(
    target: str,
    reading: Reading,
    file: Path,
    header: Path | None,
    guard: bool,
) -> None:
    """Compile a schedule for programs in C and other languages, which then need no Python.

    A schedule that is not proved legal is not compiled, and nothing is written.

    \b
    .o   an object file, for programs and shared libraries
    .so  a shared library, linked by the C compiler (cc, or what CC says)
    .ll  LLVM IR
    .s   assembly
    .c   C99, for any processor; its loops run in order on one thread

    The function takes the arrays in the order of declaration, then the parameters:

    \b
    int NAME(const float *x, float *y, int64_t n);
    int NAME_supported(void);

    It returns 0; 1 if there is no memory for its workspace; 2 if the processor lacks an instruction
    set that the code uses, which NAME_supported tells beforehand (1 or 0). After 1 and 2 nothing
    has been written. Sizes, alignment and overlap are not checked; the header says what must hold.

    Of a C file the function has the signature that it has there, so that the code can take its
    place in the program: FILE.o is linked instead of what the C compiler makes of the function.
    Where it would return 1 or 2 it writes a line to the error output and aborts.

    Code with parallel loops runs on the threads of an OpenMP runtime, omp_get_max_threads() of
    them: link it with -fopenmp or -lgomp. Other code needs no more than -lm.

    \b
    polysched compile examples/conv2d_relu.py:tutorial -o conv.o --header conv.h
    polysched compile my_kernel.py:fast -o libfast.so --machine skylake-avx512
    polysched compile gemm.c --function gemm --schedule gemm.sched -o gemm.o

    \b
    Exit codes: 0 success, 1 illegal, 2 bad input, 3 legality unknown.
    """
    export_files(file, header)
    with time_budget(reading.seconds):
        loaded = load_scheduled_target(target, reading)
        seconds = time_left()
    schedule = loaded.schedule
    c_function = None if loaded.program is None else loaded.program.c_function()
    chosen = reading.machine or load_machine()
    export(
        schedule,
        file,
        header=header,
        machine=chosen,
        guard=guard,
        c_function=c_function,
        seconds=seconds,
    )
    output().print(f"{file}: {schedule.kernel.name} for {chosen.name}")
    if header is not None:
        output().print(f"{header}: header for C and C++")

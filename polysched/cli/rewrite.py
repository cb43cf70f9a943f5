"""``polysched rewrite``: replace the regions of a C file by calls of generated functions."""

from __future__ import annotations

from pathlib import Path

import click

from polysched.cli.completion import files
from polysched.cli.options import WrittenFile, output_option
from polysched.cli.replaced_regions import file_text, proved_regions
from polysched.cli.targets.c_target import is_c_target
from polysched.cli.targets.schedule_file import Reading, auto_option, hint_at_auto, reading_options
from polysched.cli.terminal import errors, output
from polysched.errors import ExportError, TargetError
from polysched.frontends.scop.regions import Refusal, Replacement, replacements_of
from polysched.frontends.scop.rewriting import edited
from polysched.ir.isl.budget import time_budget
from polysched.loops.analysis.parallel import parallel_loops
from polysched.loops.printers.c import print_c_functions
from polysched.machine.load import load_machine
from polysched.runtime.export import write_object


@click.command("rewrite")
@click.argument("target", metavar="FILE.c", shell_complete=files)
@reading_options
@auto_option
@output_option("The C file to write.")
@click.option(
    "--object",
    "object_file",
    type=WrittenFile(path_type=Path),
    metavar="FILE.o",
    help="Also write the generated functions as machine code, to be linked with the C file. "
    "Without it, they are C text at the end of the C file.",
)
def rewrite_command(target: str, reading: Reading, file: Path, object_file: Path | None) -> None:
    """Replace the regions of a C file by calls of generated functions, source to source.

    The regions are those between '#pragma scop' and '#pragma endscop', in any number of functions;
    of a function without these pragmas the whole body, or else the loops in it that can be
    translated. Everything else stays as it is, byte for byte. The text of a region stays in the
    file too: it runs where arrays overlap, where an inferred condition on the sizes fails, and
    where the generated function cannot run. A region that cannot be translated is left alone, and
    the reason is printed.

    \b
    polysched rewrite solver.c -o solver.opt.c --auto --object kernels.o
    cc solver.opt.c kernels.o -lm
    polysched rewrite solver.c -o solver.opt.c --auto

    With --schedule, exactly one region is expected; name its function with --function.

    \b
    Exit codes: 0 success, 1 illegal, 2 bad input or no region, 3 legality unknown.
    """
    if not is_c_target(target) or not Path(target).suffix:
        raise TargetError(f"'{target}' is not a C file; expected FILE.c")
    if object_file is not None and object_file.suffix != ".o":
        raise ExportError(f"cannot write machine code to '{object_file}'; expected FILE.o")
    path = Path(target)
    if file.resolve() == path.resolve():
        raise ExportError(f"'{file}' is the file to rewrite; name another one")
    machine = reading.machine or load_machine()
    with time_budget(reading.time_limit()):
        replaced, refused = replacements_of(path, reading.function, reading.promises)
        _require_some(path, replaced, refused, reading)
    replaced, programs = proved_regions(replaced, refused, reading, machine)
    _require_some(path, replaced, refused, reading)
    text = edited(file_text(path), [edit for replacement in replaced for edit in replacement.edits])
    if object_file is None:
        text = f"{text.rstrip()}\n\n{print_c_functions([program.program for program in programs])}"
    else:
        write_object(programs, machine, object_file)
    try:
        file.write_bytes(text.encode())
    except OSError as error:
        raise ExportError(f"cannot write '{file}': {error.strerror}") from error
    for replacement in replaced:
        output().print(
            f"{file}: {replacement.program.region.name} calls {replacement.symbol}", highlight=False
        )
        for note in replacement.program.notes():
            output().print(f"  {note}", highlight=False)
    if object_file is not None and any(
        parallel_loops(program.program.body) for program in programs
    ):
        output().print(
            f"{object_file}: link with -fopenmp: parallel loops run on OpenMP's threads",
            highlight=False,
        )
    parted = {replacement.program.region.name for replacement in replaced}
    for refusal in refused:
        rest = f", but for regions of {refusal.function}" if refusal.function in parted else ""
        errors().print(f"left as it is{rest}: {refusal.error}")
    hint_at_auto(reading.schedule_file is not None, reading)


def _require_some(
    path: Path, replaced: list[Replacement], refused: list[Refusal], reading: Reading
) -> None:
    if not replaced:
        if refused:
            raise refused[0].error
        raise TargetError(f"{path} defines no function; expected one with loops in it")
    if reading.schedule_file is not None and len(replaced) > 1:
        names = ", ".join(
            sorted({f"'{replacement.program.region.name}'" for replacement in replaced})
        )
        raise TargetError(
            f"--schedule applies to one region; {path} has {len(replaced)} in {names}: name a "
            "function with --function"
        )

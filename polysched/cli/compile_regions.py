"""Compile a C function that has a translation of some regions only, with the help of a C compiler.

The C compiler gets the file with calls in place of the regions, as ``polysched rewrite`` writes it.
Its object file and the generated functions are linked to one object, which exports only the
function.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from pycparser import c_ast

from polysched.cli.replaced_regions import file_text, proved_regions
from polysched.cli.targets.c_target import parted_c_target
from polysched.cli.targets.schedule_file import Reading
from polysched.errors import PolyschedError
from polysched.frontends.scop.regions import Replacement, replacements_of
from polysched.frontends.scop.rewriting import edited
from polysched.frontends.scop.source.parse import ParsedSource, parse
from polysched.frontends.scop.source.text import read_source
from polysched.frontends.scop.source.trees import names_in
from polysched.ir.isl.budget import time_budget
from polysched.llvm.export.c_interface import ExportedProgram
from polysched.loops.analysis.parallel import parallel_loops
from polysched.machine.description import Machine
from polysched.runtime.export import ExportFiles, ExportFormat, write_file, write_object
from polysched.runtime.linker import compile_c, link_function, link_shared


def compile_regions(
    target: str, reading: Reading, files: ExportFiles, machine: Machine, refused: PolyschedError
) -> tuple[str, list[Replacement]]:
    """Compile a function: its loops are scheduled, the C compiler compiles the other statements.

    Args:
        refused: why the function has no translation as a whole, or no proof.

    Returns:
        The function's name and its regions; none if no schedule is predicted to make one faster.

    Raises:
        PolyschedError: the error `refused`, if no region of the function has a translation.
        ExportError: there is no C compiler, or it fails.
    """
    if files.format not in (ExportFormat.OBJECT, ExportFormat.LIBRARY):
        raise refused
    path = Path(parted_c_target(target)[0])
    function, regions, programs = scheduled_regions(target, reading, machine, refused)
    source = read_source(path, reading.promises.preprocessor)
    shared = _shared_variables(parse(source, function, skips_refused=True), function, refused)
    if shared and files.format is not ExportFormat.OBJECT:
        raise refused
    text = edited(file_text(path), [edit for region in regions for edit in region.edits])
    contracts = reading.fp_contract == "fast" or (reading.fast_math and not reading.fp_contract)
    options = [
        f"-ffp-contract={'fast' if contracts else 'off'}",
        *reading.promises.preprocessor,
        f"-I{path.absolute().parent}",
    ]
    openmp = any(parallel_loops(program.program.body) for program in programs)
    with tempfile.TemporaryDirectory() as folder:
        written, rest, kernels, whole = (
            Path(folder) / name for name in (path.name, "rest.o", "kernels.o", "whole.o")
        )
        written.write_bytes(text.encode())
        compile_c(written, rest, options)
        if programs:
            write_object(programs, machine, kernels)
        link_function([rest, kernels] if programs else [rest], whole, function, shared)

        def write(new: Path) -> None:
            if files.format is ExportFormat.LIBRARY:
                link_shared(whole, new, openmp=openmp)
            else:
                new.write_bytes(whole.read_bytes())

        write_file(files.code, write)
    return function, regions


def scheduled_regions(
    target: str, reading: Reading, machine: Machine, refused: PolyschedError
) -> tuple[str, list[Replacement], list[ExportedProgram]]:
    """Find and prove the loops of a function that has no translation as a whole.

    Returns:
        The function's name, its regions and their loops; no regions if no schedule is predicted to
        make one faster, or if each would always run as written.

    Raises:
        PolyschedError: the error `refused`, if no region of the function has a translation.
    """
    name, own = parted_c_target(target)
    if reading.schedule_file is not None:
        raise refused
    with time_budget(reading.time_limit()):
        regions, refusals = replacements_of(Path(name), own or reading.function, reading.promises)
    regions, programs = proved_regions(regions, refusals, reading, machine)
    functions = {region.program.region.name for region in regions}
    functions |= {refusal.function for refusal in refusals if refusal.has_translation}
    if len(functions) != 1:
        raise refused
    (function,) = functions
    return function, regions, programs


def _shared_variables(parsed: ParsedSource, function: str, refused: PolyschedError) -> list[str]:
    """Return the variables of other files and this one that a function shares with the program.

    Raises:
        PolyschedError: the error `refused`, if the function uses a static variable: the object
            would have its own copy.
    """
    bodies = {node.decl.name: node for node in parsed.tree.ext if isinstance(node, c_ast.FuncDef)}
    used, pending = set[str](), [function]
    while pending:
        body = bodies.pop(pending.pop(), None)
        names = set() if body is None else set(names_in(body))
        pending += names - used
        used |= names
    shared = []
    for node in parsed.tree.ext:
        is_variable = isinstance(node, c_ast.Decl) and not isinstance(
            node.type, c_ast.FuncDecl | c_ast.Struct | c_ast.Union | c_ast.Enum
        )
        if is_variable and node.name in used and not _is_const(node):
            if "static" in (node.storage or ()):
                raise refused
            shared.append(node.name)
    return shared


def _is_const(node: c_ast.Decl) -> bool:
    inner = node.type
    while isinstance(inner, c_ast.ArrayDecl):
        inner = inner.type
    return "const" in (getattr(inner, "quals", None) or ())

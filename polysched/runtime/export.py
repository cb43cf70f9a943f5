"""Export kernels as files that programs in other languages use without Python."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from polysched.errors import ExportError, MachineError
from polysched.llvm.export.c_function import CFunction, emit_c_function
from polysched.llvm.export.c_interface import (
    ExportedProgram,
    emit_exported_module,
    emit_unscheduled,
)
from polysched.loops.analysis.parallel import parallel_loops
from polysched.loops.ir.nodes import LoopProgram
from polysched.loops.printers.c import C_LINKAGE, function_name, print_c
from polysched.machine.cpuid import checkable
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.runtime.c_interface import Linkage, header_text, require_c_names
from polysched.runtime.jit import (
    architecture,
    emit_assembly,
    emit_object,
    linked_modules,
    optimized_ir,
    unscheduled_ir,
)
from polysched.runtime.linker import link_shared
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.signature import signature_of

_OPTIONS = CompileOptions(position_independent=True)

_ALONE = "A call runs on the thread that calls; several threads may call at the same time."
_TEAM = (
    "A call runs on up to omp_get_max_threads() threads of the OpenMP runtime that the program is "
    "linked with; inside a parallel region of the program on the calling thread alone, unless "
    "nesting is switched on. Several threads may call at the same time. GNU's runtime does not "
    "survive a fork: a child process must not call after its parent has."
)


class ExportFormat(Enum):
    """File formats, by the extension of the file name."""

    OBJECT = ".o"
    LIBRARY = ".so"
    LLVM = ".ll"
    ASSEMBLY = ".s"
    C = ".c"


@dataclass(frozen=True)
class ExportFiles:
    """Output files of an export: the code and an optional header."""

    code: Path
    format: ExportFormat
    header: Path | None = None


def export_files(code: Path, header: Path | None = None) -> ExportFiles:
    """Check the paths of an export before anything is compiled.

    Raises:
        ExportError: the extension is unknown, the folder does not exist, the path is not a file, or
            both paths are the same file.
    """
    known = {format_.value: format_ for format_ in ExportFormat}
    if code.suffix not in known:
        raise ExportError(
            f"cannot export to '{code}'; expected a name ending in {', '.join(known)}"
        )
    for path in (code, *([header] if header is not None else [])):
        if path.exists() and not path.is_file():
            raise ExportError(f"cannot write '{path}': it is not a file")
        if not path.absolute().parent.is_dir():
            raise ExportError(f"cannot write '{path}': there is no folder '{path.parent}'")
    if header is not None and header.resolve() == code.resolve():
        raise ExportError(f"'{code}' cannot be both the code and its header; name two files")
    return ExportFiles(code, known[code.suffix], header)


def write_export(
    exported: ExportedProgram,
    machine: Machine,
    files: ExportFiles,
    c_function: CFunction | None = None,
    as_written: LoopProgram | None = None,
) -> None:
    """Write a program as code with a C interface, and its header. Existing files are replaced.

    All files are generated before the first one is replaced, and each is replaced atomically.

    The function is ``int NAME(arrays..., int64_t parameter...)``; see
    :mod:`polysched.llvm.export.c_interface`. With `c_function` it is that function instead, and
    `as_written` are the loops of its fallback.

    Raises:
        ExportError: a name is not allowed in C, a file cannot be written, or there is no linker.
        LoweringError: the program cannot be compiled to machine code.
        MachineError: the code cannot check at run time whether a processor supports it.
    """
    program = exported.program
    signature = signature_of(program)
    if c_function is None:
        require_c_names(signature)
    elif files.format is ExportFormat.C:
        raise ExportError(
            f"the C program has the text of '{c_function.name}' already; expected a file ending in "
            ".o, .so, .ll or .s"
        )
    elif files.header is not None:
        raise ExportError(
            f"the C program has the declaration of '{c_function.name}' already, with the signature "
            "that the code has; leave out the header"
        )
    writing: list[tuple[Path, Callable[[Path], None]]] = [
        (files.code, _code(exported, machine, files.format, c_function, as_written))
    ]
    if files.header is not None:
        text = header_text(signature, _linkage(program, machine, files))
        writing.append((files.header, text_writer(text)))
    with contextlib.ExitStack() as stack:
        temporaries = [(stack.enter_context(_made(path, write)), path) for path, write in writing]
        for temporary, path in temporaries:
            with _reported(path):
                temporary.replace(path.resolve())


def write_object(programs: Sequence[ExportedProgram], machine: Machine, path: Path) -> None:
    """Write one object file with several programs, each as ``int NAME(...)`` of `write_export`."""
    target = checkable(machine)
    modules = [
        _with_unscheduled(emit_exported_module(program, target), program, target)
        for program in programs
    ]
    text = linked_modules(modules)
    code = emit_object(text, programs[0].program.name, target, _OPTIONS)
    write_file(path, lambda new: _write(new, code))


def write_file(path: Path, write: Callable[[Path], None]) -> None:
    """Replace a file atomically by the one that `write` creates."""
    with _made(path, write) as temporary, _reported(path):
        temporary.replace(path.resolve())


def _code(
    exported: ExportedProgram,
    machine: Machine,
    kind: ExportFormat,
    c_function: CFunction | None,
    as_written: LoopProgram | None,
) -> Callable[[Path], None]:
    """Compile the code now, and return a function that writes it to a path."""
    program = exported.program
    if kind is ExportFormat.C:
        return text_writer(_c_text(program))
    target = checkable(machine)
    if architecture(target) != architecture(detect_host()):
        raise MachineError(
            f"machine '{machine.name}': the check of the processor can be assembled on an "
            f"{architecture(target)} host only; export C text (.c)"
        )
    llvm = (
        emit_exported_module(exported, target)
        if c_function is None
        else emit_c_function(exported, target, c_function, as_written)
    )
    llvm = _with_unscheduled(llvm, exported, target)
    if kind is ExportFormat.LLVM:
        return text_writer(optimized_ir(llvm, target, _OPTIONS))
    if kind is ExportFormat.ASSEMBLY:
        return text_writer(emit_assembly(llvm, target, _OPTIONS))
    code = emit_object(llvm, program.name, target, _OPTIONS)
    if kind is ExportFormat.OBJECT:
        return lambda path: _write(path, code)
    openmp = bool(parallel_loops(program.body))

    def link(path: Path) -> None:
        objects = path.with_suffix(".o")
        _write(objects, code)
        link_shared(objects, path, openmp=openmp)

    return link


def _with_unscheduled(text: str, exported: ExportedProgram, machine: Machine) -> str:
    """Link the program as written, which LLVM optimizes, to the module that calls it."""
    if exported.unscheduled is None:
        return text
    symbol = exported.unscheduled_symbol
    plain = unscheduled_ir(emit_unscheduled(exported.unscheduled, symbol, machine), machine)
    return linked_modules([text, plain], [symbol])


def _c_text(program: LoopProgram) -> str:
    name = function_name(program)
    if name != program.name:
        raise ExportError(
            f"kernel '{program.name}' has a name that its own C text uses; choose another name"
        )
    supported = f"{C_LINKAGE}int {name}_supported(void)\n{{\n    return 1;\n}}\n"
    return f"{print_c(program)}\n{supported}"


def _linkage(program: LoopProgram, machine: Machine, files: ExportFiles) -> Linkage:
    """The description of the code in the header."""
    code = files.code.name
    if files.format is ExportFormat.C:
        return Linkage(
            "C99 and C++17, for any machine; all loops run in order.",
            _ALONE,
            f"Compile {code} with -ffp-contract=off; link with -lm.",
        )
    openmp = bool(parallel_loops(program.body))
    libraries = "-fopenmp -lm" if openmp else "-lm"
    link = (
        f"{code} is linked with all that it needs."
        if files.format is ExportFormat.LIBRARY
        else f"Link {code} with {libraries}."
    )
    return Linkage(f"Compiled for {machine.name}.", _TEAM if openmp else _ALONE, link)


def text_writer(text: str) -> Callable[[Path], None]:
    """Return a function that writes a text to a path."""
    return lambda path: _write(path, text.encode())


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


@contextlib.contextmanager
def _made(path: Path, write: Callable[[Path], None]) -> Iterator[Path]:
    """Let `write` create a file for `path` in a temporary folder beside it."""
    with _reported(path):
        folder = tempfile.TemporaryDirectory(dir=path.resolve().parent, prefix=".polysched-")
    with folder as name:
        new = Path(name) / path.name
        with _reported(path):
            write(new)
        yield new


@contextlib.contextmanager
def _reported(path: Path) -> Iterator[None]:
    """Convert failures of the file system to errors that name the file."""
    try:
        yield
    except OSError as error:
        raise ExportError(f"cannot write '{path}': {error.strerror}") from error

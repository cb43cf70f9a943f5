"""JIT compilation of LLVM IR text, with the object cache on disk."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import llvmlite
from llvmlite import binding

from polysched.errors import LoweringError, MachineError
from polysched.machine.description import Machine
from polysched.machine.detect import detect_host
from polysched.machine.target import initialize_llvm, target_machine
from polysched.runtime.cache import ObjectCache, cache_key
from polysched.runtime.extension import WORKSPACE_FUNCTIONS
from polysched.runtime.pipeline import CompileOptions, optimize_unscheduled, simplify
from polysched.version import own_version


@dataclass(frozen=True)
class Entry:
    """The entry point of a module: ``i32 symbol(ptr, ..., i64, ...)``, pointers first."""

    symbol: str
    pointers: int
    integers: int


@dataclass(frozen=True, eq=False)
class NativeFunction:
    """Machine code in this process.

    ``call`` takes addresses, then 64-bit integers, and returns the 32-bit status. It releases the
    GIL. The code is unloaded with ``call``.
    """

    entry: Entry
    call: Callable[..., int]


def compile_module(
    ir_text: str, entry: Entry, machine: Machine, options: CompileOptions, cache: ObjectCache
) -> NativeFunction:
    """Compile a module for ``machine``, or take its object code from ``cache``, and load it.

    Raises:
        LoweringError: LLVM refuses the module, or it does not define the entry point.
        MachineError: this host lacks an instruction set that the code may use; nothing is compiled.
    """
    require_runnable(machine, detect_host())
    return load_object(object_code(ir_text, entry.symbol, machine, options, cache), entry, machine)


compile_once = functools.lru_cache(maxsize=128)(compile_module)
"""`compile_module`, with the 128 most recently used functions kept in memory."""


def object_code(
    ir_text: str, symbol: str, machine: Machine, options: CompileOptions, cache: ObjectCache
) -> bytes:
    """The object code of a module, from ``cache`` or stored there. Raises as `emit_object`."""
    key = object_key(ir_text, symbol, machine, options)
    code = cache.load(key)
    if code is None:
        code = emit_object(ir_text, symbol, machine, options)
        cache.store(key, code)
    return code


def object_key(ir_text: str, symbol: str, machine: Machine, options: CompileOptions) -> str:
    """The cache key: a digest of everything that the object code depends on."""
    target = (machine.triple, machine.cpu, machine.features)
    return cache_key(*versions(), *target, repr(options), symbol, ir_text)


@functools.cache
def versions() -> tuple[str, ...]:
    """The versions of polysched, llvmlite and LLVM."""
    own = own_version() or "not installed"
    llvm = ".".join(map(str, binding.llvm_version_info))
    return (f"polysched {own}", f"llvmlite {llvmlite.__version__}", f"LLVM {llvm}")


def emit_object(
    ir_text: str, symbol: str, machine: Machine, options: CompileOptions | None = None
) -> bytes:
    """The relocatable object code of a module that defines ``symbol``."""
    module, target = _optimized(ir_text, machine, options)
    defined = {function.name for function in module.functions if not function.is_declaration}
    if symbol not in defined:
        raise LoweringError(
            f"the generated module does not define '{symbol}'; it defines {sorted(defined)}"
        )
    return bytes(target.emit_object(module))


def emit_assembly(ir_text: str, machine: Machine, options: CompileOptions | None = None) -> str:
    """The assembly text of a module, for any machine. Raises as `emit_object`."""
    module, target = _optimized(ir_text, machine, options)
    return str(target.emit_assembly(module))


def optimized_ir(ir_text: str, machine: Machine, options: CompileOptions | None = None) -> str:
    """The module's IR text after the passes. Raises as `emit_object`."""
    module, _ = _optimized(ir_text, machine, options)
    return str(module)


def linked_modules(texts: Sequence[str], internal: Sequence[str] = ()) -> str:
    """Link LLVM modules that define different functions into one, as text.

    Args:
        internal: the functions that only the linked module itself calls.
    """
    initialize_llvm()
    try:
        context = binding.create_context()
        first, *more_modules = (binding.parse_assembly(text, context) for text in texts)
        for module in more_modules:
            first.link_in(module)
        for name in internal:
            first.get_function(name).linkage = "internal"
    except RuntimeError as error:
        raise LoweringError(f"LLVM refuses the generated code: {error}") from error
    return str(first)


def unscheduled_ir(ir_text: str, machine: Machine) -> str:
    """The IR text of a program as written after all of LLVM's passes. Raises as `emit_object`."""
    initialize_llvm()
    module = _parsed(ir_text, machine, target_machine(machine))
    optimize_unscheduled(module, machine)
    return str(module)


def new_linker(machine: Machine) -> binding.LLJIT:
    """A linker of object code: LLVM's JIT with JITLink, which takes 0.7 ms to make.

    JITLink places all sections within the reach of relative addresses. A linker keeps 9 KB of each
    object that it has linked, also after the code is unloaded.
    """
    return binding.create_lljit_compiler(
        target_machine(machine), use_jit_link=True, suppress_errors=True
    )


def load_object(
    code: bytes, entry: Entry, machine: Machine, linker: binding.LLJIT | None = None
) -> NativeFunction:
    """Link object code into this process.

    Args:
        entry: its entry point.
        machine: the machine that it was compiled for.
        linker: a linker that has linked no code of this entry point; None for a new one.

    Raises:
        LoweringError: it is not object code, lacks the entry point, or calls a function that this
            process does not have.
    """
    library = binding.JITLibraryBuilder()
    library.add_object_img(code).add_current_process().export_symbol(entry.symbol)
    for name, address in WORKSPACE_FUNCTIONS:
        library.import_symbol(name, address)
    try:
        jit = linker or new_linker(machine)
        # LLVM's JIT has libraries of its own, one of them named 'main'.
        tracker = library.link(jit, f"kernel {entry.symbol}")
    except RuntimeError as error:
        raise LoweringError(
            f"the object code of '{entry.symbol}' cannot be linked: {error}; does it call a "
            "function that this process lacks?"
        ) from error
    arguments = [ctypes.c_void_p] * entry.pointers + [ctypes.c_int64] * entry.integers
    # CFUNCTYPE's functions release the GIL while they run.
    call = ctypes.CFUNCTYPE(ctypes.c_int32, *arguments)(tracker[entry.symbol])
    # The ctypes function keeps its code loaded.
    call.code = (tracker, jit)  # type: ignore[attr-defined]
    return NativeFunction(entry, call)


def require_runnable(machine: Machine, host: Machine) -> None:
    """Check that code for ``machine`` can run on ``host``.

    Raises:
        MachineError: another architecture, or instruction sets that the host lacks.
    """
    if architecture(machine) != architecture(host):
        raise MachineError(
            f"code for machine '{machine.name}' ({architecture(machine)}) cannot run on this host "
            f"({architecture(host)}); compile for the machine 'host'"
        )
    missing = machine.missing_on(host)
    if missing:
        raise MachineError(
            f"code for machine '{machine.name}' cannot run on this host, which lacks "
            f"{', '.join(missing)}; compile for the machine 'host'"
        )


def architecture(machine: Machine) -> str:
    """The architecture in a machine's triple, such as ``x86_64``."""
    return machine.triple.split("-", 1)[0]


def _optimized(
    ir_text: str, machine: Machine, options: CompileOptions | None
) -> tuple[binding.ModuleRef, binding.TargetMachine]:
    options = options or CompileOptions()
    initialize_llvm()
    target = target_machine(
        machine,
        optimization=options.code_generation,
        position_independent=options.position_independent,
    )
    module = _parsed(ir_text, machine, target)
    simplify(module, machine, options)
    return module, target


def _parsed(ir_text: str, machine: Machine, target: binding.TargetMachine) -> binding.ModuleRef:
    try:
        # A separate context frees its types and constants with the module. No thread shares it.
        module = binding.parse_assembly(ir_text, binding.create_context())
        module.triple, module.data_layout = machine.triple, str(target.target_data)
        module.verify()
    except RuntimeError as error:
        raise LoweringError(f"LLVM refuses the generated code: {error}") from error
    return module

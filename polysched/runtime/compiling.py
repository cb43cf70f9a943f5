"""Make compiled kernels: from their LLVM text, or on disk, found by a description.

The text takes a proof and the emitter to make, and imports the checker and the passes. A kernel
whose description determines its schedule needs them only once for each machine and state of this
package: the entry on disk holds the signature and the text, and the text finds the object code.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable

from polysched.machine.description import Machine
from polysched.runtime.cache import ObjectCache, cache_key, default_cache
from polysched.runtime.jit import Entry, compile_once, versions
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.package_state import package_state
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.signature import Declaration, Signature, signature_of


def compile_kernel(
    declaration: Declaration,
    llvm: str,
    machine: Machine,
    *,
    threaded: bool = False,
    options: CompileOptions | None = None,
    cache: ObjectCache | None = None,
) -> CompiledKernel:
    """Compile the LLVM IR text of a kernel, which defines ``i32 NAME(ptr, ..., i64, ...)``.

    The function takes a pointer for each argument array of ``declaration`` in order, then each
    parameter. It returns 0, or 1 if it could not allocate its workspace and wrote nothing.

    Args:
        declaration: the arrays, parameters and conditions.
        threaded: whether the function takes a pointer to a team's function after the arrays, and
            the number of threads last.
        options: the optimization levels.
        cache: the cache of object code; by default the user's cache folder.

    Raises:
        LoweringError: LLVM refuses the text.
        MachineError: this host lacks an instruction set that the code may use.
    """
    signature = signature_of(declaration)
    chosen = options or CompileOptions()
    stored = default_cache() if cache is None else cache
    native = compile_once(llvm, entry_of(signature, threaded=threaded), machine, chosen, stored)
    return CompiledKernel(signature, llvm, machine, chosen, native, threaded)


def entry_of(signature: Signature, *, threaded: bool) -> Entry:
    """The entry point of a kernel; with parallel loops it takes a team and a number of threads."""
    extra = int(threaded)
    return Entry(signature.name, len(signature.arrays) + extra, len(signature.parameters) + extra)


def stored_kernel(
    description: str, machine: Machine, make: Callable[[], CompiledKernel]
) -> CompiledKernel:
    """The kernel of a description: from the disk, or made and stored there.

    Args:
        description: determines the kernel that ``make`` returns.
        machine: the machine that it is compiled for.
        make: proves and compiles the kernel, with the cache of object code in the user's folder.
    """
    cache = default_cache()
    key = cache_key("kernel", *versions(), package_state(), repr(machine), description)
    entry = cache.load(key)
    if entry is None:
        kernel = make()
        record = kernel.signature, kernel.llvm, kernel.options, kernel.is_threaded
        cache.store(key, zlib.compress(pickle.dumps(record), 1))
        return kernel
    # The folder is private to the user and its entries are machine code that runs here, so
    # unpickling trusts it no further.
    signature, llvm, options, threaded = pickle.loads(zlib.decompress(entry))
    native = compile_once(llvm, entry_of(signature, threaded=threaded), machine, options, cache)
    return CompiledKernel(signature, llvm, machine, options, native, threaded)

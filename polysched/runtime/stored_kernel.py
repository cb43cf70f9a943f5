"""Compiled kernels on disk, found by a description instead of by their LLVM text.

The text takes a proof and the emitter to make, and imports the checker and the passes. A kernel
whose description determines its schedule needs them only once for each machine and state of this
package: the entry holds the signature and the text, and the text finds the object code.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Callable

from polysched.machine.description import Machine
from polysched.runtime.cache import cache_key, default_cache
from polysched.runtime.jit import compile_once, versions
from polysched.runtime.kernel import CompiledKernel, entry_of
from polysched.runtime.package_state import package_state


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

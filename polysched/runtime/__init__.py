"""Running compiled kernels: checks of the call, JIT, cache."""

from polysched.runtime.cache import ObjectCache, default_cache
from polysched.runtime.jit import emit_assembly, emit_object, optimized_ir
from polysched.runtime.kernel import CompiledKernel, compile_kernel
from polysched.runtime.memory import aligned_zeros
from polysched.runtime.pipeline import CompileOptions
from polysched.runtime.signature import Signature, signature_of

__all__ = [
    "CompileOptions",
    "CompiledKernel",
    "ObjectCache",
    "Signature",
    "aligned_zeros",
    "compile_kernel",
    "default_cache",
    "emit_assembly",
    "emit_object",
    "optimized_ir",
    "signature_of",
]

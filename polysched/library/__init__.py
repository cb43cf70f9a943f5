"""Kernels and schedules that ship with polysched, built from its public primitives only.

``ps.library.reduce_kernel("sum", 100, 4000)`` declares a kernel, and ``ps.library.reduce_schedule``
schedules it for a machine. ``ps.matmul`` and ``ps.transpose`` plan, prove and call in one step.
"""

from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from polysched.library.attention.kernel import attention_form, attention_kernel
    from polysched.library.attention.schedule import attention_schedule
    from polysched.library.convolution.schedule import convolution_schedule
    from polysched.library.gemv import gemv_kernel, gemv_schedule
    from polysched.library.quantized import quantized_gemv_kernel, quantized_gemv_schedule
    from polysched.library.reduce import reduce_kernel, reduce_schedule
    from polysched.library.softmax import softmax_kernel, softmax_schedule

_LAZY = MappingProxyType(
    {
        "attention_form": "attention.kernel",
        "attention_kernel": "attention.kernel",
        "attention_schedule": "attention.schedule",
        "convolution_schedule": "convolution.schedule",
        "gemv_kernel": "gemv",
        "gemv_schedule": "gemv",
        "quantized_gemv_kernel": "quantized",
        "quantized_gemv_schedule": "quantized",
        "reduce_kernel": "reduce",
        "reduce_schedule": "reduce",
        "softmax_kernel": "softmax",
        "softmax_schedule": "softmax",
    }
)
"""Functions by module; a module is imported when one of its functions is used."""

_MODULES = (
    "attention",
    "convolution",
    "gemv",
    "matmul",
    "quantized",
    "reduce",
    "softmax",
    "transpose",
)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"polysched.library.{name}")
    if name not in _LAZY:
        raise AttributeError(f"module 'polysched.library' has no attribute '{name}'")
    return getattr(import_module(f"polysched.library.{_LAZY[name]}"), name)


def __dir__() -> list[str]:
    """List the functions and the modules."""
    return sorted((*_LAZY, *_MODULES))


__all__ = [
    "attention_form",
    "attention_kernel",
    "attention_schedule",
    "convolution_schedule",
    "gemv_kernel",
    "gemv_schedule",
    "quantized_gemv_kernel",
    "quantized_gemv_schedule",
    "reduce_kernel",
    "reduce_schedule",
    "softmax_kernel",
    "softmax_schedule",
]

"""Memory that stands for elements which do not exist."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

_BYTES = 16
"""Size of the largest element."""


def absent_element(module: ir.Module, *, is_stored: bool) -> Any:
    """Return the pointer to zeros, or to memory for stores that have no effect."""
    name = "absent.stored" if is_stored else "absent.read"
    if name not in module.globals:
        type_ = ir.ArrayType(ir.IntType(8), _BYTES)
        variable = ir.GlobalVariable(module, type_, name)
        variable.initializer = ir.Constant(type_, bytearray(_BYTES))
        variable.global_constant = not is_stored
        variable.linkage = "internal"
        variable.align = _BYTES
    return module.globals[name]

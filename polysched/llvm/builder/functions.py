"""Create functions of a module, with the attributes of all emitted code."""

from __future__ import annotations

from llvmlite import ir
from llvmlite.ir.values import FunctionAttributes

from polysched.llvm.builder.function_builder import FunctionBuilder


class _Attributes(FunctionAttributes):  # type: ignore[misc]  # llvmlite is untyped
    """Function attributes; ``no-builtins`` keeps LLVM from calling memcpy for small tiles."""

    _known = FunctionAttributes._known | {'"no-builtins"'}

    def add_effects(self, memory: str) -> None:
        """Declare the function's only effects, accesses of memory such as ``argmem: read``."""
        set.update(self, {f"memory({memory})", "willreturn"})

    def add_pair(self, key: str, value: str) -> None:
        """Add an LLVM attribute with a name and a value."""
        set.add(self, f'"{key}"="{value}"')


def new_function(
    module: ir.Module, name: str, signature: ir.FunctionType, *, internal: bool = False
) -> tuple[ir.Function, ir.IRBuilder]:
    """Create a function, and a builder at the start of its entry block."""
    function = ir.Function(module, signature, name)
    function.attributes = _Attributes()
    function.attributes.add("nounwind")
    function.attributes.add('"no-builtins"')
    if internal:
        function.linkage = "internal"
    return function, FunctionBuilder(function.append_basic_block("entry"))


def compile_for(function: ir.Function, cpu: str, features: str) -> None:
    """Compile a function of `new_function` for another processor than the rest of its module."""
    function.attributes.add_pair("target-cpu", cpu)
    function.attributes.add_pair("target-features", features)

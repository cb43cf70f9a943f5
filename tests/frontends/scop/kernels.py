"""Kernels from C text in tests, and what is seen of them."""

from __future__ import annotations

from polysched.frontends.scop import parse_c
from polysched.ir.core.kernel import Kernel


def kernel(body: str, parameters: str = "int n, int m, double x[restrict n]") -> Kernel:
    """The kernel of a function with a body."""
    return parse_c(f"void f({parameters}) {{ {body} }}", path="a.c").kernel


def domain(kernel: Kernel, statement: str) -> str:
    """The instances of a statement, as isl writes them."""
    return str(kernel.statements[statement].domain.coalesce())


def subscript(text: str, around: str = "for (int i = 0; i < n; i++)") -> str:
    """How the kernel writes the subscript of an access."""
    found = kernel(f"{around} x[{text}] = 0;")
    (statement,) = found.statements.values()
    return str(statement.target.subscripts[0])


def value(text: str, parameters: str = "int n, double x[restrict n]") -> str:
    """How the kernel writes what the only statement computes."""
    found = kernel(f"for (int i = 0; i < n; i++) x[i] = {text};", parameters)
    (statement,) = found.statements.values()
    return str(statement.value)

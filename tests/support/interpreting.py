"""Interpret a loop program once."""

from collections.abc import Mapping
from typing import Any

from polysched.ir.semantics.memory import AnyArray
from polysched.loops.interpret.interpreter import interpreter
from polysched.loops.ir.nodes import LoopProgram


def interpret(
    program: LoopProgram,
    arrays: Mapping[str, AnyArray],
    parameters: Mapping[str, int],
    *observer: Any,
    **order: Any,
) -> dict[str, AnyArray]:
    """Run a program on arrays and parameters, and return the arrays that it writes."""
    return interpreter(program, *observer, **order)(arrays, parameters)

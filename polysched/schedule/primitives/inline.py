"""inline: put the values of a temporary array where they are read (forward substitution)."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Role
from polysched.schedule.core.program import Program, initial_program
from polysched.simplify.forwarding import flows_of, with_inlined


@dataclass(frozen=True)
class Inline:
    """Step record of :func:`inline`, which documents the fields."""

    array: str


def inline(program: Program, step: Inline) -> Program:
    """Inline a temporary array: compute its values where they are read, without the array.

    The statements that write the array disappear. Later steps, and the checker, work on the other
    statements as if they had been declared so. Values that are read several times are computed
    several times. A value keeps the rounding of the type that the array stores.

    Args:
        array (str): a temporary array of the kernel.

    before::

        for i in 0..n + 1:
          t[i] = f(i)
        for i in 0..n:
          y[i] = t[i + 1] - t[i]

    after ``inline("t")``::

        for i in 0..n:
          y[i] = f(i + 1) - f(i)

    Checks:
        - Only ``inline`` and ``simplify`` steps come before, else ``StepError``.
        - The array is a temporary, its subscripts are affine, no subscript reads it, and a
          statement that writes another array reads it, else ``StepError``.
        - All instances of a read see values of one statement, which is not a reduction, at indices
          that are affine in the reader's, else ``StepError``.
        - The operands of the value do not change before the read, else ``StepError``.
        - The new values have at most 1000 nodes and 60 levels, else ``StepError``.
    """
    require_declared(program, "inline")
    array = program.arrays.get(step.array)
    if array is None or array.role is not Role.TEMPORARY:
        raise ScheduleError(f"'{step.array}' is not a temporary array of the kernel")
    readers = [
        statement
        for statement in program.statements.values()
        if statement.target.array != array.name
        and any(read.array == array.name for read in statement.reads)
    ]
    if not readers:
        raise ScheduleError(f"no statement that writes another array reads '{array.name}'")
    return initial_program(with_inlined(flows_of(program.kernel, program.dependences), array.name))


def require_declared(program: Program, step: str) -> None:
    """Check that no step has changed the program's order or its statements."""
    kernel = program.kernel
    if program.tree is not kernel.body or program.statements is not kernel.statements:
        raise ScheduleError(f"{step} changes the declared kernel; expected no other step before it")

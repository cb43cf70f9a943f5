"""simplify: remove temporaries that only pass values on, and writes that nothing reads."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.schedule.core.program import Program, initial_program
from polysched.schedule.primitives.inline import require_declared
from polysched.simplify.simplified import MOST_ROUNDS, simplified


@dataclass(frozen=True)
class Simplify:
    """Step record of :func:`simplify`, which documents the fields."""

    rounds: int = MOST_ROUNDS


def simplify(program: Program, step: Simplify) -> Program:
    """Remove temporaries that only pass values on, and instances whose values nobody reads.

    Like ``inline`` for each temporary that few operations are repeated for. A statement whose
    instances read values of different statements is split first; its parts are named
    ``<statement>_part1`` and so on. Nests that only store literals move to the front. Later steps,
    and the checker, work on the result as if it had been declared so.

    Args:
        rounds (int): of forwarding, 8 by default; each forwards all definitions by one level.

    before::

        for i in 0..n:
          t[i] = 0
        for i in 1..n:
          t[i] = x[i] - x[i - 1]
        for i in 0..n:
          y[i] = t[i]

    after ``simplify()``::

        y[0] = 0
        for i in 1..n:
          y[i] = x[i] - x[i - 1]

    Checks:
        - Only ``inline`` and ``simplify`` steps come before, else ``StepError``.
        - ``rounds`` is positive, else ``StepError``.
    """
    if step.rounds < 1:
        raise ScheduleError(f"rounds={step.rounds}; expected a positive integer")
    require_declared(program, "simplify")
    kernel = simplified(program.kernel, program.dependences, step.rounds)
    return program if kernel is program.kernel else initial_program(kernel)

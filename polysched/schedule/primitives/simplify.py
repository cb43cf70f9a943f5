"""simplify: remove temporaries that only pass values on, and writes that nothing reads."""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.schedule.core.program import Program, initial_program
from polysched.schedule.primitives.inline import require_declared
from polysched.simplify.simplified import MOST_ROUNDS, simplified
from polysched.simplify.tails import with_tails


@dataclass(frozen=True)
class Simplify:
    """Step record of :func:`simplify`, which documents the fields."""

    rounds: int = MOST_ROUNDS
    tails: int = 0


def simplify(program: Program, step: Simplify) -> Program:
    """Remove temporaries that only pass values on, and instances whose values nobody reads.

    Like ``inline`` for each temporary that few operations are repeated for. A statement whose
    instances read values of different statements is split first; its parts are named
    ``<statement>_part1`` and so on. Nests that only store literals move to the front. Later steps,
    and the checker, work on the result as if it had been declared so.

    Args:
        rounds (int): of forwarding, 8 by default; each forwards all definitions by one level.
        tails (int): if it is positive, sums in any order that read what a later statement of the
            same loop stores are split: into a multiple of ``tails`` terms, which fills vectors,
            and the rest, ``<statement>_part1``. Vectors do not wait for stored elements then.

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
        - ``rounds`` is positive, and ``tails`` is not negative, else ``StepError``.
    """
    if step.rounds < 1:
        raise ScheduleError(f"rounds={step.rounds}; expected a positive integer")
    if step.tails < 0:
        raise ScheduleError(f"tails={step.tails}; expected 0 or a positive integer")
    require_declared(program, "simplify")
    kernel = simplified(program.kernel, program.dependences, step.rounds)
    if step.tails:
        kernel = with_tails(kernel, step.tails)
    return program if kernel is program.kernel else initial_program(kernel)

"""Conditions on the sizes that a translation relies on, each with its reason.

The program that is compiled checks the conditions at each call, and runs as written where they
fail.
"""

from __future__ import annotations

from dataclasses import dataclass

import islpy as isl

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.conditions import condition_text
from polysched.ir.expr.expressions import Expression
from polysched.ir.expr.source import SourceLocation

MOST_CONSTRAINTS = 4
"""Largest number of constraints in an assumed condition: a longer one is no help to its reader."""


@dataclass(frozen=True)
class Assumption:
    """Condition on the sizes that an access or an operation implies.

    Attributes:
        condition: the condition on the sizes.
        sizes: the values of the sizes that satisfy it.
        otherwise: what happens for other sizes, as in ``x[n] is outside x``.
    """

    condition: Expression
    sizes: isl.Set
    otherwise: str
    location: SourceLocation

    @property
    def text(self) -> str:
        """The condition in C."""
        return condition_text(self.sizes)

    def __str__(self) -> str:
        return f"assumed: {self.text}, for otherwise {self.otherwise}, line {self.location.line}"

    def as_error(self) -> FrontendError:
        """Build the error of ``--strict-bounds``."""
        return FrontendError(
            f"{self.location}: {self.otherwise} unless {self.text}; add '#pragma polysched assume "
            f"{self.text}', or leave out --strict-bounds"
        )


def is_simple(condition: isl.Set) -> bool:
    """Whether a condition is one conjunction of a few comparisons."""
    basic = condition.get_basic_sets()
    return len(basic) == 1 and len(basic[0].get_constraints()) <= MOST_CONSTRAINTS

"""Sources of array elements: where a value came from, as a number that is equal for equal sources.

A *source* is the statement instance that wrote the element, the caller (its initial contents), or,
for a reduction whose order is free, the set of contributions on top of the earlier source.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Number
from polysched.ir.expr.neutral import neutral_element
from polysched.ir.expr.operators import Operator

Instance: TypeAlias = tuple[int, ...]
SourceNumbers: TypeAlias = NDArray[np.int64]


@dataclass(frozen=True)
class Undefined:
    """The element has not been written."""


@dataclass(frozen=True)
class Initial:
    """The caller's contents of an element."""

    array: str
    element: Instance


@dataclass(frozen=True)
class Written:
    """The value written by a statement instance."""

    statement: str
    instance: Instance


@dataclass(frozen=True)
class Literal:
    """A literal written by a statement that the kernel does not declare."""

    value: Number


@dataclass(frozen=True)
class Accumulated:
    """A set of contributions of a reduction whose order is free.

    ``base`` is the number of the earlier source; None for the neutral element, as in a partial sum.
    """

    base: int | None
    statement: str
    contributions: frozenset[Instance]


Source: TypeAlias = Undefined | Initial | Written | Literal | Accumulated

UNDEFINED = 0
"""The number of :class:`Undefined`."""


@dataclass
class Sources:
    """Numbers of sources; an unknown source gets the next number."""

    known: list[Source] = field(default_factory=lambda: [Undefined()])
    numbers: dict[Source, int] = field(default_factory=lambda: {Undefined(): UNDEFINED})

    def number(self, source: Source) -> int:
        """The number of a source."""
        number = self.numbers.setdefault(source, len(self.known))
        if number == len(self.known):
            self.known.append(source)
        return number

    def initial(self, array: str, shape: tuple[int, ...]) -> SourceNumbers:
        """The numbers of an array's initial contents."""
        elements = [self.number(Initial(array, element)) for element in np.ndindex(shape)]
        return np.array(elements, np.int64).reshape(shape)

    def text(self, number: int) -> str:
        """A source as text."""
        match self.known[number]:
            case Undefined():
                return "undefined contents"
            case Initial(array=array, element=element):
                return f"the caller's {bracketed(array, element)}"
            case Written(statement=statement, instance=instance):
                return bracketed(statement, instance)
            case Literal(value=value):
                return f"literal {value}"
            case Accumulated(base=base, statement=statement, contributions=contributions):
                below = "nothing" if base is None else self.text(base)
                return f"{_listed(statement, contributions)} on {below}"

    def difference(self, first: int, second: int) -> tuple[str, str]:
        """Two sources as text; of two sets of contributions only the difference is listed."""
        match self.known[first], self.known[second]:
            case (
                Accumulated(base=base, statement=statement, contributions=these),
                Accumulated(base=its_base, statement=its_statement, contributions=those),
            ) if (base, statement) == (its_base, its_statement):
                parts = (
                    f"without {_listed(statement, these - those)}" if these - those else "",
                    f"with {_listed(statement, those - these)} as well" if those - these else "",
                )
                return self.text(first), f"the same {' and '.join(filter(None, parts))}"
        return self.text(first), self.text(second)

    def accumulated(
        self, own: int, statement: str, added: frozenset[Instance], operator: Operator, dtype: DType
    ) -> int | None:
        """The source after contributions to an element; None if a contribution is repeated.

        Args:
            own: the number of the element's source before.
        """
        match self.known[own]:
            case Accumulated(base=base, statement=earlier, contributions=there) if (
                earlier == statement
            ):
                if there & added:
                    return None
                return self.number(Accumulated(base, statement, there | added))
            case Literal(value=value) if is_neutral(operator, value, dtype):
                return self.number(Accumulated(None, statement, added))
            case _:
                return self.number(Accumulated(own, statement, added))


def is_neutral(operator: Operator, value: Number, dtype: DType) -> bool:
    """Whether ``value`` is a neutral operand of ``operator``.

    A positive zero counts as neutral for a sum: it changes a negative zero only.
    """
    match operator:
        case Operator.ADD:
            return value == 0
        case Operator.MULTIPLY:
            return value == 1
        case Operator.MINIMUM | Operator.PSEUDO_MINIMUM:
            return value == _bound(dtype, largest=True)
        case Operator.MAXIMUM | Operator.PSEUDO_MAXIMUM:
            return value == _bound(dtype, largest=False)
        case Operator.BIT_AND | Operator.BIT_OR | Operator.BIT_XOR:
            return value == neutral_element(operator, dtype).value
        case _:
            return False


def _bound(dtype: DType, *, largest: bool) -> Number:
    if dtype.is_float:
        return np.inf if largest else -np.inf
    if not dtype.is_signed:
        return (1 << dtype.bits) - 1 if largest else 0
    half = 1 << (dtype.bits - 1)
    return half - 1 if largest else -half


def bracketed(name: str, numbers: Instance) -> str:
    """``name[1, 2]``."""
    return f"{name}[{', '.join(map(str, numbers))}]"


_LISTED = 6
"""How many contributions a text lists."""


def _listed(statement: str, instances: frozenset[Instance]) -> str:
    texts = [bracketed(statement, instance) for instance in sorted(instances)[:_LISTED]]
    if len(instances) > _LISTED:
        texts.append(f"... {len(instances)} in all")
    return f"{{{', '.join(texts)}}}"

"""Stores of single elements, the statements of which all others consist."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import reduce
from itertools import count
from operator import and_

from polysched.errors import KernelError
from polysched.frontends.limits import MOST_STATEMENTS, TOO_MANY_STATEMENTS
from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.arrays.masks import MaskedStores
from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.scope.array_values import Subscripts
from polysched.frontends.python.scope.bindings import (
    UndefinedLearnedError,
    WrittenLearnedError,
)
from polysched.frontends.python.statements.guarded_values import guarded
from polysched.frontends.python.values.value import Value, stored
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.expr.expressions import Expression


@dataclass(frozen=True)
class ElementStores:
    """Translator of the stores of one function.

    Attributes:
        stored: counts the statements.
        changed: the arrays that statements have stored to, so far.
    """

    reader: Reader
    stored: Iterator[int] = field(default_factory=count)
    changed: set[str] = field(default_factory=set)

    @property
    def arrays(self) -> ArrayStores:
        """Translator of stores of whole arrays."""
        return ArrayStores(self.reader, self.put)

    @property
    def masked(self) -> MaskedStores:
        """Translator of stores to the elements that a mask selects."""
        return MaskedStores(self.reader, self.arrays)

    def put(
        self,
        node: ast.AST,
        array: ArrayHandle,
        subscripts: Subscripts,
        value: Value,
        *,
        is_new: bool = False,
    ) -> None:
        """Declare one statement; in a branch that is not taken, the element keeps its value.

        Raises:
            WrittenLearnedError: the array is declared as an input.
            UndefinedLearnedError: the element has no value that it could keep.
        """
        if next(self.stored) == MOST_STATEMENTS:
            raise self.reader.source.error(node, TOO_MANY_STATEMENTS)
        build, guards, declared = self.reader.build, self.reader.scope.guards, array.array
        if declared.role is Role.INPUT and declared.shape and declared.values is None:
            raise WrittenLearnedError(declared.name)
        if self.reader.scope.is_constant(declared.name):
            raise self.reader.source.error(
                node,
                f"'{declared.name}' is an array outside of the function, which a kernel cannot "
                "change; pass it as an argument",
            )
        if guards and not is_new and declared.name in self.reader.scope.undefined:
            raise UndefinedLearnedError(declared.name)
        self.changed.add(declared.name)
        if self.reader.scope.index_arrays is not None and not build.is_reached():
            return  # no call of this kind comes here: an extent of 1 has no elements inside
        with build.located(self.reader.source.span(node).location):
            try:
                expression: Expression = stored(value, declared.dtype)
                if guards and not is_new:
                    condition = Value(reduce(and_, (guard.expression for guard in guards)))
                    expression = guarded(condition, expression, array[subscripts])
                array[subscripts] = expression
            except KernelError as error:
                raise self.reader.source.error(node, str(error)) from None

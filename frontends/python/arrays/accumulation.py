"""Loops that accumulate the elements of arrays.

The order of numpy's float sums is not specified (it depends on the layout and on the processor), so
these reductions may be reassociated, whatever the order policy of the kernel: the last bits may
differ from numpy's. Loops that the program writes keep its order.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass

from polysched.frontends.python.arrays.array_stores import ArrayStores
from polysched.frontends.python.scope.array_values import ArrayValue, Operand, Subscripts, cast_to
from polysched.frontends.python.values.value import Value
from polysched.ir.core.kernel import Order
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression, operation
from polysched.ir.expr.operators import Operator

Term = Callable[[Subscripts, Subscripts], Expression]
"""The element that is accumulated, from the indices that are kept and those that are reduced."""


@dataclass(frozen=True)
class Accumulation:
    """Translator of accumulations at one place of a function.

    Attributes:
        labeled: the statements with an order policy of their own.
        hint: a name for the array of results.
    """

    stores: ArrayStores
    labeled: set[str]
    hint: str = "total"

    def accumulate(
        self,
        node: ast.AST,
        shapes: tuple[Subscripts, Subscripts],
        dtype: DType,
        operator: Operator,
        start: Expression | Callable[[Subscripts], Expression],
        term: Term,
    ) -> Operand:
        """``start op term op term ...`` for each element of the result; half types in f32.

        Args:
            shapes: the extents that are kept, and those that are reduced.
            start: the first value, or a function of the kept indices.
        """
        kept, reduced = shapes
        stores, build = self.stores, self.stores.reader.build
        # A number is not stored in the variable, which has memory of its own.
        result = stores.new(node, self.hint if kept else "total", dtype.arithmetic, kept)
        assert result.base is not None
        name = result.base.array.name
        with stores.loops(kept, name) as outer:
            first = start(outer) if callable(start) else start
            stores.put_element(node, result, outer, Value(first), is_new=True)
        with stores.loops(kept, name) as outer, stores.loops(reduced, f"{name}_of") as inner:
            value = Value(operation(operator, result.at(outer).expression, term(outer, inner)))
            if operator in (Operator.AND, Operator.OR):
                stores.put_element(node, result, outer, value, is_new=True)
            elif build.is_reached():  # a labeled statement must hold an assignment
                label = f"{name}_sum"
                self.labeled.add(label)
                with build.statement(label, order=Order.ANY):
                    stores.put_element(node, result, outer, value, is_new=True)
        total = result if kept else result.at(())
        return self.stored(node, cast_to(build, total, dtype), "half") if dtype.is_half else total

    def stored(self, node: ast.AST, value: Operand, hint: str) -> Operand:
        """A result that is computed once and stored."""
        if isinstance(value, ArrayValue):
            return self.stores.temporary(node, value, hint)
        handle = self.stores.declare(node, hint, value.dtype, ())
        self.stores.put(node, handle, (), value, is_new=True)
        return Value(handle[()])

"""Declaration of statements: names, targets, values, domains and order policies."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from types import MappingProxyType

import islpy as isl

from polysched.errors import EmptyDomainError, KernelError
from polysched.ir.core.data_dependent import as_subscript
from polysched.ir.core.kernel import Access, Array, Order, Role, Statement
from polysched.ir.core.limits import limited
from polysched.ir.declare.declarations import as_reduction, bounded, require_identifier
from polysched.ir.declare.nest import Nest
from polysched.ir.declare.symbols import Symbols
from polysched.ir.expr.expressions import Expression, Index, Operand, as_expression
from polysched.ir.expr.functions import to_store
from polysched.ir.expr.source import SourceLocation
from polysched.ir.expr.traversal import loads, walk


class Statements:
    """The statements declared so far of one kernel; each is also added to the open loop nest.

    Args:
        nest: the open loops and conditions, to which statements are added.
    """

    def __init__(self, symbols: Symbols, nest: Nest) -> None:
        self._symbols = symbols
        self._nest = nest
        self._declared: dict[str, Statement] = {}
        self._label: tuple[str, Order | None] | None = None
        self._degenerate: set[str] = set()

    def __bool__(self) -> bool:
        return bool(self._declared)

    def here(self) -> SourceLocation | None:
        """The source location of the current declaration."""
        return self._symbols.here()

    def written(self) -> frozenset[str]:
        """The arrays that a statement writes."""
        return frozenset(statement.target.array for statement in self._declared.values())

    def spaces(self) -> dict[str, isl.Space]:
        """The instance space of each statement."""
        return {name: statement.domain.get_space() for name, statement in self._declared.items()}

    def final(self, context: isl.Set) -> Mapping[str, Statement]:
        """Restrict the domains of all statements to the final context.

        Raises:
            EmptyDomainError: a statement has no instance for any parameter values. No error is
                raised if the bounds without parameters already leave no instance, such as for the
                interior of an image that is one pixel wide.
        """
        return MappingProxyType(
            {name: self._final(statement, context) for name, statement in self._declared.items()}
        )

    def _final(self, statement: Statement, context: isl.Set) -> Statement:
        domain = statement.domain.intersect_params(context)
        if domain.is_empty() and statement.name not in self._degenerate:
            where = "" if statement.location is None else f" ({statement.location})"
            raise EmptyDomainError(
                f"statement '{statement.name}' never runs: the bounds and conditions around it "
                "contradict each other for all parameter values; change them, or remove the "
                f"statement{where}"
            )
        return replace(statement, domain=domain)

    @contextmanager
    def labeled(self, name: str, order: Order | str | None) -> Iterator[None]:
        """Set the name and the order policy of the statement added in the block.

        Raises:
            KernelError: the policy is unknown, the name is taken, labels are nested, or the block
                does not add exactly one statement.
        """
        try:
            policy = None if order is None else Order(order)
        except ValueError:
            raise KernelError(
                f"unknown order policy {order!r} of statement '{name}'; expected 'exact' or 'any'"
            ) from None
        require_identifier(name, "statement")
        if self._label is not None:
            raise KernelError(f"statement '{name}' is opened inside statement '{self._label[0]}'")
        if name in self._declared:
            raise KernelError(
                f"a statement is named '{name}' already; names are unique in a kernel"
            )
        self._label = (name, policy)
        try:
            yield
            if name not in self._declared:
                raise KernelError(f"statement '{name}' holds no assignment")
        finally:
            self._label = None

    def _next_label(self, array: Array) -> tuple[str, Order | None]:
        if self._label is None:
            name, number = array.name, 1
            while name in self._declared:
                number += 1
                name = f"{array.name}_{number}"
            return name, None
        if self._label[0] in self._declared:
            raise KernelError(f"statement '{self._label[0]}' holds more than one assignment")
        return self._label

    def subscripts(
        self, array: Array, subscripts: Operand | tuple[Operand, ...]
    ) -> tuple[Expression, ...]:
        """Convert and check the subscripts of an array element in the open nest.

        Raises:
            KernelError: there is not one subscript for each dimension, or a subscript is not
                quasi-affine in the open indices, the parameters and elements of inputs.
        """
        operands = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(operands) != len(array.shape):
            raise KernelError(
                f"array '{array.name}' has {len(array.shape)} dimensions "
                f"({', '.join(array.dimensions)}); it is subscripted with {len(operands)}"
            )
        expressions = tuple(bounded(as_expression(operand)) for operand in operands)
        space = self._symbols.space("", self._nest.indices)
        try:
            for load in (load for expression in expressions for load in loads(expression)):
                self._symbols.require_index_array(load)
            with limited(KernelError, "it is too complex"):
                return tuple(as_subscript(expression, space) for expression in expressions)
        except KernelError as error:
            location = self.here()
            where = "" if location is None else f" ({location})"
            raise KernelError(f"subscript of array '{array.name}': {error}{where}") from None

    def add(self, array: Array, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        """Add the statement ``array[subscripts] = value`` to the open nest."""
        if array.role is Role.INPUT:
            raise KernelError(f"array '{array.name}' is an input; declare it inout to write to it")
        location = self.here()
        name, order = self._next_label(array)
        target = Access(array.name, self.subscripts(array, subscripts), location)
        expression = to_store(bounded(as_expression(value)), array.dtype)
        self._require_own(name, expression)
        if expression.dtype != array.dtype:
            raise KernelError(
                f"statement '{name}' stores {expression.dtype} into array '{array.name}' of "
                f"{array.dtype}; convert with cast(value, {array.dtype})"
            )
        expression, reduction = as_reduction(target, expression, order)
        if reduction is None and order is Order.ANY:
            raise KernelError(
                f"statement '{name}' is not a reduction: order='any' needs the form "
                f"{target} = {target} op e with op one of + - * min max & | ^, where e does not "
                f"read '{target.array}'"
            )
        indices = self._nest.indices
        with limited(KernelError, f"the domain of statement '{name}' is too complex"):
            domain = self._domain(name, indices)
            if domain.is_empty() and self._domain(name, indices, literal=True).is_empty():
                self._degenerate.add(name)
        self._declared[name] = Statement(
            name, indices, domain, target, expression, reduction, location
        )
        self._nest.add(name)

    def _require_own(self, name: str, value: Expression) -> None:
        """Check that a value uses only open indices and this kernel's parameters and arrays."""
        indices = self._nest.indices
        for node in walk(value):
            if isinstance(node, Index) and node.name not in indices:
                raise KernelError(
                    f"index '{node.name}' is used in statement '{name}' outside its loop"
                )
            self._symbols.require_declared(name, node)

    def _domain(self, name: str, indices: tuple[str, ...], *, literal: bool = False) -> isl.Set:
        points = self._nest.instances(self._symbols.space(name, indices), literal=literal)
        return points.intersect_params(self._symbols.context()).coalesce()

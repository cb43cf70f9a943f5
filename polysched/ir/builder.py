"""Declaring kernels in Python so that they read like the loops they mean.

::

    build = KernelBuilder("scale")
    n = build.parameter("n", minimum=1)
    x = build.input("x", f32, (n,))
    y = build.output("y", f32, (n,))
    with build.loops(i=n) as i:
        y[i] = 2 * x[i]
    kernel = build.kernel()
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

import islpy as isl

from polysched.errors import EmptyDomainError, KernelError
from polysched.ir.affine import instance_space, to_pw_aff, to_set
from polysched.ir.data_dependent import as_subscript, as_values
from polysched.ir.declarations import (
    Bound,
    as_condition,
    as_extent,
    as_reduction,
    bounded,
    dimension_names,
    loop_bounds,
    require_identifier,
    require_limit,
)
from polysched.ir.dtypes import DType, as_dtype
from polysched.ir.expressions import (
    Expression,
    Index,
    Load,
    Operand,
    Parameter,
    as_expression,
    typed,
)
from polysched.ir.kernel import (
    Access,
    Array,
    Kernel,
    Order,
    Role,
    Statement,
)
from polysched.ir.limits import DEEPEST_NEST, limited
from polysched.ir.source import caller_location
from polysched.ir.traversal import loads, walk
from polysched.ir.tree import Leaf, Loop, Node, sequence


@dataclass(frozen=True)
class ArrayHandle:
    """An array in a declaration: ``a[i, j]`` reads, ``a[i, j] = e`` declares a statement."""

    array: Array
    builder: KernelBuilder = field(repr=False)

    def __getitem__(self, subscripts: Operand | tuple[Operand, ...]) -> Load:
        return Load(
            self.array.name,
            self.builder._subscripts(self.array, subscripts),
            self.array.dtype,
            caller_location(),
            self.array.values,
        )

    def __iter__(self) -> Iterator[Load]:
        # Without this Python would iterate over a[0], a[1], ... without end.
        raise KernelError(
            f"array '{self.array.name}' cannot be iterated over; subscript it inside loops(...)"
        )

    def __setitem__(self, subscripts: Operand | tuple[Operand, ...], value: Operand) -> None:
        self.builder._add_statement(self.array, subscripts, value)


@dataclass
class _OpenLoop:
    """A loop whose body is being declared."""

    index: str
    lower: Expression
    upper: Expression
    step: int
    children: list[Any] = field(default_factory=list)


@dataclass
class _Condition:
    condition: Expression


class KernelBuilder:
    """Collects the declaration of one kernel; :meth:`kernel` returns it as a frozen value.

    Args:
        name: the kernel's name, an identifier; it becomes the symbol of the compiled function.
    """

    def __init__(self, name: str) -> None:
        require_identifier(name, "kernel")
        self.name = name
        self._location = caller_location()
        self._parameters: list[str] = []
        self._assumptions: list[Expression] = []
        self._arrays: dict[str, Array] = {}
        self._statements: dict[str, Statement] = {}
        self._indices: set[str] = set()
        self._top: list[Any] = []
        self._open: list[_OpenLoop | _Condition] = []
        self._label: tuple[str, Order] | None = None
        self._degenerate: set[str] = set()

    def parameter(
        self, name: str, *, minimum: int | None = 0, maximum: int | None = None
    ) -> Parameter:
        """A size known only at the call: an i64 between ``minimum`` and ``maximum`` (None: no
        limit).
        """
        self._claim(name, "parameter")
        if name in self._indices:
            raise KernelError(f"parameter '{name}': a loop of kernel '{self.name}' has that name")
        self._parameters.append(name)
        parameter = Parameter(name)
        for what, limit in (("minimum", minimum), ("maximum", maximum)):
            require_limit(name, what, limit)
        if minimum is not None:
            self._assumptions.append(parameter >= minimum)
        if maximum is not None:
            self._assumptions.append(parameter <= maximum)
        return parameter

    def assume(self, condition: Expression) -> None:
        """Promise an affine condition over the parameters; every call checks it.

        Raises:
            KernelError: the condition is not affine, or not over the parameters alone.
        """
        checked = as_condition("assume", condition)
        with limited(KernelError, "the condition of assume(...) is too intricate"):
            to_set(checked, instance_space(self._parameters, "", []))
        self._assumptions.append(condition)

    def input(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        *,
        dimensions: str | None = None,
        values: tuple[Operand, Operand] | None = None,
    ) -> ArrayHandle:
        """An array that the kernel only reads. ``dimensions`` names them, e.g. ``"rx rz ry c"``.

        ``values=(lower, upper)`` says that every element v of an integer array has
        ``lower <= v < upper``, affine in the parameters. Every call checks it. Elements of such an
        array may stand in subscripts, as in ``x[idx[i] + 1]``.
        """
        return self._declare(name, dtype, shape, Role.INPUT, dimensions, values)

    def output(
        self, name: str, dtype: DType | str, shape: Any, *, dimensions: str | None = None
    ) -> ArrayHandle:
        """An array whose elements the kernel defines; what it held before is never read."""
        return self._declare(name, dtype, shape, Role.OUTPUT, dimensions)

    def inout(
        self, name: str, dtype: DType | str, shape: Any, *, dimensions: str | None = None
    ) -> ArrayHandle:
        """An array that the kernel reads and updates in place."""
        return self._declare(name, dtype, shape, Role.INOUT, dimensions)

    def temporary(
        self, name: str, dtype: DType | str, shape: Any, *, dimensions: str | None = None
    ) -> ArrayHandle:
        """An array of the kernel's own, undefined at the start and gone at the end."""
        return self._declare(name, dtype, shape, Role.TEMPORARY, dimensions)

    @contextmanager
    def loops(self, **bounds: Bound) -> Iterator[Any]:
        """Open a nest of loops, the first outermost: ``loops(i=n, j=(i0, i1))``.

        A bound is an extent (from 0), a pair ``(lower, upper)`` (the upper end excluded) or a
        triple with a positive literal step. It may use parameters and the indices of loops around
        (a name given earlier in the same call can be used as ``Index("name")``).

        Yields:
            the index, or a tuple of indices if there are several.
        """
        if not bounds:
            raise KernelError("loops() needs at least one index, e.g. loops(i=n)")
        depth = len(self._open)
        try:
            for name, bound in bounds.items():
                self._open_loop(name, bound)
            indices = tuple(Index(name) for name in bounds)
            yield indices[0] if len(indices) == 1 else indices
        finally:
            del self._open[depth:]

    @contextmanager
    def where(self, condition: Expression) -> Iterator[None]:
        """Restrict the statements inside to the instances at which an affine condition holds.

        Raises:
            KernelError: the condition is not affine.
        """
        checked = as_condition("where", condition)
        with limited(KernelError, "the condition of where(...) is too intricate"):
            to_set(checked, instance_space(self._parameters, "", self._scope()))
        self._open.append(_Condition(condition))
        try:
            yield
        finally:
            self._open.pop()

    @contextmanager
    def statement(self, name: str, *, order: Order | str = Order.EXACT) -> Iterator[None]:
        """Name the one statement declared inside and, for a reduction, set its order policy.

        ``order="any"`` allows reassociation of ``x = x op e``; the default ``"exact"`` keeps the
        order.
        """
        try:
            policy = Order(order)
        except ValueError:
            raise KernelError(
                f"unknown order policy {order!r} of statement '{name}'; expected 'exact' or 'any'"
            ) from None
        require_identifier(name, "statement")
        if self._label is not None:
            raise KernelError(f"statement '{name}' is opened inside statement '{self._label[0]}'")
        if name in self._statements:
            raise KernelError(
                f"a statement is named '{name}' already; names are unique in a kernel"
            )
        self._label = (name, policy)
        try:
            yield
            if name not in self._statements:
                raise KernelError(f"statement '{name}' holds no assignment")
        finally:
            self._label = None

    def kernel(self) -> Kernel:
        """The kernel declared so far.

        Raises:
            KernelError: no statement, an output that no statement writes, a contradictory context.
        """
        if not self._statements:
            raise KernelError(f"kernel '{self.name}' has no statements")
        if self._open:
            raise KernelError(f"kernel '{self.name}' is asked for inside a loop that is still open")
        written = {statement.target.array for statement in self._statements.values()}
        for array in self._arrays.values():
            if array.role is Role.OUTPUT and array.name not in written:
                raise KernelError(
                    f"no statement of kernel '{self.name}' writes output '{array.name}'; assign "
                    "its elements, or leave it out"
                )
        with limited(KernelError, f"kernel '{self.name}' cannot be declared"):
            context = self._context()
            return Kernel(
                name=self.name,
                parameters=tuple(self._parameters),
                context=context,
                arrays=MappingProxyType(dict(self._arrays)),
                statements=MappingProxyType(
                    {
                        name: self._final_statement(statement, context)
                        for name, statement in self._statements.items()
                    }
                ),
                body=sequence([self._closed(child) for child in self._top]),
                location=self._location,
            )

    # -- what the handles and contexts call ------------------------------------------------------

    def _claim(self, name: str, what: str) -> None:
        require_identifier(name, what)
        if name in self._parameters or name in self._arrays:
            raise KernelError(f"{what} '{name}': the name is taken already in kernel '{self.name}'")

    def _final_statement(self, statement: Statement, context: isl.Set) -> Statement:
        """The statement in a context; parameters and assumptions may have come after it.

        Raises:
            EmptyDomainError: it has no instance, whatever the parameters are. It may have none
                where the numbers alone say so: the inside of an image that is one pixel wide.
        """
        domain = statement.domain.intersect_params(context)
        if domain.is_empty() and statement.name not in self._degenerate:
            where = "" if statement.location is None else f" ({statement.location})"
            raise EmptyDomainError(
                f"statement '{statement.name}' never runs: the bounds and conditions around it "
                "leave it no instance, whatever the parameters are; mend these, or leave it "
                f"out{where}"
            )
        return replace(statement, domain=domain)

    def _context(self) -> isl.Set:
        space = isl.Space.create_from_names(
            isl.DEFAULT_CONTEXT, set=[], params=list(self._parameters)
        )
        context = isl.Set.universe(space)
        for assumption in self._assumptions:
            context = context.intersect(to_set(assumption, space))
        context = context.params()
        if context.is_empty():
            raise KernelError(
                f"the assumptions about the parameters of kernel '{self.name}' contradict each "
                f"other: no values satisfy {' and '.join(map(str, self._assumptions))}"
            )
        return context

    def _declare(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        role: Role,
        dimensions: str | None,
        values: tuple[Operand, Operand] | None = None,
    ) -> ArrayHandle:
        self._claim(name, "array")
        given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        space = instance_space(self._parameters, "", [])
        try:
            with limited(KernelError, "it is too intricate"):
                extents = tuple(as_extent(extent, space) for extent in given)
        except KernelError as error:
            raise KernelError(f"shape of array '{name}': {error}") from None
        names = dimension_names(name, dimensions, len(extents))
        element_type = as_dtype(dtype)
        array = Array(
            name,
            element_type,
            extents,
            role,
            names,
            location=caller_location(),
            values=None if values is None else as_values(name, element_type, values, space),
        )
        self._arrays[name] = array
        return ArrayHandle(array, self)

    def _scope(self) -> list[str]:
        return [entry.index for entry in self._open if isinstance(entry, _OpenLoop)]

    def _open_loop(self, name: str, bound: Bound) -> _OpenLoop:
        require_identifier(name, "index")
        if name in self._scope() or name in self._parameters or name in self._arrays:
            raise KernelError(f"index '{name}': the name is in use already around this loop")
        if len(self._scope()) >= DEEPEST_NEST:
            raise KernelError(f"loop '{name}' is inside {DEEPEST_NEST} others; expected fewer")
        lower, upper, step = loop_bounds(name, bound)
        space = instance_space(self._parameters, "", self._scope())
        for end in (lower, upper):
            try:
                with limited(KernelError, "it is too intricate"):
                    to_pw_aff(bounded(end), space)
            except KernelError as error:
                raise KernelError(f"bound of loop '{name}': {error}") from None
        loop = _OpenLoop(name, lower, upper, step)
        self._children().append(loop)
        self._open.append(loop)
        self._indices.add(name)
        return loop

    def _children(self) -> list[Any]:
        for entry in reversed(self._open):
            if isinstance(entry, _OpenLoop):
                return entry.children
        return self._top

    def _subscripts(
        self, array: Array, subscripts: Operand | tuple[Operand, ...]
    ) -> tuple[Expression, ...]:
        given = subscripts if isinstance(subscripts, tuple) else (subscripts,)
        if len(given) != len(array.shape):
            raise KernelError(
                f"array '{array.name}' has {len(array.shape)} dimensions "
                f"({', '.join(array.dimensions)}); it is subscripted with {len(given)}"
            )
        expressions = tuple(bounded(as_expression(subscript)) for subscript in given)
        space = instance_space(self._parameters, "", self._scope())
        try:
            for load in (load for expression in expressions for load in loads(expression)):
                self._require_index_array(load)
            with limited(KernelError, "it is too intricate"):
                return tuple(as_subscript(expression, space) for expression in expressions)
        except KernelError as error:
            location = caller_location()
            where = "" if location is None else f" ({location})"
            raise KernelError(f"subscript of array '{array.name}': {error}{where}") from None

    def _require_index_array(self, load: Load) -> None:
        """Check that the array of a load in a subscript is an input of this kernel."""
        array = self._arrays.get(load.array)
        if array is None:
            raise KernelError(f"'{load}' reads an array that kernel '{self.name}' does not declare")
        if array.role is not Role.INPUT:
            raise KernelError(
                f"'{load}' reads {array.role.value} '{array.name}', which the kernel writes, so "
                "nothing is known of its values; expected elements of an input, declared with "
                "values=(lower, upper)"
            )

    def _add_statement(
        self, array: Array, subscripts: Operand | tuple[Operand, ...], value: Operand
    ) -> None:
        if array.role is Role.INPUT:
            raise KernelError(f"array '{array.name}' is an input; declare it inout to write to it")
        location = caller_location()
        name, order = self._next_label(array)
        target = Access(array.name, self._subscripts(array, subscripts), location)
        expression = typed(bounded(as_expression(value)), array.dtype)
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
                f"{target} = {target} op e with op one of + * min max"
            )
        indices = tuple(self._scope())
        with limited(KernelError, f"the instances of statement '{name}' are too intricate"):
            domain = self._domain(name, indices)
            if domain.is_empty() and self._domain(name, indices, literal=True).is_empty():
                self._degenerate.add(name)
        statement = Statement(name, indices, domain, target, expression, reduction, location)
        self._statements[name] = statement
        self._children().append(name)

    def _require_own(self, name: str, value: Expression) -> None:
        """Check that a statement uses only indices around it and what this kernel declares."""
        indices = self._scope()
        for node in walk(value):
            if isinstance(node, Index) and node.name not in indices:
                raise KernelError(
                    f"index '{node.name}' is used in statement '{name}' outside its loop"
                )
            if isinstance(node, Parameter) and node.name not in self._parameters:
                raise KernelError(
                    f"statement '{name}' uses parameter '{node.name}', which kernel '{self.name}' "
                    "does not declare"
                )
            if isinstance(node, Load) and node.array not in self._arrays:
                raise KernelError(
                    f"statement '{name}' reads array '{node.array}', which kernel '{self.name}' "
                    "does not declare"
                )

    def _next_label(self, array: Array) -> tuple[str, Order]:
        if self._label is None:
            name, number = array.name, 1
            while name in self._statements:
                number += 1
                name = f"{array.name}_{number}"
            return name, Order.EXACT
        if self._label[0] in self._statements:
            raise KernelError(f"statement '{self._label[0]}' holds more than one assignment")
        return self._label

    def _domain(self, name: str, indices: tuple[str, ...], *, literal: bool = False) -> isl.Set:
        """The instances of a statement; if ``literal``, leaving out what names a parameter."""
        space = instance_space(self._parameters, name, indices)
        domain = isl.Set.universe(space)
        for entry in self._open:
            if not (literal and _names_parameter(entry)):
                domain = domain.intersect(_instances(entry, space))
        return domain.intersect_params(self._context()).coalesce()

    def _closed(self, child: Any) -> Node:
        if isinstance(child, str):
            return Leaf(child)
        body = sequence([self._closed(inner) for inner in child.children])
        values = {
            name: to_pw_aff(Index(child.index), self._statements[name].domain.get_space())
            for name in _names(child)
        }
        return Loop(child.index, MappingProxyType(values), body)


def _names(child: Any) -> Iterator[str]:
    if isinstance(child, str):
        yield child
    else:
        for inner in child.children:
            yield from _names(inner)


def _instances(entry: _OpenLoop | _Condition, space: isl.Space) -> isl.Set:
    """The points of a space that one loop or condition leaves."""
    if isinstance(entry, _Condition):
        return to_set(entry.condition, space)
    index = Index(entry.index)
    found = to_set(entry.lower <= index, space).intersect(to_set(index < entry.upper, space))
    if entry.step == 1:
        return found
    offset = to_pw_aff(index - entry.lower, space).mod_val(isl.Val(entry.step))
    return found.intersect(offset.zero_set())


def _names_parameter(entry: _OpenLoop | _Condition) -> bool:
    expressions = (
        (entry.condition,) if isinstance(entry, _Condition) else (entry.lower, entry.upper)
    )
    return any(isinstance(node, Parameter) for one in expressions for node in walk(one))

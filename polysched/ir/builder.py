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

from polysched.errors import KernelError
from polysched.ir.affine import instance_space, to_pw_aff, to_set
from polysched.ir.declarations import (
    Bound,
    as_condition,
    as_reduction,
    bounded,
    loop_bounds,
    require_identifier,
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
from polysched.ir.source import caller_location
from polysched.ir.traversal import walk
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
        to_set(as_condition("assume", condition), instance_space(self._parameters, "", []))
        self._assumptions.append(condition)

    def input(
        self, name: str, dtype: DType | str, shape: Any, *, dimensions: str | None = None
    ) -> ArrayHandle:
        """An array that the kernel only reads. ``dimensions`` names them, e.g. ``"rx rz ry c"``."""
        return self._declare(name, dtype, shape, Role.INPUT, dimensions)

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
        to_set(
            as_condition("where", condition), instance_space(self._parameters, "", self._scope())
        )
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
        context = self._context()
        return Kernel(
            name=self.name,
            parameters=tuple(self._parameters),
            context=context,
            arrays=MappingProxyType(dict(self._arrays)),
            # Parameters and assumptions may have come after the statement.
            statements=MappingProxyType(
                {
                    name: replace(statement, domain=statement.domain.intersect_params(context))
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
        self, name: str, dtype: DType | str, shape: Any, role: Role, dimensions: str | None
    ) -> ArrayHandle:
        self._claim(name, "array")
        given = tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)
        extents = tuple(bounded(as_expression(extent)) for extent in given)
        names = dimensions.split() if dimensions else [f"d{i}" for i in range(len(extents))]
        if len(names) != len(extents) or len(set(names)) != len(names):
            raise KernelError(
                f"array '{name}' has {len(extents)} dimensions; dimensions={dimensions!r} must "
                "give each a name of its own"
            )
        space = instance_space(self._parameters, "", [])
        for extent in extents:
            try:
                function = to_pw_aff(extent, space)
            except KernelError as error:
                raise KernelError(f"shape of array '{name}': {error}") from None
            if function.is_cst() and function.max_val().is_neg():
                raise KernelError(
                    f"shape of array '{name}': an extent is {extent}; expected at least 0"
                )
        array = Array(
            name, as_dtype(dtype), extents, role, tuple(names), location=caller_location()
        )
        self._arrays[name] = array
        return ArrayHandle(array, self)

    def _scope(self) -> list[str]:
        return [entry.index for entry in self._open if isinstance(entry, _OpenLoop)]

    def _open_loop(self, name: str, bound: Bound) -> _OpenLoop:
        require_identifier(name, "index")
        if name in self._scope() or name in self._parameters or name in self._arrays:
            raise KernelError(f"index '{name}': the name is in use already around this loop")
        lower, upper, step = loop_bounds(name, bound)
        space = instance_space(self._parameters, "", self._scope())
        for end in (lower, upper):
            try:
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
        for expression in expressions:
            try:
                to_pw_aff(expression, space)
            except KernelError as error:
                raise KernelError(f"subscript of array '{array.name}': {error}") from None
        return expressions

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
        statement = Statement(
            name, indices, self._domain(name, indices), target, expression, reduction, location
        )
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

    def _domain(self, name: str, indices: tuple[str, ...]) -> isl.Set:
        space = instance_space(self._parameters, name, indices)
        domain = isl.Set.universe(space)
        for entry in self._open:
            if isinstance(entry, _Condition):
                domain = domain.intersect(to_set(entry.condition, space))
                continue
            index, lower = Index(entry.index), entry.lower
            domain = domain.intersect(to_set(lower <= index, space))
            domain = domain.intersect(to_set(index < entry.upper, space))
            if entry.step != 1:
                offset = to_pw_aff(index - lower, space).mod_val(isl.Val(entry.step))
                domain = domain.intersect(offset.zero_set())
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

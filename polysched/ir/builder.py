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
from types import MappingProxyType
from typing import Any

from polysched.errors import KernelError
from polysched.ir.affine import to_pw_aff, to_set
from polysched.ir.array_handle import ArrayHandle
from polysched.ir.declarations import (
    Bound,
    as_condition,
    bounded,
    loop_bounds,
    require_identifier,
)
from polysched.ir.dtypes import DType
from polysched.ir.expressions import Expression, Index, Operand, Parameter
from polysched.ir.kernel import Kernel, Order, Role
from polysched.ir.limits import DEEPEST_NEST, limited
from polysched.ir.nest import Nest
from polysched.ir.packing import Rows
from polysched.ir.source import SourceLocation, caller_location
from polysched.ir.statements import Statements
from polysched.ir.strides import require_apart
from polysched.ir.symbols import Symbols

__all__ = ["ArrayHandle", "KernelBuilder"]


class KernelBuilder:
    """Collects the declaration of one kernel; :meth:`kernel` returns it as a frozen value.

    Args:
        name: the kernel's name, an identifier; it becomes the symbol of the compiled function.
    """

    def __init__(self, name: str) -> None:
        require_identifier(name, "kernel")
        self.name = name
        self._location = caller_location()
        self._symbols = Symbols(name)
        self._nest = Nest()
        self._statements = Statements(self._symbols, self._nest)

    def parameter(
        self, name: str, *, minimum: int | None = 0, maximum: int | None = None
    ) -> Parameter:
        """A size known only at the call: an i64 between ``minimum`` and ``maximum`` (None: no
        limit).
        """
        self._symbols.claim(name, "parameter")
        if self._nest.has_had(name):
            raise KernelError(f"parameter '{name}': a loop of kernel '{self.name}' has that name")
        return self._symbols.add_parameter(name, minimum, maximum)

    def assume(self, condition: Expression) -> None:
        """Promise an affine condition over the parameters; every call checks it.

        Raises:
            KernelError: the condition is not affine, or not over the parameters alone.
        """
        self._symbols.assume(condition)

    def input(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        *,
        dimensions: str | None = None,
        values: tuple[Operand, Operand] | None = None,
        rows: Rows | str | None = None,
        strides: Any = None,
    ) -> ArrayHandle:
        """An array that the kernel only reads. ``dimensions`` names them, e.g. ``"rx rz ry c"``.

        ``values=(lower, upper)`` says that every element v of an integer array has
        ``lower <= v < upper``, affine in the parameters. Every call checks it. Elements of such an
        array may stand in subscripts, as in ``x[idx[i] + 1]``.

        ``strides`` gives for each dimension the distance from one index to the next, in elements
        and affine in the parameters: ``input("a", f32, (m, k), strides=(lda, 1))``. Without it the
        array is contiguous in row-major order. No two elements may share memory, which
        :meth:`kernel` proves; here it takes an ``assume(lda >= k)``. What hangs on a product of
        parameters, such as ``lda`` times ``m``, every call checks.

        An integer of odd width, ``"i4"``, is packed: ``rows="padded"`` or ``"contiguous"`` says
        where its rows begin (:mod:`polysched.ir.packing`). Calls take a buffer of bytes, as
        :func:`polysched.pack_bits` makes it.
        """
        return self._declare(name, dtype, shape, Role.INPUT, dimensions, values, rows, strides)

    def output(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        *,
        dimensions: str | None = None,
        rows: Rows | str | None = None,
        strides: Any = None,
    ) -> ArrayHandle:
        """An array whose elements the kernel defines; what it held before is never read.

        What lies between elements with ``strides`` is never written.
        """
        return self._declare(
            name, dtype, shape, Role.OUTPUT, dimensions, rows=rows, strides=strides
        )

    def inout(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        *,
        dimensions: str | None = None,
        rows: Rows | str | None = None,
        strides: Any = None,
    ) -> ArrayHandle:
        """An array that the kernel reads and updates in place."""
        return self._declare(name, dtype, shape, Role.INOUT, dimensions, rows=rows, strides=strides)

    def temporary(
        self, name: str, dtype: DType | str, shape: Any, *, dimensions: str | None = None
    ) -> ArrayHandle:
        """An array of the kernel's own, undefined at the start and gone at the end.

        Integers of odd width have a byte, or 2 or 4, each to themselves there.
        """
        return self._declare(name, dtype, shape, Role.TEMPORARY, dimensions)

    @contextmanager
    def loops(self, **bounds: Bound) -> Iterator[Any]:
        """Open a nest of loops, the first outermost: ``loops(i=n, j=(i0, i1))``.

        A bound is an extent (from 0), a pair ``(lower, upper)`` (the upper end excluded) or a
        triple with a literal step, as of Python's ``range``: ``loops(i=(n - 1, -1, -1))`` counts
        down from ``n - 1`` to 0. It may use parameters and the indices of loops around, as in
        ``with build.loops(i=n) as i, build.loops(j=(0, i)) as j:``; within one call, an earlier
        index is :class:`Index("i") <polysched.ir.expressions.Index>`.

        Yields:
            the index, or a tuple of indices if there are several.
        """
        if not bounds:
            raise KernelError("loops() needs at least one index, e.g. loops(i=n)")
        with self._nest.scope():
            for name, bound in bounds.items():
                self._open_loop(name, bound)
            indices = tuple(Index(name) for name in bounds)
            yield indices[0] if len(indices) == 1 else indices

    @contextmanager
    def where(self, condition: Expression) -> Iterator[None]:
        """Restrict the statements inside to the instances at which an affine condition holds.

        Raises:
            KernelError: the condition is not affine.
        """
        checked = as_condition("where", condition)
        with limited(KernelError, "the condition of where(...) is too intricate"):
            to_set(checked, self._symbols.space("", self._nest.indices))
        with self._nest.scope():
            self._nest.open_condition(condition)
            yield

    @contextmanager
    def statement(self, name: str, *, order: Order | str | None = None) -> Iterator[None]:
        """Name the one statement declared inside and, for a reduction, set its order policy.

        ``order="any"`` allows reassociation of ``x = x op e``, ``"exact"`` keeps the order. The
        default is ``"exact"`` for floating point, and ``"any"`` for integers, whose result it does
        not change.
        """
        with self._statements.labeled(name, order):
            yield

    @contextmanager
    def located(self, location: SourceLocation) -> Iterator[None]:
        """What is declared inside was written at ``location``: for frontends.

        Without it they are where the user's Python is that declares them.
        """
        with self._symbols.located(location):
            yield

    def is_reached(self) -> bool:
        """Whether a statement declared at this place would run, for some parameters."""
        with limited(KernelError, "the bounds and conditions here are too intricate"):
            points = self._nest.instances(self._symbols.space("", self._nest.indices))
            return not points.intersect_params(self._symbols.context()).is_empty()

    def kernel(self) -> Kernel:
        """The kernel declared so far.

        Raises:
            KernelError: no statement, an output that no statement writes, a contradictory context,
                strides with which two elements may share memory.
        """
        if not self._statements:
            raise KernelError(f"kernel '{self.name}' has no statements")
        if self._nest.is_open:
            raise KernelError(f"kernel '{self.name}' is asked for inside a loop that is still open")
        written = self._statements.written()
        for array in self._symbols.arrays.values():
            if array.role is Role.OUTPUT and array.name not in written:
                raise KernelError(
                    f"no statement of kernel '{self.name}' writes output '{array.name}'; assign "
                    "its elements, or leave it out"
                )
        with limited(KernelError, f"kernel '{self.name}' cannot be declared"):
            context = self._symbols.context()
            for array in self._symbols.arrays.values():
                require_apart(array, context, self._symbols.parameters)
            return Kernel(
                name=self.name,
                parameters=tuple(self._symbols.parameters),
                context=context,
                arrays=MappingProxyType(dict(self._symbols.arrays)),
                statements=self._statements.final(context),
                body=self._nest.tree(self._statements.spaces()),
                location=self._location,
            )

    def _declare(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        role: Role,
        dimensions: str | None,
        values: tuple[Operand, Operand] | None = None,
        rows: Rows | str | None = None,
        strides: Any = None,
    ) -> ArrayHandle:
        array = self._symbols.add_array(
            name, dtype, shape, role, dimensions, values, rows=rows, strides=strides
        )
        return ArrayHandle(array, self._statements)

    def _open_loop(self, name: str, bound: Bound) -> None:
        require_identifier(name, "index")
        around = self._nest.indices
        if name in around or name in self._symbols:
            owner = "an index of a loop around" if name in around else self._symbols.kind(name)
            raise KernelError(
                f"index '{name}': the name is in use already, for {owner}; choose another one"
            )
        if len(around) >= DEEPEST_NEST:
            raise KernelError(f"loop '{name}' is inside {DEEPEST_NEST} others; expected fewer")
        lower, upper, step = loop_bounds(name, bound)
        space = self._symbols.space("", around)
        for end in (lower, upper):
            try:
                with limited(KernelError, "it is too intricate"):
                    to_pw_aff(bounded(end), space)
            except KernelError as error:
                raise KernelError(f"bound of loop '{name}': {error}") from None
        self._nest.open_loop(name, lower, upper, step)

"""Kernel builder: declare a kernel in Python as a nest of loops with assignments.

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
from typing import Any, Never

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.core.limits import DEEPEST_NEST, limited
from polysched.ir.core.packing import Rows
from polysched.ir.core.strides import require_apart
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.declarations import (
    Bound,
    as_condition,
    bounded,
    loop_bounds,
    require_identifier,
)
from polysched.ir.declare.nest import Nest
from polysched.ir.declare.statements import Statements
from polysched.ir.declare.symbols import Symbols
from polysched.ir.expr.affine import to_pw_aff, to_set
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression, Index, Operand, Parameter
from polysched.ir.expr.source import SourceLocation, caller_location

__all__ = ["ArrayHandle", "KernelBuilder"]


class KernelBuilder:
    """Builder of one kernel; :meth:`kernel` returns the immutable kernel.

    Args:
        name: the kernel's name, an identifier; also the symbol name of the compiled function.
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
        """Declare a parameter: an i64 size that each call passes.

        Args:
            name: an identifier.
            minimum, maximum: inclusive bounds that each call checks; None for no bound.
        """
        self._symbols.claim(name, "parameter")
        if self._nest.has_had(name):
            raise KernelError(f"parameter '{name}': a loop of kernel '{self.name}' has that name")
        return self._symbols.add_parameter(name, minimum, maximum)

    def assume(self, condition: Expression) -> None:
        """Assume an affine condition over the parameters; every call checks it.

        Raises:
            KernelError: the condition is not affine, or not over the parameters alone.
        """
        self._symbols.assume(condition)

    def assume_never(self, condition: Expression) -> bool:
        """Assume that an affine condition holds in no instance declared here; every call checks it.

        Returns:
            whether that is possible: False if it holds in an instance whatever the parameters are.

        Raises:
            KernelError: the condition is not affine.
        """
        with (
            self.where(condition),
            limited(KernelError, "the bounds and conditions are too complex"),
        ):
            points = self._nest.instances(self._symbols.space("", self._nest.indices)).params()
        context = self._symbols.context()
        if context.is_subset(points):
            return False
        if not context.is_disjoint(points):
            self._symbols.exclude(points)
        return True

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
        """Declare an array that the kernel only reads.

        ``dimensions`` names the dimensions, e.g. ``"rx rz ry c"``.

        ``values=(lower, upper)`` declares that every element v of an integer array satisfies
        ``lower <= v < upper``; the bounds are affine in the parameters. Every call checks it.
        Elements of such an array are allowed in subscripts, as in ``x[idx[i] + 1]``.

        ``strides`` gives the distance between consecutive indices of each dimension, in elements
        and affine in the parameters: ``input("a", f32, (m, k), strides=(lda, 1))``. By default the
        array is contiguous in row-major order. :meth:`kernel` proves that no two elements share
        memory; for this example the proof needs ``assume(lda >= k)``. If the proof involves a
        product of parameters, such as ``lda`` times ``m``, every call checks it instead.

        An integer array of odd width, such as ``"i4"``, is packed: ``rows="padded"`` or
        ``"contiguous"`` selects where its rows begin (:mod:`polysched.ir.core.packing`). Calls take
        a buffer of bytes, as :func:`polysched.pack_bits` returns.
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
        """Declare an array that the kernel writes; its previous contents are never read.

        Gaps between the elements of an array with ``strides`` are never written.
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
        """Declare an array that the kernel reads and updates in place."""
        return self._declare(name, dtype, shape, Role.INOUT, dimensions, rows=rows, strides=strides)

    def temporary(
        self,
        name: str,
        dtype: DType | str,
        shape: Any,
        *,
        dimensions: str | None = None,
        values: tuple[Operand, Operand] | None = None,
    ) -> ArrayHandle:
        """Declare an array local to the kernel, undefined at the start of each call.

        ``values=(lower, upper)`` promises that every element v of an integer array that occurs in
        a subscript satisfies ``lower <= v < upper``. Unlike those of inputs, these values are not
        checked.

        Integers of odd width are not packed there: each takes 1, 2 or 4 bytes.
        """
        return self._declare(name, dtype, shape, Role.TEMPORARY, dimensions, values)

    @contextmanager
    def loops(self, *unnamed: Never, **bounds: Bound) -> Iterator[Any]:
        """Open a loop nest, outermost loop first: ``loops(i=n, j=(i0, i1))``.

        A bound is an extent (counted from 0), a pair ``(lower, upper)`` with an exclusive upper
        end, or a triple with a literal step, as for Python's ``range``: ``loops(i=(n - 1, -1,
        -1))`` counts down from ``n - 1`` to 0. A bound may use parameters and the indices of
        enclosing loops, as in ``with build.loops(i=n) as i, build.loops(j=(0, i)) as j:``. Within
        one call, write an earlier index as :class:`Index("i")
        <polysched.ir.expr.expressions.Index>`.

        Yields:
            the index, or a tuple of indices if there are several loops.
        """
        if unnamed or not bounds:
            raise KernelError("loops() takes the bound of each loop by its name, as in loops(i=n)")
        with self._nest.scope():
            for name, bound in bounds.items():
                self._open_loop(name, bound)
            indices = tuple(Index(name) for name in bounds)
            yield indices[0] if len(indices) == 1 else indices

    @contextmanager
    def where(self, condition: Expression) -> Iterator[None]:
        """Restrict the statements in the block to the instances where an affine condition holds.

        Raises:
            KernelError: the condition is not affine.
        """
        checked = as_condition("where", condition)
        with limited(KernelError, "the condition of where(...) is too complex"):
            to_set(checked, self._symbols.space("", self._nest.indices))
        with self._nest.scope():
            self._nest.open_condition(condition)
            yield

    @contextmanager
    def statement(self, name: str, *, order: Order | str | None = None) -> Iterator[None]:
        """Name the statement declared in the block and set the order policy of a reduction.

        ``order="any"`` allows reassociation of ``x = x op e``; ``"exact"`` keeps the program's
        order. The default is ``"exact"`` for floating point and ``"any"`` for integers, where
        reassociation does not change the result.
        """
        with self._statements.labeled(name, order):
            yield

    @contextmanager
    def located(self, location: SourceLocation) -> Iterator[None]:
        """Set the source location of the declarations in the block; for frontends.

        The default location is the line of the user's Python code that makes the declaration.
        """
        with self._symbols.located(location):
            yield

    @property
    def is_empty(self) -> bool:
        """Whether no statement has been declared."""
        return not self._statements

    def is_reached(self) -> bool:
        """Whether a statement declared here would have an instance for some parameter values."""
        with limited(KernelError, "the bounds and conditions here are too complex"):
            points = self._nest.instances(self._symbols.space("", self._nest.indices))
            return not points.intersect_params(self._symbols.context()).is_empty()

    def kernel(self) -> Kernel:
        """Validate the declarations and return the kernel.

        Raises:
            KernelError: there is no statement, no statement writes an output, the assumptions
                contradict each other, or strides let two elements share memory.
        """
        if self.is_empty:
            raise KernelError(
                f"kernel '{self.name}' has no statements: it computes and stores nothing"
            )
        if self._nest.is_open:
            raise KernelError(
                f"kernel() of '{self.name}' is called inside a loop or condition that is still "
                "open; call it after the 'with' block"
            )
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
                with limited(KernelError, "it is too complex"):
                    to_pw_aff(bounded(end), space)
            except KernelError as error:
                raise KernelError(f"bound of loop '{name}': {error}") from None
        self._nest.open_loop(name, lower, upper, step)

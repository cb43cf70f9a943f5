"""Scopes: name bindings, and the statement instances that reach a point of the program."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import reduce
from types import MappingProxyType

import islpy as isl
from pycparser import c_ast

from polysched.errors import FrontendError, KernelError, suggestion
from polysched.frontends.scop.affine.assumption import Assumption
from polysched.frontends.scop.affine.bindings import (
    ArrayBinding,
    Binding,
    EndedBinding,
    IntegerBinding,
)
from polysched.frontends.scop.inline.choices import Choice
from polysched.frontends.scop.source.constants import header_of
from polysched.frontends.scop.source.source_map import SourceMap
from polysched.frontends.scop.types.c_types import Typedefs
from polysched.ir.core.guards import MOST_NODES, lowered_size, reads_guarded
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import instance_space, to_set
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.functions import equal, select


@dataclass(frozen=True)
class LoggedAccess:
    """Access to an array, with the instances that perform it.

    Attributes:
        subscripts: the subscripts of the element; for an array whose shape is not known yet, those
            that C has.
        domain: the instances at which control reaches the access, over `indices`.
        indices: the loops around the access.
        depth: the number of conditions on data that the access depends on.
    """

    node: c_ast.Node
    binding: ArrayBinding
    subscripts: tuple[Expression, ...]
    domain: isl.Set
    indices: tuple[str, ...]
    depth: int

    @property
    def is_certain(self) -> bool:
        """Whether these instances perform the access whatever the data."""
        return not self.depth


class Scope:
    """Visible names, enclosing loops and conditions, and proofs of conditions under these.

    Args:
        known: declared names, which messages may suggest.
        functions: functions of math.h and the like that the file defines itself.
        choices: the min and max functions that the file defines.
        leaves_loops: whether a loop may be left before its condition fails.
        may_assume: whether sizes may be excluded for which integers wrap around.
    """

    def __init__(
        self,
        source_map: SourceMap,
        typedefs: Typedefs,
        known: frozenset[str],
        functions: frozenset[str] = frozenset(),
        choices: Mapping[str, Choice] = MappingProxyType({}),
        *,
        leaves_loops: bool = True,
        may_assume: bool = False,
    ) -> None:
        self.source_map = source_map
        self._known = known
        self._functions = functions
        self.choices = choices
        self.typedefs = typedefs
        self.leaves_loops = leaves_loops
        self.may_assume = may_assume
        self.assumptions: list[Assumption] = []
        self._names: list[dict[str, Binding]] = [{}]
        self._parameters: tuple[str, ...] = ()
        self._indices: tuple[str, ...] = ()
        self._conditions: tuple[Expression, ...] = ()
        self._domain: isl.Set | None = None
        self._depth = 0
        self.accesses: list[LoggedAccess] = []
        self.guarded: set[str] = set()
        """The guarded arrays of the kernel, by their names in it."""

    @property
    def indices(self) -> tuple[str, ...]:
        """The indices of the enclosing loops, outermost first."""
        return self._indices

    @property
    def parameters(self) -> tuple[str, ...]:
        """The sizes of the kernel."""
        return self._parameters

    def add_parameter(self, name: str) -> None:
        """Add a size."""
        self._parameters = (*self._parameters, name)
        self._domain = None

    def bind(self, name: str, binding: Binding) -> None:
        """Bind a name in the innermost block."""
        self._names[-1][name] = binding

    def is_own(self, name: str) -> bool:
        """Whether the innermost block declares a name."""
        return name in self._names[-1]

    def find(self, name: str) -> Binding | None:
        """Return the binding of a name; None if the name is not bound."""
        return next((block[name] for block in reversed(self._names) if name in block), None)

    def lookup(self, node: c_ast.ID) -> ArrayBinding | IntegerBinding:
        """Return the binding of a name."""
        binding = self.find(node.name)
        if isinstance(binding, EndedBinding):
            raise self.error(
                node,
                f"'{node.name}' is a loop variable and is used outside its loop; use the loop's "
                "bound, or another variable",
            )
        if binding is None:
            names = self._known.union(*self._names)
            header = header_of(node.name)
            if header is not None:
                raise self.error(
                    node, f"'{node.name}' is not declared; write '#include <{header}>'"
                )
            if node.name in names:  # arrays are bound after the sizes and the assumptions on them
                raise self.error(
                    node,
                    f"'{node.name}' is an array, or a number that is not a size; expected sizes "
                    "and integers here",
                )
            macro = f"; CPPFLAGS=-D{node.name}=... makes it a macro" if node.name.isupper() else ""
            raise self.error(
                node, f"'{node.name}' is not declared{suggestion(node.name, names)}{macro}"
            )
        return binding

    def require_known(self, node: c_ast.ID) -> None:
        """Check that the file does not redefine a called function.

        Raises:
            FrontendError: the file declares the function, so it may differ from the library's.
        """
        if node.name in self._functions:
            raise self.error(
                node,
                f"'{node.name}' is a function of this file, which kernels cannot call unless it "
                "computes a number from its parameters alone, without loops; make it a macro, or "
                "write the expression itself",
            )

    def error(self, node: c_ast.Node, reason: str) -> FrontendError:
        """Build an error that underlines a node."""
        return self.source_map.error(node, reason)

    @contextmanager
    def block(self) -> Iterator[None]:
        """Open a block: names bound inside are dropped at its end."""
        self._names.append({})
        try:
            yield
        finally:
            self._names.pop()

    def both(self, left: Expression, right: Expression) -> Expression:
        """``left && right``; the right side reads guarded arrays only if the left side holds."""
        if self.reads_guarded(right):
            return select(left, right, Constant(False, boolean))
        return left & right

    def either(self, left: Expression, right: Expression) -> Expression:
        """``left || right``; the right side reads guarded arrays only if the left side is false."""
        if self.reads_guarded(right):
            return select(left, Constant(True, boolean), right)
        return left | right

    def reads_guarded(self, expression: Expression) -> bool:
        """Whether a value may be computed only where C computes it."""
        return reads_guarded(expression, self.guarded)

    def is_too_nested(self, expression: Expression) -> bool:
        """Whether conditions around reads of guarded arrays make a value too large."""
        return lowered_size(expression, self.guarded) > MOST_NODES

    @contextmanager
    def depending_on_data(self) -> Iterator[None]:
        """Mark the accesses inside as performed only if a condition on data holds."""
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1

    @contextmanager
    def alternatives(self) -> Iterator[Callable[[], AbstractContextManager[None]]]:
        """Enter a choice by data; each ``with`` of the yielded function is one alternative.

        An element that both of two alternatives access is accessed whatever the data.
        """
        sides: list[list[LoggedAccess]] = []

        @contextmanager
        def alternative() -> Iterator[None]:
            start = len(self.accesses)
            with self.depending_on_data():
                yield
                sides.append(
                    [access for access in self.accesses[start:] if access.depth == self._depth]
                )

        yield alternative
        if len(sides) == 2:
            first, second = sides
            self.accesses += _common(first, second, self._indices, self._depth)

    @contextmanager
    def not_evaluated(self) -> Iterator[None]:
        """Forget the accesses inside, which C does not perform, as in ``sizeof x[0]``."""
        count = len(self.accesses)
        try:
            yield
        finally:
            del self.accesses[count:]

    def log(
        self, node: c_ast.Node, binding: ArrayBinding, subscripts: tuple[Expression, ...]
    ) -> None:
        """Record an access at this point of the program."""
        self.accesses.append(
            LoggedAccess(node, binding, subscripts, self.instances(), self._indices, self._depth)
        )

    @contextmanager
    def loop(self, index: str, first: Expression, end: Expression, step: int) -> Iterator[None]:
        """Enter a loop over ``range(first, end, step)``."""
        variable = Index(index)
        if step > 0:
            conditions = [first <= variable, variable < end]
        else:
            conditions = [variable <= first, end < variable]
        if abs(step) > 1:
            conditions.append(equal((variable - first) % abs(step), 0))
        with self.variable(index, *conditions):
            yield

    @contextmanager
    def variable(self, index: str, *conditions: Expression) -> Iterator[None]:
        """Add an index on which conditions hold, until the end of the ``with`` block."""
        before = self._indices
        self._indices = (*before, index)
        try:
            with self.assuming(*conditions):
                yield
        finally:
            self._indices = before
            self._domain = None

    @contextmanager
    def assuming(self, *conditions: Expression) -> Iterator[None]:
        """Assume conditions until the end of the ``with`` block."""
        before = self._conditions
        self._conditions = (*before, *conditions)
        self._domain = None
        try:
            yield
        finally:
            self._conditions = before
            self._domain = None

    def assume(self, condition: Expression) -> None:
        """Assume a condition on the sizes permanently."""
        self._conditions = (*self._conditions, condition)
        self._domain = None

    def assume_always(self, assumption: Assumption) -> None:
        """Assume a condition on the sizes, also after the enclosing blocks."""
        self.assumptions.append(assumption)
        self._domain = None

    def sizes(self) -> isl.Set:
        """Return the values of the sizes that the declarations and assumptions allow."""
        return self.instances().params()

    def is_reached(self) -> bool:
        """Whether any instance reaches this point, for some sizes."""
        return not self.instances().is_empty()

    def proves(self, condition: Expression) -> bool:
        """Whether an affine condition provably holds at every instance that reaches this point."""
        try:
            with limited(KernelError, "too intricate"):
                domain = self.instances()
                holds = to_set(condition, domain.get_space())
                return bool(domain.is_subset(holds))
        except KernelError:
            return False

    def violations(self, condition: Expression) -> isl.Set:
        """Return the instances that reach this point and at which a condition does not hold."""
        domain = self.instances()
        return domain.subtract(to_set(condition, domain.get_space()))

    def instances(self) -> isl.Set:
        """Return the instances that reach this point, over the indices of the enclosing loops."""
        if self._domain is None:
            space = instance_space(self._parameters, "", self._indices)
            domain = isl.Set.universe(space)
            with limited(KernelError, "the enclosing loops and conditions are too intricate"):
                for condition in self._conditions:
                    domain = domain.intersect(to_set(condition, space))
                for assumption in self.assumptions:
                    domain = domain.intersect_params(assumption.sizes)
            self._domain = domain
        return self._domain

    def require_affine(self, node: c_ast.Node, condition: Expression) -> None:
        """Check that a condition can be converted to an isl set.

        Raises:
            FrontendError: the condition is not affine, or exceeds the limits on isl.
        """
        space = instance_space(self._parameters, "", self._indices)
        try:
            with limited(KernelError, "it is too intricate"):
                to_set(condition, space)
        except KernelError as error:
            raise self.error(node, str(error)) from None


def _common(
    first: Iterable[LoggedAccess],
    second: Iterable[LoggedAccess],
    indices: tuple[str, ...],
    depth: int,
) -> Iterator[LoggedAccess]:
    """Yield the accesses that two alternatives have in common, once for each element."""
    found: dict[object, list[LoggedAccess]] = {}
    for access in (*first, *second):
        if access.indices == indices:
            found.setdefault((access.binding.array.name, access.subscripts), []).append(access)
    first_ids = set(map(id, first))
    for accesses in found.values():
        sides = [
            [access for access in accesses if (id(access) in first_ids) is own]
            for own in (True, False)
        ]
        if all(sides):
            with limited(KernelError, "the conditions are too intricate"):
                parts = [
                    reduce(isl.Set.union, (access.domain for access in side)) for side in sides
                ]
                domain = parts[0].intersect(parts[1])
            if not domain.is_empty():
                yield replace(accesses[0], domain=domain, depth=depth)

"""Translate ``if`` statements: affine conditions to domains, conditions on data to selects."""

from __future__ import annotations

import contextlib
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Self

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.bindings import ArrayBinding
from polysched.frontends.scop.affine.expressions import condition
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.affine.subscripts import element_of
from polysched.frontends.scop.rewrites.usage import Usage, usage_of
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.statements.branches import (
    affine_part,
    as_choice,
    decided,
    only_assignment,
    same_assignment,
)
from polysched.frontends.scop.statements.cases import MOST_CASES
from polysched.frontends.scop.statements.computed_subscripts import with_index_variables
from polysched.frontends.scop.statements.stores import zero
from polysched.frontends.scop.statements.values import Values
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import NumberKind, boolean
from polysched.ir.expr.expressions import Expression, Load
from polysched.ir.expr.functions import select
from polysched.ir.expr.traversal import walk


@dataclass(frozen=True)
class Branches(ABC):
    """Translator of ``if`` statements; subclasses translate the statements inside.

    Attributes:
        scope: the visible names; its loops and conditions are open in `build` too.
        build: the builder that the statements are declared with.
        usage: the uses of each name in the region.
        arrays: names of arrays and loops in the kernel.
        labels: names of statements in the kernel.
        guards: the enclosing conditions that depend on data.
        unset: local scalars without an assignment so far, with the loops around their declaration.
        may_overlap: whether arrays without ``restrict`` may overlap each other.
    """

    scope: Scope
    build: KernelBuilder
    usage: Usage
    arrays: Names
    labels: Names = field(default_factory=Names)
    guards: tuple[Expression, ...] = ()
    unset: dict[str, tuple[str, ...]] = field(default_factory=dict)
    may_overlap: bool = False

    @abstractmethod
    def index_variable(
        self, node: c_ast.Node, extent: Expression, *, is_optional: bool = False
    ) -> str:
        """Declare a variable that holds a subscript below an extent; return its name in C.

        Args:
            node: the subscript.
            extent: the extent of its dimension.
            is_optional: whether there is an element only where the enclosing conditions hold.
        """

    @abstractmethod
    def declare_all(self, nodes: tuple[c_ast.Node, ...]) -> None:
        """Declare statements in a new block."""

    def declare_if(self, node: c_ast.If, parts: int = 0) -> None:
        """Declare both branches of an ``if``; `parts` operands of its condition are decided."""
        try:
            holds = condition(self.scope, node.cond)
        except FrontendError as error:
            part = affine_part(self.scope, node.cond)
            if part is None:
                self._branch_over_data(node, error)
                return
            if 2 ** (parts + 1) > MOST_CASES:
                raise self.scope.error(
                    node.cond,
                    f"more than {MOST_CASES} cases of a condition that depends partly on data; "
                    "expected fewer in one if",
                ) from None
            unset = dict(self.unset)
            for outcome in (True, False):
                with (
                    self.where(part.node, part.condition if outcome else ~part.condition),
                    self._side(unset) as side,
                ):
                    if self.scope.is_reached():
                        side._decided(node, decided(node.cond, part.node, outcome), parts + 1)
            return
        unset = dict(self.unset)
        for branch, taken in ((node.iftrue, holds), (node.iffalse, ~holds)):
            if branch is not None:
                with self.where(node.cond, taken), self._side(unset) as side:
                    side.declare_all((branch,))

    @contextmanager
    def _side(self, unset: Mapping[str, tuple[str, ...]]) -> Iterator[Self]:
        """Enter one branch of an affine condition; assignments in the other do not reach it.

        Args:
            unset: the unassigned variables before the condition.
        """
        side = replace(self, unset=dict(unset))
        yield side
        for name in unset.keys() - side.unset.keys():
            self.unset.pop(name, None)

    def _decided(self, node: c_ast.If, rest: c_ast.Node | bool, parts: int) -> None:
        """Declare an ``if`` whose condition is simplified to `rest`."""
        if not isinstance(rest, bool):
            self.declare_if(c_ast.If(rest, node.iftrue, node.iffalse, node.coord), parts)
            return
        branch = node.iftrue if rest else node.iffalse
        if branch is not None:
            self.declare_all((branch,))

    def _branch_over_data(self, node: c_ast.If, not_affine: FrontendError) -> None:
        """Declare both branches without control flow: each store selects the new or old value."""
        if self.scope.is_reached():
            cond = with_index_variables(
                self.scope, node.cond, self.index_variable, guards=len(self.guards)
            )
            node = c_ast.If(cond, node.iftrue, node.iffalse, node.coord)
        holds = Values(self.scope).truth(node.cond)
        nodes = list(walk(holds))
        reads = {load.array for load in nodes if isinstance(load, Load)}
        if not reads and any(e.dtype and e.dtype.kind is NumberKind.UNSIGNED for e in nodes):
            # An unsigned condition on sizes and indices alone is not treated as data.
            raise not_affine
        same = same_assignment(node, self.scope.source_map.text)
        if same is not None:
            binding, _ = element_of(self.scope, same.lvalue)
            self.declare_all((as_choice(node, binding.dtype),))
            return
        is_only = only_assignment(node.iftrue) is not None and node.iffalse is None
        is_changed = bool(reads) if self.may_overlap else bool(reads & self._assigned_in(node))
        if (not is_only and is_changed) or (self.guards and self.scope.reads_guarded(holds)):
            holds = self._kept(node.cond, holds)
        with self.scope.alternatives() as alternative:
            for branch, taken in ((node.iftrue, holds), (node.iffalse, ~holds)):
                if branch is not None:
                    with alternative():
                        replace(self, guards=(*self.guards, taken)).declare_all((branch,))

    def _assigned_in(self, node: c_ast.If) -> set[str]:
        """Return the kernel arrays that an ``if`` may assign to."""
        bindings = map(self.scope.find, usage_of((node,)).assigned)
        return {binding.array.name for binding in bindings if isinstance(binding, ArrayBinding)}

    def _kept(self, node: c_ast.Node, holds: Expression) -> Expression:
        """Store a condition in a temporary, because the branches change its operands."""
        if not self.scope.is_reached():
            return holds
        name = self.arrays.fresh("condition", self.scope.indices)
        with self.reported(node), self.build.located(self.scope.source_map.location(node)):
            handle = self.build.temporary(name, boolean, ())
            with self.build.statement(self.labels.fresh(name)):
                handle[()] = self.where_reached(holds)
            return handle[()]

    @contextmanager
    def where(self, node: c_ast.Node, holds: Expression) -> Iterator[None]:
        """Restrict the statements inside to the instances at which a condition holds."""
        with contextlib.ExitStack() as stack:
            with self.reported(node):
                stack.enter_context(self.build.where(holds))
            stack.enter_context(self.scope.assuming(holds))
            yield

    def guard(self, binding: ArrayBinding) -> Expression | None:
        """Return the condition on data under which an assignment takes effect.

        Return None if the assignment may be unconditional: the variable is declared under the same
        conditions, or this is its first assignment and in the same loops, so no value is lost.
        """
        is_first = self.unset.pop(binding.array.name, None) == self.scope.indices
        guards = self.guards[binding.guards :]
        return None if is_first or not guards else reduce(self.scope.both, guards)

    @property
    def reached(self) -> Expression | None:
        """The condition on data under which C reaches this point; None if there is none."""
        return reduce(self.scope.both, self.guards) if self.guards else None

    def where_reached(self, value: Expression) -> Expression:
        """Restrict the reads of guarded arrays in a value to where C computes it."""
        if self.reached is None or not self.scope.reads_guarded(value):
            return value
        assert value.dtype is not None
        return select(self.reached, value, zero(value.dtype))

    @contextmanager
    def reported(self, node: c_ast.Node) -> Iterator[None]:
        """Report errors of the kernel builder at a node."""
        try:
            yield
        except KernelError as error:
            raise self.scope.error(node, str(error)) from None

"""C statements to the statements of a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import and_

from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.limits import MOST_STATEMENTS, TOO_MANY_STATEMENTS
from polysched.frontends.scop.affine import affine, condition, in_type
from polysched.frontends.scop.branches import (
    affine_part,
    as_choice,
    decided,
    only_assignment,
    without_continue,
)
from polysched.frontends.scop.cases import MOST_CASES, next_case
from polysched.frontends.scop.initial_values import completed, initial_values
from polysched.frontends.scop.linearised import polynomial_value
from polysched.frontends.scop.loops import loop_header, loop_start
from polysched.frontends.scop.names import Names
from polysched.frontends.scop.pragmas import REASSOCIATE, pragma_of
from polysched.frontends.scop.rows import row_of
from polysched.frontends.scop.scope import ArrayBinding, EndedBinding, IntegerBinding, Scope
from polysched.frontends.scop.stores import Store, stored
from polysched.frontends.scop.subscripts import element_of, is_element
from polysched.frontends.scop.types import CType, declared_type
from polysched.frontends.scop.usage import Usage, base_name, usage_of
from polysched.frontends.scop.values import Decisions, Values, c_type_of
from polysched.frontends.scop.variables import bind_enumerators, is_table
from polysched.ir.builder import KernelBuilder
from polysched.ir.dtypes import DType, NumberKind, boolean
from polysched.ir.expressions import Expression, Index, Load
from polysched.ir.kernel import Order
from polysched.ir.traversal import walk

_REFUSED: Mapping[type[c_ast.Node], str] = {
    c_ast.While: "a while loop; expected a for loop whose bounds are affine",
    c_ast.DoWhile: "a do loop; expected a for loop whose bounds are affine",
    c_ast.Break: "break leaves a loop early; expected loops that run to their end",
    c_ast.Continue: "continue that does not end an if of the body; expected an if around the rest",
    c_ast.Goto: "a jump; expected for loops and ifs",
    c_ast.Switch: "a switch; expected ifs",
    c_ast.Return: "return inside the region; expected it as the function's last statement",
    c_ast.FuncCall: "a call as a statement has side effects; expected an assignment",
}
_CHANGES = {"p++": "+=", "++": "+=", "p--": "-=", "--": "-="}
_SUPPORTED = "expected assignments, for loops and ifs"


@dataclass(frozen=True)
class Statements:
    """Declares the statements of a region.

    Attributes:
        scope: what names mean; the nest that is open in `build` too.
        usage: of the region's names.
        arrays: names of arrays, `labels`: of statements.
        guards: the conditions on data around.
        unset: local variables that nothing has been assigned to, with the loops around them.
    """

    scope: Scope
    build: KernelBuilder
    usage: Usage
    arrays: Names
    labels: Names = field(default_factory=Names)
    guards: tuple[Expression, ...] = ()
    unset: dict[str, tuple[str, ...]] = field(default_factory=dict)

    def all_of(self, nodes: tuple[c_ast.Node, ...]) -> None:
        """Declare statements, in a block of their own.

        Raises:
            FrontendError: one is nothing that a kernel can do.
        """
        with self.scope.block():
            order: Order | None = None
            for node in nodes:
                pragma = pragma_of(node, self.scope.places)
                if pragma is not None and pragma[0] == REASSOCIATE:
                    order = Order.ANY
                elif not isinstance(node, c_ast.Pragma):
                    self._statement(node, None, order)
                    order = None

    def tables(self, nodes: Iterable[c_ast.Decl]) -> None:
        """Declare constant arrays from around the region, in the block that is open.

        Raises:
            FrontendError: one has values that no kernel can have.
        """
        for node in nodes:
            self._declaration(node)

    def _statement(self, node: c_ast.Node, label: str | None, order: Order | None) -> None:
        match node:
            case c_ast.Compound(block_items=items):
                self.all_of(tuple(items or ()))
            case c_ast.For():
                self._loop(node)
            case c_ast.If():
                self._branch(node)
            case c_ast.Assignment():
                self._assignment(node, node.lvalue, node.op, node.rvalue, label, order)
            case c_ast.UnaryOp(op=operator, expr=target) if operator in _CHANGES:
                one = c_ast.Constant("int", "1", node.coord)
                self._assignment(node, target, _CHANGES[operator], one, label, order)
            case c_ast.Label(name=name, stmt=inner):
                self._statement(inner, name, order)
            case c_ast.Decl():
                self._declaration(node)
            case c_ast.DeclList(decls=nodes) | c_ast.ExprList(exprs=nodes):
                for inner in nodes:
                    self._statement(inner, label, order)
            case c_ast.EmptyStatement():
                pass
            case c_ast.Cast(to_type=c_ast.Typename(), expr=c_ast.ID()):
                pass  # (void)x; keeps compilers quiet
            case _:
                what = _REFUSED.get(type(node), f"a statement without effect; {_SUPPORTED}")
                raise self.scope.error(node, what)

    # -- loops and conditions --------------------------------------------------------------------

    def _loop(self, node: c_ast.For) -> None:
        start = loop_start(self.scope, node)
        index = self.arrays.free(start.name, self.scope.indices)
        header = loop_header(self.scope, node, start, index)
        bounds = (header.first, header.end, header.step)
        with contextlib.ExitStack() as stack:
            if header.guard is not None:
                stack.enter_context(self._where(node, header.guard))
            with self._reported(node):
                stack.enter_context(self.build.loops(**{index: bounds}))
            stack.enter_context(self.scope.loop(index, *bounds))
            stack.enter_context(self.scope.block())
            self.scope.bind(start.name, IntegerBinding(Index(index), start.dtype))
            self.all_of((without_continue(node.stmt),))

    def _branch(self, node: c_ast.If, parts: int = 0) -> None:
        """Declare both sides; `parts` of the condition are known by now."""
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
                    f"more than {MOST_CASES} cases of a condition that depends on data in part; "
                    "expected fewer in one if",
                ) from None
            for outcome in (True, False):
                with self._where(part.node, part.condition if outcome else ~part.condition):
                    if self.scope.is_reached():
                        self._decided(node, decided(node.cond, part.node, outcome), parts + 1)
            return
        for branch, taken in ((node.iftrue, holds), (node.iffalse, ~holds)):
            if branch is not None:
                with self._where(node.cond, taken):
                    self.all_of((branch,))

    def _decided(self, node: c_ast.If, rest: c_ast.Node | bool, parts: int) -> None:
        """An if whose condition is what is left of it where a part is known."""
        if not isinstance(rest, bool):
            self._branch(c_ast.If(rest, node.iftrue, node.iffalse, node.coord), parts)
            return
        branch = node.iftrue if rest else node.iffalse
        if branch is not None:
            self.all_of((branch,))

    def _branch_over_data(self, node: c_ast.If, not_affine: FrontendError) -> None:
        """Both sides are computed; what they assign to stays as it is where they are not taken."""
        holds = Values(self.scope).truth(node.cond)
        nodes = list(walk(holds))
        reads = {one.array for one in nodes if isinstance(one, Load)}
        if not reads and any(one.dtype and one.dtype.kind is NumberKind.UNSIGNED for one in nodes):
            raise not_affine
        first, second = only_assignment(node.iftrue), only_assignment(node.iffalse)
        if first is not None and second is not None and self._is_same_target(first, second):
            binding, _ = element_of(self.scope, first.lvalue)
            self._statement(as_choice(node, first, second, binding.dtype), None, None)
            return
        is_only = first is not None and node.iffalse is None
        if not is_only and reads & self._assigned_in(node):
            holds = self._kept(node.cond, holds)
        for branch, taken in ((node.iftrue, holds), (node.iffalse, ~holds)):
            if branch is not None:
                replace(self, guards=(*self.guards, taken)).all_of((branch,))

    def _is_same_target(self, first: c_ast.Assignment, second: c_ast.Assignment) -> bool:
        """Whether two assignments without an operator are to one element."""
        texts = {self.scope.places.source_of(one.lvalue) for one in (first, second)}
        return first.op == second.op == "=" and len(texts) == 1

    def _assigned_in(self, node: c_ast.If) -> set[str]:
        """The arrays of the kernel that an if may assign to."""
        found = map(self.scope.find, usage_of((node,)).assigned)
        return {one.array.name for one in found if isinstance(one, ArrayBinding)}

    def _kept(self, node: c_ast.Node, holds: Expression) -> Expression:
        """A condition as it is before the branch changes what it reads."""
        name = self.arrays.fresh("condition", self.scope.indices)
        with self._reported(node), self.build.located(self.scope.places.location(node)):
            handle = self.build.temporary(name, boolean, ())
            with self.build.statement(self.labels.fresh(name)):
                handle[()] = holds
            return handle[()]

    @contextmanager
    def _where(self, node: c_ast.Node, holds: Expression) -> Iterator[None]:
        """The inside of a condition."""
        with contextlib.ExitStack() as stack:
            with self._reported(node):
                stack.enter_context(self.build.where(holds))
            stack.enter_context(self.scope.assuming(holds))
            yield

    # -- assignments -----------------------------------------------------------------------------

    def _assignment(
        self,
        node: c_ast.Node,
        target: c_ast.Node,
        operator: str,
        value: c_ast.Node,
        label: str | None,
        order: Order | None,
    ) -> None:
        if isinstance(value, c_ast.Assignment):  # a = b = c
            self._statement(value, None, Order.EXACT)
            value = value.lvalue
        if not is_element(target):
            shown = self.scope.places.source_of(target)
            raise self.scope.error(target, f"'{shown}' cannot be assigned to; expected an element")
        name = self.scope.find(base_name(target))
        if isinstance(name, IntegerBinding) and isinstance(target, c_ast.ID):
            what = "a loop's variable" if name.is_index else "taken for a constant"
            raise self.scope.error(target, f"'{target.name}' is {what}, and cannot be assigned to")
        binding, _ = element_of(self.scope, target)
        if binding.is_const:
            raise self.scope.error(target, f"'{base_name(target)}' is const")
        guard = self._guard(binding)
        operator = operator.removesuffix("=")
        self._by_cases(Store(node, target, operator, value, label, order, guard), {})

    def _guard(self, binding: ArrayBinding) -> Expression | None:
        """The condition on data under which an assignment counts.

        None: it may be done anyway, since nothing else can see the value that is lost.
        """
        is_first = self.unset.pop(binding.array.name, None) == self.scope.indices
        guards = self.guards[binding.guards :]
        return None if is_first or not guards else reduce(and_, guards)

    def _by_cases(self, store: Store, decisions: Decisions) -> None:
        """Declare a statement once for each outcome of the conditions that guard its reads."""
        if not self.scope.is_reached():
            return
        case = next_case(self.scope, store.value, decisions)
        if case is None:
            self._store(store, decisions)
            return
        if 2 ** (len(decisions) + 1) > MOST_CASES:
            raise self.scope.error(
                store.value,
                f"more than {MOST_CASES} cases of conditions that guard reads; expected fewer in "
                "one statement",
            )
        for outcome in (True, False):
            holds = case.condition if outcome else ~case.condition
            with self._where(case.node, holds):
                self._by_cases(store, {**decisions, case.node: outcome})

    def _store(self, store: Store, decisions: Decisions) -> None:
        binding, subscripts = element_of(self.scope, store.target)
        location = self.scope.places.location(store.target)
        own = binding.element(subscripts, location)
        value = stored(store, Values(self.scope, decisions), own)
        if self.labels.count >= MOST_STATEMENTS:
            raise self.scope.error(store.node, TOO_MANY_STATEMENTS)
        name = self.labels.fresh(store.label or binding.array.name)
        with (
            self._reported(store.node),
            self.build.located(location),
            self.build.statement(name, order=store.order),
        ):
            binding.handle[subscripts] = value

    @contextmanager
    def _reported(self, node: c_ast.Node) -> Iterator[None]:
        """What the builder refuses is an error at a node."""
        try:
            yield
        except KernelError as error:
            raise self.scope.error(node, str(error)) from None

    # -- declarations ----------------------------------------------------------------------------

    def _declaration(self, node: c_ast.Decl) -> None:
        bind_enumerators(self.scope, (node,), self.usage.used)
        if isinstance(node.type, c_ast.FuncDecl) or node.name not in self.usage.used:
            return
        if self.scope.is_own(node.name):
            raise self.scope.error(node, f"'{node.name}' is declared twice in this block")
        for storage in ("static", "extern"):
            if storage in (node.storage or ()) and not is_table(node):
                raise self.scope.error(
                    node, f"'{node.name}' is {storage}; expected a variable of the region's own"
                )
        found = declared_type(node.type, self.scope.typedefs, self.scope.places, node)
        if found.is_pointer and node.init is not None:
            row = row_of(self.scope, node.init)
            if row is not None and row.dtype == found.dtype and row.rank == len(found.dims):
                is_const = row.is_const or found.is_const
                self.scope.bind(node.name, replace(row, is_const=is_const))
                return
        if found.is_pointer or found.dtype is None:
            raise self.scope.error(
                node,
                f"'{node.name}' is a pointer inside the region, which could lead anywhere; use the "
                "array itself, or a pointer to its type that does not move: T *row = A[i];",
            )
        if found.dims:
            self._local_array(node, found)
        elif node.name in self.usage.loop_variables and node.name not in self.usage.assigned:
            self.scope.bind(node.name, EndedBinding(node, found.dtype))
        elif not self._constant(node, found.dtype):
            name = self._local(node, found.dtype, ())
            self.unset[name] = self.scope.indices
            if node.init is not None:
                target = c_ast.ID(node.name, node.coord)
                self._assignment(node, target, "=", node.init, None, Order.EXACT)

    def _constant(self, node: c_ast.Decl, dtype: DType) -> bool:
        """Bind an integer that never changes and is affine; whether it is one."""
        is_fixed = node.init is not None and node.name not in self.usage.assigned
        if not is_fixed or not dtype.is_integer:
            return False
        try:
            value = in_type(self.scope, node.init, affine(self.scope, node.init), dtype)
        except FrontendError:
            return self._polynomial(node, dtype)
        self.scope.bind(node.name, IntegerBinding(value.value, dtype))
        return True

    def _polynomial(self, node: c_ast.Decl, dtype: DType) -> bool:
        """Bind ``int row = i * m;``; whether it is such a number."""
        try:
            value = polynomial_value(self.scope, node.init)
            given = c_type_of(Values(self.scope).value(node.init))
        except FrontendError:
            return False
        if not (dtype.is_signed and given.is_signed and given.bits <= dtype.bits):
            return False  # it may be another number there
        self.scope.bind(node.name, IntegerBinding(value, dtype, is_affine=False))
        return True

    def _local_array(self, node: c_ast.Decl, found: CType) -> None:
        found = completed(self.scope, node, found)
        extents = []
        for dim in found.dims:
            if dim is None:
                raise self.scope.error(node, f"the extent of '{node.name}' is not declared")
            extents.append(affine(self.scope, dim).value)
        assert found.dtype is not None
        self._local(node, found.dtype, tuple(extents))
        if node.init is not None:
            for target, value in initial_values(self.scope, node, found):
                self._assignment(target, target, "=", value, None, Order.EXACT)
        binding = self.scope.find(node.name)
        assert isinstance(binding, ArrayBinding)
        self.scope.bind(node.name, replace(binding, is_const=found.is_const))

    def _local(self, node: c_ast.Decl, dtype: DType, extents: tuple[Expression, ...]) -> str:
        """Declare a variable of a block; its name in the kernel."""
        name = self.arrays.fresh(node.name, self.scope.indices)
        location = self.scope.places.location(node)
        with self._reported(node), self.build.located(location):
            handle = self.build.temporary(name, dtype, extents)
        self.scope.bind(node.name, ArrayBinding(handle, guards=len(self.guards)))
        return name

"""Translate C statements to statements of a kernel."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from math import prod

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.limits import MOST_STATEMENTS, TOO_MANY_STATEMENTS
from polysched.frontends.scop.affine.bindings import ArrayBinding, EndedBinding, IntegerBinding
from polysched.frontends.scop.affine.enumerators import bind_enumerators
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.integer_types import in_type
from polysched.frontends.scop.affine.linearized import polynomial_value
from polysched.frontends.scop.affine.loops import loop_header, loop_start
from polysched.frontends.scop.affine.rows import row_of
from polysched.frontends.scop.affine.subscripts import element_of, is_element, moved_pointer
from polysched.frontends.scop.declare.variables import is_table
from polysched.frontends.scop.rewrites.usage import base_name
from polysched.frontends.scop.source.pragmas import REASSOCIATE, pragma_of
from polysched.frontends.scop.statements.branches import require_no_null_check, without_continue
from polysched.frontends.scop.statements.cases import MOST_CASES, next_case
from polysched.frontends.scop.statements.computed_subscripts import with_index_variables
from polysched.frontends.scop.statements.fills import as_loops, is_fill
from polysched.frontends.scop.statements.initial_values import completed, initial_values, is_zero
from polysched.frontends.scop.statements.sides import Branches
from polysched.frontends.scop.statements.stores import Store, stored
from polysched.frontends.scop.statements.values import (
    Decisions,
    Values,
    c_type_of,
    converted,
    selected,
)
from polysched.frontends.scop.types.c_types import CType, declared_type, type_range
from polysched.ir.core.data_dependent import ABSENT
from polysched.ir.core.kernel import Order
from polysched.ir.expr.dtypes import DType, i64
from polysched.ir.expr.expressions import Constant, Expression, Index

_REFUSED: Mapping[type[c_ast.Node], str] = {
    c_ast.While: "a while loop; expected a for loop with affine bounds",
    c_ast.DoWhile: "a do loop; expected a for loop with affine bounds",
    c_ast.Break: "break leaves a loop early; expected loops that run to their end",
    c_ast.Continue: "continue must end an if directly inside the loop body; expected an if around "
    "the rest of the body",
    c_ast.Goto: "a goto; expected for loops and ifs",
    c_ast.Switch: "a switch with a case that does not end in break, or that changes what it "
    "switches on; expected ifs",
    c_ast.Return: "return inside the region; expected it as the function's last statement",
    c_ast.FuncCall: "a call as a statement has side effects; expected an assignment",
}
MOST_FILLED = 256
"""Largest number of elements of a local array that is filled because conditions on data skip
assignments: filling costs a few nanoseconds. Larger arrays have to be assigned certainly.
"""
_CHANGES = {"p++": "+=", "++": "+=", "p--": "-=", "--": "-="}
_SUPPORTED = "expected assignments, for loops and ifs"


class Statements(Branches):
    """Translator of the statements of a region."""

    def declare_all(self, nodes: tuple[c_ast.Node, ...]) -> None:
        """Declare statements in a new block."""
        with self.scope.block():
            order: Order | None = None
            for node in nodes:
                pragma = pragma_of(node, self.scope.source_map)
                if pragma is not None and pragma[0] == REASSOCIATE:
                    order = Order.ANY
                elif not isinstance(node, c_ast.Pragma):
                    self._statement(node, None, order)
                    order = None

    def declare_tables(self, nodes: Iterable[c_ast.Decl]) -> None:
        """Declare the constant arrays from outside the region, in the current block."""
        for node in nodes:
            self._declaration(node)

    def _statement(self, node: c_ast.Node, label: str | None, order: Order | None) -> None:
        match node:
            case c_ast.Compound(block_items=items):
                self.declare_all(tuple(items or ()))
            case c_ast.For():
                self._loop(node)
            case c_ast.If():
                require_no_null_check(self.scope, node.cond)
                self.declare_if(node)
            case c_ast.Assignment():
                self._assignment(node, node.lvalue, node.op, node.rvalue, label, order)
            case c_ast.UnaryOp(op=operator, expr=target) if operator in _CHANGES:
                step = c_ast.Constant("int", "1", node.coord)
                self._assignment(node, target, _CHANGES[operator], step, label, order)
            case c_ast.Label(name=name, stmt=inner):
                self._statement(inner, name, order)
            case c_ast.Decl():
                self._declaration(node)
            case c_ast.DeclList(decls=nodes) | c_ast.ExprList(exprs=nodes):
                for inner in nodes:
                    self._statement(inner, label, order)
            case c_ast.FuncCall() if is_fill(node):
                loops = as_loops(self.scope, node)
                copies = [loop.name for loop in loops if isinstance(loop, c_ast.Decl)]
                usage = replace(self.usage, used=(*self.usage.used, *copies))
                replace(self, usage=usage).declare_all(loops)
            # (void)x; prevents warnings of unused variables; a disabled assertion is (void)0;
            case (
                c_ast.EmptyStatement()
                | c_ast.Cast(to_type=c_ast.Typename(), expr=c_ast.ID() | c_ast.Constant())
            ):
                pass
            case _:
                reason = _REFUSED.get(type(node), f"a statement without effect; {_SUPPORTED}")
                raise self.scope.error(node, reason)

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, node: c_ast.For) -> None:
        start = loop_start(self.scope, node)
        index = self.arrays.free(start.name, self.scope.indices)
        header = loop_header(self.scope, node, start, index)
        bounds = (header.first, header.end, header.step)
        with contextlib.ExitStack() as stack:
            if header.guard is not None:
                stack.enter_context(self.where(node, header.guard))
            with self.reported(node):
                stack.enter_context(self.build.loops(**{index: bounds}))
            stack.enter_context(self.scope.loop(index, *bounds))
            stack.enter_context(self.scope.block())
            self.scope.bind(start.name, IntegerBinding(Index(index), start.dtype))
            self.declare_all((without_continue(node.stmt),))

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
        if self.scope.is_reached():
            guards = len(self.guards)
            target, value = (
                with_index_variables(self.scope, part, self.index_variable, guards=guards)
                for part in (target, value)
            )
        if not is_element(target):
            shown = self.scope.source_map.text(target)
            raise self.scope.error(target, f"'{shown}' cannot be assigned to; expected an element")
        named = self.scope.find(base_name(target))
        if isinstance(named, IntegerBinding) and isinstance(target, c_ast.ID):
            kind = "a loop variable" if named.is_index else "a constant"
            raise self.scope.error(target, f"'{target.name}' is {kind} and cannot be assigned to")
        if isinstance(target, c_ast.ID) and isinstance(named, ArrayBinding) and named.rank:
            raise moved_pointer(self.scope, node, target.name)
        binding, _ = element_of(self.scope, target)
        if binding.is_const:
            raise self.scope.error(target, f"'{base_name(target)}' is const")
        guard, reached = self.guard(binding), self.reached
        operator = operator.removesuffix("=")
        self._by_cases(Store(node, target, operator, value, label, order, guard, reached), {})

    def _by_cases(self, store: Store, decisions: Decisions) -> None:
        """Declare a statement once per outcome of the affine conditions that guard its reads."""
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
            with self.where(case.node, holds):
                self._by_cases(store, {**decisions, case.node: outcome})

    def _store(self, store: Store, decisions: Decisions) -> None:
        binding, subscripts = element_of(self.scope, store.target)
        location = self.scope.source_map.location(store.target)
        own = binding.element(subscripts, location)
        value = stored(store, Values(self.scope, decisions), own)
        if self.labels.count >= MOST_STATEMENTS:
            raise self.scope.error(store.node, TOO_MANY_STATEMENTS)
        if self.scope.is_too_nested(value):
            raise self.scope.error(
                store.node,
                "conditions on data around this assignment are nested too deeply; expected fewer, "
                "or declared extents of the arrays, as in 'x[n]'",
            )
        name = self.labels.fresh(store.label or binding.array.name)
        with (
            self.reported(store.node),
            self.build.located(location),
            self.build.statement(name, order=store.order),
        ):
            binding.handle[subscripts] = value

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
        ctype = declared_type(node.type, self.scope.typedefs, self.scope.source_map, node)
        if ctype.is_pointer and node.init is not None:
            init = node.init.expr if isinstance(node.init, c_ast.Cast) else node.init
            row = row_of(self.scope, init)
            if row is not None and row.dtype == ctype.dtype and row.rank == len(ctype.dims):
                is_const = row.is_const or ctype.is_const
                self.scope.bind(node.name, replace(row, is_const=is_const))
                return
        if ctype.is_pointer or ctype.dtype is None:
            raise self.scope.error(
                node,
                f"'{node.name}' is a pointer that is not initialized to a row of an array of the "
                "same type; use the array itself, or a pointer that never moves, as in T *row = "
                "A[i];",
            )
        if ctype.dims:
            self._local_array(node, ctype)
        elif node.name in self.usage.loop_variables and node.name not in self.usage.assigned:
            self.scope.bind(node.name, EndedBinding(node, ctype.dtype))
        elif not self._constant(node, ctype.dtype):
            self._local_number(node, ctype.dtype)

    def index_variable(
        self, node: c_ast.Node, extent: Expression, *, is_optional: bool = False
    ) -> str:
        """Declare a variable that holds a subscript below an extent; return its name in C."""
        name = self.arrays.fresh("subscript", self.scope.indices)
        while self.scope.find(name) is not None:
            name = self.arrays.fresh(name, self.scope.indices)
        with self.reported(node), self.build.located(self.scope.source_map.location(node)):
            lowest = ABSENT if is_optional else 0
            handle = self.build.temporary(name, i64, (), values=(lowest, extent))
            value = converted(Values(self.scope).value(node), i64)
            if is_optional and self.reached is not None:
                value = selected(self.reached, value, Constant(ABSENT, i64))
            with self.build.statement(self.labels.fresh(name)):
                handle[()] = value
        self.scope.bind(name, ArrayBinding(handle, guards=len(self.guards)))
        return name

    def _constant(self, node: c_ast.Decl, dtype: DType) -> bool:
        """Bind a local integer that never changes and is affine; return False for any other."""
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
        """Bind a local polynomial such as ``int row = i * m;``; return False for any other."""
        try:
            value = polynomial_value(self.scope, node.init)
            source = c_type_of(Values(self.scope).value(node.init))
        except FrontendError:
            return False
        if not (dtype.is_signed and source.is_signed and source.bits <= dtype.bits):
            return False  # the conversion may change the value
        self.scope.bind(node.name, IntegerBinding(value, dtype, is_affine=False))
        return True

    def _local_number(self, node: c_ast.Decl, dtype: DType) -> None:
        name = self._local(node, dtype, ())
        init = node.init
        if init is None and node.name in self.usage.maybe_unset:
            # An assignment that a condition on data skips keeps the value before it.
            init = c_ast.Constant("int", "0", node.coord)
        if init is not None:
            target = c_ast.ID(node.name, node.coord)
            self._assignment(node, target, "=", init, None, Order.EXACT)
        if node.init is None:
            self.unset[name] = self.scope.indices

    def _local_array(self, node: c_ast.Decl, declared: CType) -> None:
        ctype = completed(self.scope, node, declared)
        extents = []
        for dim in ctype.dims:
            if dim is None:
                raise self.scope.error(node, f"the extent of '{node.name}' is not declared")
            extents.append(affine(self.scope, dim).value)
        assert ctype.dtype is not None
        self._local(node, ctype.dtype, tuple(extents), self._range(node, ctype))
        is_set = node.init is None and node.name in self.usage.maybe_unset
        numbers = [int(extent.value) for extent in extents if isinstance(extent, Constant)]
        is_small = len(numbers) == len(extents) and prod(numbers) <= MOST_FILLED
        # An assignment that a condition on data skips keeps the element before it.
        if (is_set and is_small) or (node.init is not None and is_zero(node.init)):
            size = c_ast.UnaryOp("sizeof", c_ast.ID(node.name, node.coord), node.coord)
            zero = c_ast.Constant("int", "0", node.coord)
            arguments = c_ast.ExprList([c_ast.ID(node.name, node.coord), zero, size])
            call = c_ast.FuncCall(c_ast.ID("memset", node.coord), arguments, node.coord)
            self.declare_all(as_loops(self.scope, call))
        elif node.init is not None:
            for target, value in initial_values(self.scope, node, ctype):
                self._assignment(target, target, "=", value, None, Order.EXACT)
        binding = self.scope.find(node.name)
        assert isinstance(binding, ArrayBinding)
        self.scope.bind(node.name, replace(binding, is_const=ctype.is_const))

    def _range(self, node: c_ast.Decl, ctype: CType) -> tuple[int, int] | None:
        """Return the range of a constant table of integers; None for any other array."""
        if not is_table(node) or ctype.dtype is None or not ctype.dtype.is_integer:
            return None
        try:
            numbers = [
                affine(self.scope, value).number
                for _, value in initial_values(self.scope, node, ctype)
            ]
        except FrontendError:
            return None
        least, greatest = type_range(ctype.dtype)
        known = [number for number in numbers if number is not None and least <= number <= greatest]
        return (min(known), max(known) + 1) if known and len(known) == len(numbers) else None

    def _local(
        self,
        node: c_ast.Decl,
        dtype: DType,
        extents: tuple[Expression, ...],
        values: tuple[int, int] | None = None,
    ) -> str:
        """Declare a temporary for a local variable; return its name in the kernel."""
        name = self.arrays.fresh(node.name, self.scope.indices)
        location = self.scope.source_map.location(node)
        with self.reported(node), self.build.located(location):
            handle = self.build.temporary(name, dtype, extents, values=values)
        binding = ArrayBinding(handle, guards=len(self.guards), is_object=True)
        self.scope.bind(node.name, binding)
        return name

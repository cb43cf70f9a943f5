"""Checking what isl generated: every statement instance runs exactly once.

isl's AST generation has been seen to lose instances (a strided triangle in vectors: isl's stride
detection across nested bands). So nothing is taken on trust: the iterations of each assignment are
read back from the loops around it as a set, and their images, the instances, must not overlap and
must add up to the statement's domain. This is translation validation (Pnueli, Siegel, Singerman:
"Translation validation", TACAS 1998) of the one step that polysched does not do itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import islpy as isl

from polysched.ir.affine import instance_space, to_pw_aff, to_set
from polysched.ir.expressions import Constant, Expression, Index, Operation, Operator, equal
from polysched.ir.kernel import Statement
from polysched.ir.linear import LinearForm, linear_form
from polysched.loops.nodes import Allocate, Assign, Block, For, If, LoopNode


@dataclass(frozen=True)
class Miscovered:
    """A statement of which the loops run too few, too many or repeated instances."""

    statement: str
    what: str


def miscovered(
    body: LoopNode, statements: Mapping[str, Statement], context: isl.Set
) -> Miscovered | None:
    """The first statement that the loops do not run exactly once for every instance, if any."""
    parameters = [context.get_dim_name(isl.dim_type.param, i) for i in range(context.n_param())]
    collector = _Collector(statements, [name for name in parameters if name], context)
    collector.visit(body, (), ())
    for name, statement in statements.items():
        ran = collector.ran.get(name)
        domain = statement.domain
        if ran is None:
            if not domain.is_empty():
                return Miscovered(name, f"never run {domain.sample_point()}")
        elif not ran.is_equal(domain):
            lost = domain.subtract(ran)
            if not lost.is_empty():
                return Miscovered(name, f"do not run {lost.sample_point()}")
            return Miscovered(name, f"run {ran.subtract(domain).sample_point()} as well")
        if name in collector.repeated:
            return Miscovered(name, f"run {collector.repeated[name].sample_point()} twice")
    return None


class _Collector:
    """Reads the instances that loops run, leaf by leaf."""

    def __init__(
        self, statements: Mapping[str, Statement], parameters: list[str], context: isl.Set
    ) -> None:
        self.statements = statements
        self.parameters = parameters
        self.context = context
        self.ran: dict[str, isl.Set] = {}
        self.repeated: dict[str, isl.Set] = {}

    def visit(
        self, node: LoopNode, variables: tuple[str, ...], conditions: tuple[Expression, ...]
    ) -> None:
        match node:
            case For(variable=variable, lower=lower, upper=upper, step=step, body=body):
                index = Index(variable)
                added = (*at_least(index, lower), *at_most(index, upper - 1))
                if step != 1:
                    added = (*added, equal((index - lower) % step, 0))
                self.visit(body, (*variables, variable), (*conditions, *added))
            case If(condition=condition, then=then, otherwise=otherwise):
                self.visit(then, variables, (*conditions, condition))
                if otherwise is not None:
                    self.visit(otherwise, variables, (*conditions, ~condition))
            case Block(children=children):
                for child in children:
                    self.visit(child, variables, conditions)
            case Allocate(body=body):
                self.visit(body, variables, conditions)
            case Assign():
                self._leaf(node, variables, conditions)

    def _leaf(
        self, node: Assign, variables: tuple[str, ...], conditions: tuple[Expression, ...]
    ) -> None:
        space = instance_space(self.parameters, "", variables)
        iterations = isl.Set.universe(space).intersect_params(self.context)
        for condition in conditions:
            iterations = iterations.intersect(to_set(condition, space))
        instances = isl.Map.from_domain(iterations)
        for value in node.instance:
            instances = instances.flat_range_product(isl.Map.from_pw_aff(to_pw_aff(value, space)))
        instances = instances.intersect_domain(iterations)
        instances = instances.set_tuple_name(isl.dim_type.out, node.statement)
        image = instances.range()
        if not instances.is_injective():
            self.repeated[node.statement] = image
        earlier = self.ran.get(node.statement)
        if earlier is not None:
            both = earlier.intersect(image)
            if not both.is_empty():
                self.repeated[node.statement] = both
            image = earlier.union(image)
        self.ran[node.statement] = image


def at_most(index: Index, bound: Expression) -> tuple[Expression, ...]:
    """The condition ``index <= bound`` as affine inequalities without minima and floors, if
    possible.

    ``i <= min(a, b)`` is two inequalities, and ``i <= floor(e / d) + r`` is ``d * (i - r) <= e``:
    isl decides them without case distinctions and without unknowns of its own.
    """
    return tuple(
        form.expression() <= 0
        for form in _not_positive(LinearForm(((index, 1),), 0).plus(linear_form(bound, {}), -1))
    )


def at_least(index: Index, bound: Expression) -> tuple[Expression, ...]:
    """The condition ``index >= bound`` in the same way, with maxima and rounding up."""
    return tuple(
        form.expression() <= 0
        for form in _not_positive(linear_form(bound, {}).plus(LinearForm(((index, 1),), 0), -1))
    )


def _not_positive(form: LinearForm) -> list[LinearForm]:
    """Forms that are all at most 0 exactly where ``form`` is."""
    for atom, coefficient in form.terms:
        rest = form.plus(LinearForm(((atom, 1),), 0), -coefficient)
        match atom:
            case Operation(operator=Operator.MAXIMUM, operands=operands) if coefficient > 0:
                pass
            case Operation(operator=Operator.MINIMUM, operands=operands) if coefficient < 0:
                pass
            case Operation(
                operator=Operator.FLOOR_DIVIDE, operands=(dividend, Constant(value=divisor))
            ) if coefficient == -1:
                # rest - floor(e / d) <= 0  is  d * rest <= e, for rest is an integer
                scaled = rest.times(int(divisor)).plus(linear_form(dividend, {}), -1)
                return _not_positive(scaled)
            case _:
                continue
        return [
            simpler
            for operand in operands
            for simpler in _not_positive(rest.plus(linear_form(operand, {}), coefficient))
        ]
    return [form]

"""Join the statements of both sides of a branch over data.

A branch that stores an element on each side becomes two statements, of which each keeps the element
where its side is not taken. Together they are one choice, which does not read the element::

    x = select(c, a, x);  x = select(not c, b, x)        x = select(c, a, b)
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import replace
from functools import reduce
from operator import and_
from types import MappingProxyType

from polysched.ir.core.kernel import Kernel, Role, Statement
from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, restrict
from polysched.ir.expr.dtypes import boolean
from polysched.ir.expr.expressions import Expression, Load, Operation, operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads, transform

_ORDERS = frozenset({Operator.LESS, Operator.LESS_EQUAL})


def with_joined_choices(kernel: Kernel, kept: Container[str] = ()) -> Kernel:
    """Return the kernel with one statement for neighbors that store an element in opposite cases.

    Args:
        kept: names of the statements that stay apart.
    """
    statements, arrays = dict(kernel.statements), dict(kernel.arrays)
    temporary = {name for name, array in arrays.items() if array.role is Role.TEMPORARY}
    for names in _runs(kernel.body):
        later, is_joined = names[-1], False
        for name in reversed(names[:-1]):
            joined = inlined = None
            if later not in kept:
                joined = _joined(statements[name], statements[later])
            if is_joined:
                inlined = _with_condition(statements, name, later)
            if joined is not None:
                statements[name] = joined
                del statements[later]
            elif inlined is not None and statements[name].target.array in temporary:
                statements[later] = inlined
                del arrays[statements.pop(name).target.array]
                continue
            later, is_joined = name, joined is not None
    if len(statements) == len(kernel.statements):
        return kernel
    body = restrict(kernel.body, frozenset(statements))
    assert body is not None
    return replace(
        kernel,
        arrays=MappingProxyType(arrays),
        statements=MappingProxyType(statements),
        body=body,
    )


def _with_condition(statements: Mapping[str, Statement], name: str, later: str) -> Statement | None:
    """Return a statement with the condition that the statement before it stores, if only it reads.

    The condition was stored because a side of the branch might change it. A choice reads all its
    operands before it stores.
    """
    condition, reader = statements[name], statements[later]
    target = condition.target
    readers = [other for other, each in statements.items() if _reads(each, target.array)]
    writers = [other for other, each in statements.items() if each.target.array == target.array]
    if readers != [later] or writers != [name] or not _same_instances(condition, reader):
        return None
    own = [load for load in loads(reader.value) if load.array == target.array]
    if condition.value.dtype != boolean or any(
        (load.subscripts, load.type) != (target.subscripts, boolean) for load in own
    ):
        return None

    def rule(part: Expression) -> Expression | None:
        if isinstance(part, Load) and part.array == target.array:
            return condition.value
        if isinstance(part, Operation) and part.operator is Operator.SELECT:
            return _extremum(*part.operands)
        return None

    return replace(reader, value=transform(reader.value, rule))


def _reads(statement: Statement, array: str) -> bool:
    return any(access.array == array for access in statement.reads)


def _runs(node: Node) -> Iterator[list[str]]:
    """Yield the statements of each sequence, as far as they stand directly in it."""
    match node:
        case Loop(body=body):
            yield from _runs(body)
        case Sequence(children=children):
            run: list[str] = []
            for child in children:
                if isinstance(child, Leaf):
                    run.append(child.statement)
                    continue
                if run:
                    yield run
                run = []
                yield from _runs(child)
            if run:
                yield run


def _joined(first: Statement, second: Statement) -> Statement | None:
    """Return one statement for two that store an element in opposite cases; None for others."""
    target = first.target
    cases, others = _cases(first), _cases(second)
    if cases is None or others is None or target != second.target:
        return None
    if first.indices != second.indices or not _same_instances(first, second):
        return None
    shared = [case for case in cases if case in others]
    own = [case for case in cases if case not in shared]
    opposite = [case for case in others if case not in shared]
    if len(own) != 1 or len(opposite) != 1 or not _are_opposite(own[0], opposite[0]):
        return None
    # The second condition is evaluated after the first store.
    decided = (*cases, *others, *target.subscripts)
    if any(load.array == target.array for part in decided for load in loads(part)):
        return None
    value = _choice(own[0], _stored(first), _stored(second))
    if shared:
        kept = Load(target.array, target.subscripts, _stored(first).dtype)  # type: ignore[arg-type]
        value = operation(Operator.SELECT, reduce(and_, shared), value, kept)
    return replace(first, value=value)


def _cases(statement: Statement) -> list[Expression] | None:
    """Return the conditions under which a statement stores; None if it stores unconditionally."""
    match statement.value:
        case Operation(
            operator=Operator.SELECT, operands=(condition, _, Load(array=array, subscripts=at))
        ) if (array, at) == (statement.target.array, statement.target.subscripts):
            return list(_conjuncts(condition))
    return None


def _conjuncts(condition: Expression) -> Iterator[Expression]:
    if isinstance(condition, Operation) and condition.operator is Operator.AND:
        for operand in condition.operands:
            yield from _conjuncts(operand)
    else:
        yield condition


def _stored(statement: Statement) -> Expression:
    assert isinstance(statement.value, Operation)
    return statement.value.operands[1]


def _same_instances(first: Statement, second: Statement) -> bool:
    return bool(first.domain.reset_tuple_id().is_equal(second.domain.reset_tuple_id()))


def _are_opposite(first: Expression, second: Expression) -> bool:
    return any(
        isinstance(negated, Operation)
        and negated.operator is Operator.NOT
        and negated.operands == (other,)
        for negated, other in ((first, second), (second, first))
    )


def _choice(condition: Expression, if_true: Expression, if_false: Expression) -> Expression:
    if isinstance(condition, Operation) and condition.operator is Operator.NOT:
        return _choice(condition.operands[0], if_false, if_true)
    extremum = _extremum(condition, if_true, if_false)
    if extremum is not None:
        return extremum
    return operation(Operator.SELECT, condition, if_true, if_false)


def _extremum(
    condition: Expression, if_true: Expression, if_false: Expression
) -> Expression | None:
    """Return ``a < b ? a : b`` of integers and its like as a minimum or maximum."""
    if not isinstance(condition, Operation) or condition.operator not in _ORDERS:
        return None
    if if_true.dtype is None or not if_true.dtype.is_integer:
        return None
    if condition.operands == (if_true, if_false):
        return operation(Operator.MINIMUM, if_true, if_false)
    if condition.operands == (if_false, if_true):
        return operation(Operator.MAXIMUM, if_true, if_false)
    return None

from dataclasses import replace

import pytest

from polysched.errors import KernelError
from polysched.fuzz.generate.sketch import (
    ArraySketch,
    AssignSketch,
    LoopSketch,
    WhereSketch,
    assignments,
    declare,
)
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, Index, as_expression
from polysched.ir.semantics.points import points
from tests.fuzz.judging import APART, INDEX, N, chain, element


def test_a_kernel_is_declared() -> None:
    kernel = declare(chain(element("A", INDEX + 1) + 2, order=Order.ANY))
    statement = kernel.statements["S"]
    assert str(statement) == "S: A[(i + 1)] = (A[(i + 1)] + 2)"
    assert statement.reduction is not None
    assert statement.reduction.order is Order.ANY
    assert [str(extent) for extent in kernel.arrays["A"].shape] == ["(N + 4)"]
    assert kernel.parameters == ("N",)


def test_loops_and_conditions() -> None:
    (loop,) = APART.body
    assert isinstance(loop, LoopSketch)
    (statement,) = loop.body
    inner = LoopSketch("j", INDEX, N, 2, (WhereSketch(Index("j") < 4, (statement,)),))
    sketch = replace(APART, body=(replace(loop, lower=Constant(1), body=(inner,)),))
    domain = declare(sketch).statements["S"].domain
    assert points(domain, {"N": 6}).tolist() == [[1, 1], [1, 3], [2, 2], [3, 3]]
    assert [one.name for one in assignments(sketch.body)] == ["S"]


def test_every_role() -> None:
    arrays = [ArraySketch(role.value, role, i32, (N,)) for role in Role]
    body = tuple(
        AssignSketch(role.value[0], element(role.value, as_expression(0)), as_expression(1))
        for role in Role
        if role is not Role.INPUT
    )
    kernel = declare(replace(APART, arrays=tuple(arrays), body=body))
    assert {name: array.role for name, array in kernel.arrays.items()} == {
        role.value: role for role in Role
    }


def test_what_is_no_kernel() -> None:
    with pytest.raises(KernelError, match="has no statements"):
        declare(replace(APART, body=()))

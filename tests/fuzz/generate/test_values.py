import random

import pytest

from polysched.fuzz.generate.drafting import Draft, element, new_array
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.sketch import ParameterSketch, assignments
from polysched.fuzz.generate.values import number, reduction, value
from polysched.ir.core.kernel import Access, Order, Role
from polysched.ir.declare.declarations import as_reduction
from polysched.ir.expr.dtypes import DType, as_dtype, f32, f64, i8, i32, u16
from polysched.ir.expr.expressions import Cast, Constant, Expression, Index
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import loads, walk


def draft(seed: int, limits: Limits) -> Draft:
    made = Draft(random.Random(seed).randint, limits, (ParameterSketch("N", 0, 4),), numbered=False)
    made.scope += [Index("i"), Index("j")]
    return made


@pytest.mark.parametrize("dtype", [i32, f64])
@pytest.mark.parametrize("exact", [False, True])
def test_reductions(dtype: DType, exact: bool) -> None:
    made = draft(1, Limits(dtype=dtype, exact=exact))
    target = element(made, new_array(made, Role.INOUT, 1))
    other = new_array(made, Role.INPUT, 1)
    orders = set()
    for _ in range(30):
        one = reduction(made, "S", target, element(made, other), Order.ANY)
        access = Access(target.array, target.subscripts)
        found = as_reduction(access, one.value, one.order)[1]
        assert found is not None
        orders.add((found.operator is Operator.ADD, one.order))
    assert ((True, Order.ANY) in orders) == (dtype is i32 or not exact)
    assert (False, Order.ANY) in orders


@pytest.mark.parametrize("target", [i32, i8, u16, f32, as_dtype("u5"), as_dtype("i1")], ids=str)
def test_a_value_has_the_type_of_its_target(target: DType) -> None:
    limits = Limits(dtype=target, others=(i8, f64, as_dtype("u3")), exact=True)
    texts = []
    for seed in range(60):
        made = draft(seed, limits)
        arrays = [new_array(made, Role.INPUT, 1) for _ in range(3)]
        found = value(made, arrays, target)
        assert found.dtype == target
        texts.append(str(found))
    made.scope.clear()
    assert value(made, [], target) == number(1, target)
    if target.is_integer and target.bits > 1:
        assert any("min(" in text and text.startswith(f"{target}(") for text in texts)  # saturated
        assert any(not text.startswith(f"{target}(") for text in texts)


def test_numbers_wrap() -> None:
    assert number(5, as_dtype("i3")) == Constant(-3)
    assert number(5, i32) == Constant(5)


def is_from_float(expression: Expression) -> bool:
    return any(
        isinstance(node, Cast)
        and node.dtype.is_integer
        and any(load.dtype.is_float for load in loads(node.operand))
        for node in walk(expression)
    )


@pytest.mark.parametrize("dtype", [i32, f32])
def test_integers_depend_on_floats_only_where_these_are_exact(dtype: DType) -> None:
    found = {True: 0, False: 0}
    for exact in found:
        limits = Limits(dtype=dtype, others=(f64, i8), exact=exact)
        for seed in range(60):
            sketch = random_sketch(random.Random(seed).randint, limits)
            assert sketch.fp_contract is not exact
            found[exact] += sum(is_from_float(one.value) for one in assignments(sketch.body))
    assert found[False] == 0
    assert found[True] >= 10

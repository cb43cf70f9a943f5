import random
from collections import Counter

import pytest

from polysched.errors import KernelError
from polysched.fuzz.generate.kernels import DEFAULT_LIMITS, random_sketch
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.python_text import kernel_lines
from polysched.fuzz.generate.sketch import assignments, declare
from polysched.fuzz.judge.enumeration import enumerate_kernel
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Operation
from polysched.ir.expr.operators import Operator
from polysched.ir.expr.traversal import walk


def kernels(count: int, limits: Limits = DEFAULT_LIMITS) -> list[tuple[str, Kernel]]:
    found = []
    for seed in range(count):
        sketch = random_sketch(random.Random(seed).randint, limits)
        try:
            found.append(("\n".join(kernel_lines(sketch)), declare(sketch)))
        except KernelError:
            continue
    return found


@pytest.fixture(scope="module")
def many() -> list[tuple[str, Kernel]]:
    return kernels(300)


def test_there_is_something_of_everything(many: list[tuple[str, Kernel]]) -> None:
    depths: Counter[int] = Counter()
    statements: Counter[int] = Counter()
    orders: Counter[Order] = Counter()
    roles: Counter[Role] = Counter()
    for _, kernel in many:
        statements[min(len(kernel.statements), 4)] += 1
        roles.update(array.role for array in kernel.arrays.values())
        for statement in kernel.statements.values():
            depths[len(statement.indices)] += 1
            if statement.reduction is not None:
                orders[statement.reduction.order] += 1
    assert min(depths[depth] for depth in (1, 2, 3, 4)) >= 5
    assert min(statements[count] for count in (1, 2, 3, 4)) >= 10
    assert min(orders[order] for order in Order) >= 10
    assert min(roles[role] for role in Role) >= 10


@pytest.mark.parametrize("form", [", 2)) as", ", 3)) as", "where(", "equal(", "// 2", "% 3", "M ="])
def test_strides_conditions_and_remainders(many: list[tuple[str, Kernel]], form: str) -> None:
    assert sum(form in text for text, _ in many) >= 5


def test_few_kernels_are_at_fault(many: list[tuple[str, Kernel]]) -> None:
    assert len(many) >= 250
    faulty = 0
    for _, kernel in many[:80]:
        table = enumerate_kernel(kernel, dict.fromkeys(kernel.parameters, (0, 3)))
        faulty += table is not None and (table.is_outside or table.is_undefined)
    assert 1 <= faulty <= 20


def test_floats_are_never_subtracted() -> None:
    limits = Limits(dtype=f32)
    for seed in range(60):
        for one in assignments(random_sketch(random.Random(seed).randint, limits).body):
            assert one.value.dtype in {f32, None}
            assert not any(
                isinstance(node, Operation) and node.operator is Operator.SUBTRACT
                for node in walk(one.value)
                if node.dtype == f32
            )


def test_limits() -> None:
    text = "".join(text for text, _ in kernels(40, Limits(largest=17)))
    assert "maximum=17" in text
    assert "maximum=4" not in text

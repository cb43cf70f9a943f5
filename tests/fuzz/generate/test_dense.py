import random
from collections import Counter

from polysched.fuzz.generate.dense import dense
from polysched.fuzz.generate.drafting import Draft, new_draft
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.sketch import KernelSketch, assignments, declare
from polysched.fuzz.judge.enumeration import enumerate_kernel
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.expr.traversal import loads


def drafted(seed: int) -> tuple[Draft, KernelSketch]:
    draft = new_draft(random.Random(seed).randint, Limits())
    body = dense(draft)
    arrays = tuple(target.sketch for target in draft.arrays)
    return draft, KernelSketch(draft.parameters, arrays, body)


def kernels(count: int) -> list[Kernel]:
    return [declare(drafted(seed)[1]) for seed in range(count)]


def test_all_kinds_occur() -> None:
    kinds: Counter[str] = Counter()
    for kernel in kernels(80):
        for statement in kernel.statements.values():
            target = statement.target.subscripts
            for load in loads(statement.value):
                kinds["transposed"] += load.subscripts == target[::-1] and len(target) == 2
                kinds["same place"] += load.subscripts == target
            kinds["sums"] += statement.reduction is not None
        kinds["stages"] += any(one.role is Role.TEMPORARY for one in kernel.arrays.values())
    assert min(kinds.values()) >= 8, kinds


def test_few_are_at_fault() -> None:
    faulty = 0
    for kernel in kernels(60):
        table = enumerate_kernel(kernel, dict.fromkeys(kernel.parameters, (0, 3)))
        faulty += table is not None and (table.is_outside or table.is_undefined)
    assert faulty <= 6


def test_every_loop_counts_one_dimension_or_sums() -> None:
    for seed in range(40):
        draft, sketch = drafted(seed)
        assert draft.scope == []
        names = [one.name for one in assignments(sketch.body)]
        assert len(names) == len(set(names)) <= 2

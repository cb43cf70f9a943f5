import random
from collections import Counter
from dataclasses import replace

import pytest

from polysched.errors import KernelError
from polysched.fuzz.generate.drafting import new_array, new_draft
from polysched.fuzz.generate.kernels import random_sketch
from polysched.fuzz.generate.layouts import laid_out
from polysched.fuzz.generate.limits import Limits
from polysched.fuzz.generate.sketch import ArraySketch, declare
from polysched.ir.core.kernel import Role
from polysched.ir.core.packing import Rows
from polysched.ir.expr.dtypes import as_dtype, i32
from polysched.ir.expr.expressions import Constant

ODD = as_dtype("u5")


def arrays(rank: int, role: Role = Role.INPUT, count: int = 80) -> list[ArraySketch]:
    found = []
    for seed in range(count):
        integers = random.Random(seed).randint
        array = new_array(new_draft(integers, Limits()), role, rank).sketch
        found.append(laid_out(integers, array, strided=True))
    return found


def test_strides_are_of_all_kinds() -> None:
    kinds: Counter[str] = Counter()
    for array in arrays(2):
        if array.strides is None:
            kinds["none"] += 1
            continue
        kinds["rows" if array.strides[1] == Constant(1) else "columns or steps"] += 1
        kinds["parametric"] += not all(isinstance(one, Constant) for one in array.strides)
    assert min(kinds.values()) >= 5
    assert kinds.keys() == {"none", "rows", "columns or steps", "parametric"}


@pytest.mark.parametrize("rank", [1, 2, 3])
def test_elements_are_apart(rank: int) -> None:
    """Declaring the kernel proves it; none is refused."""
    strided = 0
    for seed, array in enumerate(arrays(rank)):
        # The same random numbers, so the parameters are the array's.
        sketch = random_sketch(random.Random(seed).randint, Limits())
        try:
            declare(sketch)
        except KernelError:
            continue
        declare(replace(sketch, arrays=(*sketch.arrays, replace(array, name="Z"))))
        strided += array.strides is not None
    assert strided >= 10


def test_packed_rows_and_what_has_no_layout() -> None:
    integers = random.Random(0).randint
    packed = ArraySketch("A", Role.INPUT, ODD, (Constant(3), Constant(4)))
    rows = {laid_out(integers, packed, strided=True).rows for _ in range(20)}
    assert rows == set(Rows)
    for one in (
        replace(packed, role=Role.TEMPORARY),
        ArraySketch("A", Role.INPUT, i32, ()),
    ):
        assert laid_out(integers, one, strided=True) is one
    plain = replace(packed, dtype=i32)
    assert laid_out(integers, plain, strided=False) is plain

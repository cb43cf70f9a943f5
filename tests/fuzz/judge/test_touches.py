import numpy as np
import pytest

from polysched.fuzz.judge.enumeration import enumerate_kernel, violated
from polysched.fuzz.judge.instances import list_instances
from polysched.fuzz.judge.touches import byte_touches, element_touches, uses
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.schedule.schedule import Schedule


def filled(dtype: str, rows: int, columns: int, layout: str) -> Kernel:
    """``v[i, j] = i``."""
    build = KernelBuilder("filled")
    v = build.output("v", dtype, (rows, columns), rows=layout)
    with build.loops(i=rows, j=columns) as (i, j), build.statement("S"):
        v[i, j] = 1
    return build.kernel()


@pytest.mark.parametrize("dtype", ["u1", "i3", "u7", "i12", "u17", "i31"])
@pytest.mark.parametrize("layout", ["padded", "contiguous"])
def test_bytes_are_those_of_the_bits(dtype: str, layout: str) -> None:
    kernel, columns = filled(dtype, 3, 5, layout), 5
    instances = list_instances(kernel, {}, 100)
    assert instances is not None
    used = list(uses(instances, kernel.arrays))
    assert not any(one.is_outside for one in used)
    assert len(np.unique(element_touches(used).place)) == 15
    found = byte_touches(used)
    bits = kernel.arrays["v"].dtype.bits
    row_bits = -(-columns * bits // 8) * 8 if layout == "padded" else columns * bits
    wanted = {}
    for number in range(15):
        first = number // columns * row_bits + number % columns * bits
        wanted[number] = {bit // 8 for bit in range(first, first + bits)}
    for one in range(15):
        for other in range(15):
            places = [set(found.place[found.instance == each]) for each in (one, other)]
            assert bool(places[0] & places[1]) == bool(wanted[one] & wanted[other]), (one, other)


@pytest.mark.parametrize(
    ("dtype", "columns", "layout", "loop", "meets"),
    [
        ("u4", 4, "padded", "i", False),
        ("u4", 4, "contiguous", "i", False),
        ("u4", 3, "padded", "i", False),
        ("u4", 3, "contiguous", "i", True),
        ("u4", 4, "padded", "j", True),
        ("u12", 2, "contiguous", "i", False),
        ("u12", 2, "padded", "j", True),
    ],
)
def test_threads_must_not_meet_in_a_byte(
    dtype: str, columns: int, layout: str, loop: str, meets: bool
) -> None:
    kernel = filled(dtype, 3, columns, layout)
    table = enumerate_kernel(kernel, {})
    assert table is not None
    parallel = executed(Schedule(kernel).parallel(f"S.{loop}").program.tree)
    assert violated(table, parallel).any() == meets
    backwards = executed(Schedule(kernel).reverse(f"S.{loop}").program.tree)
    assert not violated(table, backwards).any()

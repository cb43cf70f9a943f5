import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import f32
from polysched.legality.checks.order import Break
from polysched.legality.checks.storage_fault import StorageFault
from polysched.legality.verdicts.verdict import Cause

BUFFER = Array("buffer", f32, (), Role.TEMPORARY, ())
ENDS = Reference("S", 0), Reference("T", 0)


def fault(instances: isl.Map | isl.Set, place: Break | None = None) -> StorageFault:
    ends = ENDS if isinstance(instances, isl.Map) else ENDS[:1]
    return StorageFault(BUFFER, Cause.INTERRUPTED, (), ends, instances, place)


def test_the_smallest_instances_one_for_each_end() -> None:
    pairs = fault(isl.Map("[n] -> { S[i] -> T[j] : 2 <= i < j < n }"))
    first, second = pairs.smallest
    assert (first.values, second.values) == ((2,), (3,))
    assert dict(first.parameters) == {"n": 4}
    (only,) = fault(isl.Set("[n] -> { S[i] : 5 <= i < n }")).smallest
    assert only.values == (5,)


def test_small_sizes_rank_first_then_small_indices() -> None:
    small, late, large = (
        fault(isl.Set(f"[n] -> {{ S[i] : n = {size} and i = {index} }}"))
        for size, index in ((3, 1), (3, 2), (4, 0))
    )
    assert sorted((large, late, small), key=lambda one: one.rank) == [small, late, large]

from polysched.fuzz.judge.instances import Instances, list_instances
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from tests.legality.kernels import matmul, seidel


def listed(kernel: Kernel, largest: int, most: int) -> Instances:
    found = list_instances(kernel, dict.fromkeys(kernel.parameters, (0, largest)), most)
    assert found is not None
    return found


def test_sizes_are_those_that_can_be_paid() -> None:
    few, every = listed(seidel(), 6, 20), listed(seidel(), 6, 1000)
    assert few.count <= 20 < every.count
    assert every.sizes[: len(few.sizes)] == few.sizes
    assert 5 < len(few.sizes) < len(every.sizes)
    assert list_instances(seidel(), {"N": (9, 9), "T": (9, 9)}, 20) is None


def test_instances_are_found_by_their_number() -> None:
    found = listed(matmul(), 2, 100)
    names = [found.at(row) for row in range(found.count)]
    # At sizes 1 and 2, both at once; the statements one after the other.
    assert names[:5] == [("init", at) for at in ((0, 0), (0, 0), (0, 1), (1, 0), (1, 1))]
    assert names[5] == ("update", (0, 0, 0))
    assert len(names) == 1 + 4 + 1 + 8


def test_a_kernel_without_parameters_has_one_size() -> None:
    build = KernelBuilder("fixed")
    a = build.inout("A", i32, (4,))
    with build.loops(i=4) as i:
        a[i] = 1
    found = list_instances(build.kernel(), {}, 10)
    assert found is not None
    assert (found.count, found.sizes) == (4, ({},))

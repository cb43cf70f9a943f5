import pytest

from polysched.bench.conv.kernel import conv2d_relu
from polysched.cli import work
from polysched.cli.work import floating_point_operations, instance_counts
from polysched.errors import CallError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.functions import fma, maximum, select


def triangle() -> Kernel:
    build = KernelBuilder("triangle")
    n = build.parameter("n", minimum=0)
    a = build.inout("a", f32, (n, n))
    with build.loops(i=n) as i, build.loops(j=i + 1) as j, build.statement("S"):
        a[i, j] = select(a[i, j] < 0, -a[i, j], fma(a[i, j], 2, 3)) + maximum(a[i, j], 1)
    return build.kernel()


def test_box_of_any_size_is_counted() -> None:
    counts = instance_counts(conv2d_relu(), {})
    outputs = 5 * 80 * 100 * 128
    assert counts == {"init": outputs, "update": outputs * 9 * 128, "relu": outputs}
    flops = floating_point_operations(conv2d_relu(), counts)
    assert flops == outputs * (2 * 9 * 128 + 1)


@pytest.mark.parametrize("n", [0, 1, 7, 40])
def test_triangle_is_counted_point_by_point(n: int) -> None:
    counts = instance_counts(triangle(), {"n": n})
    assert counts == {"S": n * (n + 1) // 2}
    assert floating_point_operations(triangle(), counts) == n * (n + 1) // 2 * 4


def test_what_takes_too_long_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(work, "ENUMERATION_LIMIT", 99)
    assert instance_counts(triangle(), {"n": 9}) == {"S": 45}
    assert instance_counts(triangle(), {"n": 10}) is None


def test_integers_are_no_flops() -> None:
    build = KernelBuilder("integers")
    a = build.inout("a", i32, (5,))
    with build.loops(i=5) as i, build.statement("S"):
        a[i] = a[i] * 2 + 1
    kernel = build.kernel()
    assert floating_point_operations(kernel, {"S": 5}) == 0


def test_parameter_without_a_value() -> None:
    with pytest.raises(CallError, match="parameter 'n' has no value"):
        instance_counts(triangle(), {})

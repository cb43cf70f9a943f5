"""The order policy of all reductions at once."""

from polysched.frontends.python.decorator import read_kernel
from polysched.frontends.reductions import with_order
from polysched.ir.core.kernel import Order


def sums(x: "f32[n]", y: "f32[2]"):  # noqa: F821
    for i in range(x.shape[0]):
        y[0] += x[i]
        y[1] += x[i]
        x[i] = 0


def test_all_but_those_that_keep_their_policy() -> None:
    kernel = with_order(read_kernel(sums), Order.ANY, kept={"y"})
    found = {name: one.reduction and one.reduction.order for name, one in kernel.statements.items()}
    assert found == {"y": Order.EXACT, "y_2": Order.ANY, "x": None}

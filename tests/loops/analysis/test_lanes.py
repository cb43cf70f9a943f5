import pytest

from polysched.errors import LoweringError
from polysched.ir.expr.expressions import Constant
from polysched.loops.analysis.lanes import masked_assigns
from polysched.loops.ir.nodes import Allocate, Block, If, LoopNode
from tests.loops.programs import assign, i, load, loop, n, vector

ONE = assign("y", (i,), load("x", i), "one")
TWO = assign("z", (i,), load("y", i), "two")


def test_assignments_in_order_under_their_masks() -> None:
    inner = If(i < 3, ONE, TWO)
    body = Block((ONE, If(i < n, inner)))
    found = masked_assigns(vector("i", 0, 8, body))
    assert [(masked.assign.statement, [*map(str, masked.mask)]) for masked in found] == [
        ("one", []),
        ("one", ["(i < n)", "(i < 3)"]),
        ("two", ["(i < n)", "not((i < 3))"]),
    ]


@pytest.mark.parametrize(
    ("body", "kind"), [(loop("j", 0, 2, ONE), "For"), (Allocate("b", ONE), "Allocate")]
)
def test_loops_and_buffers_inside_are_refused(body: LoopNode, kind: str) -> None:
    with pytest.raises(LoweringError, match=f"vector loop 'i' holds a {kind} node; expected"):
        masked_assigns(vector("i", 0, 8, body))


def test_a_mask_that_reads_memory_is_refused() -> None:
    body = If(load("x", i) < Constant(0.0), ONE)
    with pytest.raises(LoweringError, match=r"vector loop 'i' has the mask \(x\[i\] < 0.0\)"):
        masked_assigns(vector("i", 0, 8, body))

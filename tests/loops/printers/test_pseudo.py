from collections.abc import Callable

from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant
from polysched.loops.ir.nodes import Block, If
from polysched.loops.printers.pseudo import print_loops
from tests.loops.programs import array, assign, i, loop, matmul_relu, program


def test_matmul(check_golden: Callable[[str, str], None]) -> None:
    check_golden("loops/matmul_relu.txt", print_loops(matmul_relu()))


def test_steps_otherwise_and_nothing_to_do() -> None:
    y = array("y", (10,), Role.OUTPUT)
    store = assign("y", (i,), Constant(1.5, f32))
    body = If(i < 6, Block(()), store)
    made = program([y], loop("i", i * 0, 10, body, step=3), context="{ : }")
    assert print_loops(made).splitlines() == [
        "program f",
        "output y: f32[10]",
        "",
        "for i in (i*0)..10 step 3:",
        "  if i < 6:",
        "    pass",
        "  else:",
        "    y[i] = 1.5",
    ]

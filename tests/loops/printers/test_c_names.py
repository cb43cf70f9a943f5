from polysched.ir.core.kernel import Role
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant
from polysched.loops.printers.c_names import c_names
from tests.loops.programs import array, assign, i, loop, program


def test_names_are_kept_unless_taken() -> None:
    arrays = [array("double", (4,), Role.OUTPUT), array("i", (4,), Role.OUTPUT)]
    store = assign("i", (i,), Constant(0.0, f32))
    made = program(arrays, loop("i", 0, 4, store), loop("n", 0, 1), name="int")
    names = c_names(made, {"n"})
    assert names.function == "int_"
    assert names.arrays == {"double": "double_", "i": "i"}
    assert names.variables == {"n": "n_", "i": "i_"}

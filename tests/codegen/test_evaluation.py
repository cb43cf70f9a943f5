"""Values of expressions, and what is in scope."""

from llvmlite import ir

from polysched.codegen.accesses import Lanes
from polysched.codegen.evaluation import Evaluator, lanes_of
from polysched.codegen.values import INDEX
from polysched.ir.core.kernel import Array, Role
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Constant, Index, Load, Parameter

AT, N = Index("i"), Parameter("N")


def evaluator(**more: object) -> Evaluator:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [INDEX, INDEX]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    n, i = function.args
    given = {"variables": {"i": i}, **more}
    return Evaluator(builder, {"N": n}, {}, {}, {"N": (1, None)}, **given)  # type: ignore[arg-type]


def test_an_index_is_a_sum_of_what_is_not_known() -> None:
    values = evaluator()
    assert values.index(Constant(3) + 4).constant == 7
    assert values.index(AT) is values.variables["i"]
    values.index(2 * AT + N + 5)
    made = [one.opname for one in values.builder.block.instructions]
    assert sorted(made) == ["add", "add", "mul"]


def test_what_is_inside_a_loop_is_forgotten_behind_it() -> None:
    values = evaluator()
    before = values.known, values.variables
    number = INDEX(5)
    with values.inside("j", number, (5, 5)):
        assert values.variables["j"] is number
        assert values.index(Index("j")).constant == 5
        assert values.known["N"] == (1, None)
    assert (values.known, values.variables) == before


def test_without_an_interval_nothing_is_said_of_a_variable() -> None:
    values = evaluator()
    with values.inside("j", values.variables["i"]):
        assert "j" not in values.known
        assert values.index(Index("j")) is values.variables["i"]


def test_a_lane_is_a_vector_and_all_else_is_not() -> None:
    values, lanes = evaluator(), Lanes("lane", 4, None)
    assert values.value(Index("lane"), lanes).lanes == 4
    assert values.value(AT, lanes).lanes is None
    assert values.value(Index("lane") + AT, lanes).lanes == 4


def test_registers_of_a_tile_are_named_by_their_first_subscript() -> None:
    values = evaluator()
    slots = tuple(values.builder.alloca(ir.VectorType(ir.FloatType(), 4)) for _ in range(2))
    single = values.builder.alloca(ir.FloatType())
    extents = (Constant(2), Constant(4))
    tile = Array("tile", f32, extents, Role.TEMPORARY, ("vector", "lane"))
    one = Array("r", f32, (), Role.TEMPORARY, ())
    values.registers = {"tile": (tile, slots), "r": (one, single)}
    assert values.slot("tile", (Constant(1), AT)) is slots[1]
    assert values.slot("r", ()) is single
    assert (lanes_of(slots[0]), lanes_of(single)) == (4, None)
    assert values.value(Load("tile", (Constant(0), AT), f32), None).lanes == 4

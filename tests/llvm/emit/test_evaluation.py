"""LLVM values of the vector IR's values, and the scope of variables."""

from llvmlite import ir

from polysched.ir.expr.dtypes import f32, i64
from polysched.ir.expr.expressions import Constant, Index, Parameter
from polysched.ir.expr.operators import Operator
from polysched.llvm.emit.evaluation import Evaluator, lanes_of
from polysched.llvm.values.expressions import INDEX
from polysched.llvm.values.masks import Mask
from polysched.vector.values import Apply, Lane, Register, Sum

AT, N = Index("i"), Parameter("N")


def evaluator() -> Evaluator:
    function = ir.Function(ir.Module(), ir.FunctionType(ir.VoidType(), [INDEX, INDEX]), "f")
    builder = ir.IRBuilder(function.append_basic_block())
    n, i = function.args
    return Evaluator(builder, {"N": n}, {}, {}, variables={"i": i})


def test_a_sum_adds_products() -> None:
    values = evaluator()
    assert values.index(Sum((), 7)).constant == 7
    assert values.index(Sum(((AT, 1),))) is values.variables["i"]
    values.index(Sum(((AT, 2), (N, 1)), 5))
    made = [one.opname for one in values.builder.block.instructions]
    assert sorted(made) == ["add", "add", "mul"]


def test_a_variable_is_unknown_behind_its_loop() -> None:
    values = evaluator()
    before, number = values.variables, INDEX(5)
    with values.inside("j", number):
        assert values.index(Index("j")) is number
        assert values.index(AT) is before["i"]
    assert values.variables == before


def test_an_operation_on_a_lane_is_a_vector() -> None:
    values, lanes = evaluator(), Mask(4)
    assert values.value(Lane(), lanes).lanes == 4
    assert values.value(AT, lanes).lanes is None
    assert values.value(Apply(Operator.ADD, (Lane(), AT), i64, False), lanes).lanes == 4


def test_a_register_tile_has_a_slot_for_each_vector() -> None:
    values = evaluator()
    slots = tuple(values.builder.alloca(ir.VectorType(ir.FloatType(), 4)) for _ in range(2))
    single = values.builder.alloca(ir.FloatType())
    values.registers = {"tile": slots, "r": (single,)}
    second, scalar = Register("tile", 1, f32, True), Register("r", 0, f32, False)
    assert values.slot(second) is slots[1]
    assert values.slot(scalar) is single
    assert (lanes_of(slots[0]), lanes_of(single)) == (4, None)
    assert values.value(second, None).lanes == 4
    assert values.value(Constant(2), None).dtype == i64

import islpy as isl

from polysched.ir.core.kernel import Array, Order, Role, access_relation, extent_set
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant, Parameter
from polysched.ir.expr.operators import Operator
from tests.support import kernels


def test_accesses_are_the_write_and_then_the_reads() -> None:
    update = kernels.matmul().statements["update"]
    assert [str(access) for access in update.accesses] == [
        "c[i, j]",
        "c[i, j]",
        "a[i, l]",
        "b[l, j]",
    ]
    assert [access.array for access in update.reads] == ["c", "a", "b"]


def test_reduction_is_recognised_with_its_policy() -> None:
    reduction = kernels.matmul(order="any").statements["update"].reduction
    assert reduction is not None
    assert (reduction.operator, reduction.order, reduction.read) == (Operator.ADD, Order.ANY, 1)
    assert kernels.matmul().statements["init"].reduction is None


def test_access_relation() -> None:
    statement = kernels.transpose().statements["S"]
    relation = access_relation(statement, statement.target)
    expected = isl.Map("[n, m] -> { S[i, j] -> y[j, i] : 0 <= i < n and 0 <= j < m }")
    assert relation.is_equal(expected)


def test_access_relation_of_a_scalar() -> None:
    statement = kernels.scalars().statements["add"]
    relation = access_relation(statement, statement.target)
    assert relation.is_equal(isl.Map("[n] -> { add[i] -> total[] : 0 <= i < n }"))


def test_quasi_affine_access_relation() -> None:
    statement = kernels.shuffle().statements["strided"]
    table = next(access for access in statement.reads if access.array == "table")
    expected = isl.Map("[n] -> { strided[i] -> table[i mod 5] : 0 <= i < n }")
    assert access_relation(statement, table).is_equal(expected)


def test_extent_set() -> None:
    n = Parameter("n")
    array = Array("a", f32, (n, n + 1), Role.INPUT, ("row", "column"))
    expected = isl.Set("[n] -> { a[r, c] : 0 <= r < n and 0 <= c <= n }")
    assert extent_set(array, ("n",)).is_equal(expected)


def test_tile_dimensions_have_no_extent() -> None:
    array = Array("a", f32, (Constant(0), Constant(8)), Role.TEMPORARY, ("at_i", "d0"), tile=1)
    assert array.stored_shape == (Constant(8),)
    assert extent_set(array, ()).is_equal(isl.Set("{ a[t, d] : 0 <= d < 8 }"))


def test_what_the_caller_sees() -> None:
    build = KernelBuilder("roles")
    handles = [
        build.input("x", i32, ()),
        build.output("y", i32, ()),
        build.inout("z", i32, ()),
        build.temporary("t", i32, ()),
    ]
    assert [handle.array.is_written for handle in handles] == [False, True, True, False]


def test_statement_as_text() -> None:
    assert str(kernels.scale().statements["S"]).startswith("S: y[i] = ")


def test_a_kernel_shows_what_it_takes_and_its_statements() -> None:
    build = KernelBuilder("twice")
    n = build.parameter("n")
    x, t, y = build.input("x", i32, n), build.temporary("t", i32, n), build.output("y", i32, n)
    with build.loops(i=n) as i, build.statement("keep"):
        t[i] = x[i]
    with build.loops(i=n) as i, build.statement("add"):
        y[i] = t[i] + t[i]
    assert repr(build.kernel()) == "<Kernel twice(x, y, n): keep, add>"

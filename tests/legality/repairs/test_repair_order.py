from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.legality.repairs.repair_order import (
    fewer_tiled_loops,
    free_reductions,
    omissions,
    other_orders,
    unfused,
)
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.tile import Tile
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, seidel
from tests.legality.repairing import case_of
from tests.support.kernels import seidel_plane


def test_orders_near_the_one_asked_for_come_first() -> None:
    edits = other_orders(case_of(Schedule(seidel_plane()).reorder("j", "i", "s")))
    assert [edit.inserted for edit in edits] == [
        (Reorder(order),)
        for order in (("j", "s", "i"), ("i", "j", "s"), ("i", "s", "j"), ("s", "j", "i"))
    ]


def test_of_four_loops_neighbors_change_places_first() -> None:
    schedule = Schedule(seidel_plane()).split("j", 2).reorder("ji", "jo", "i", "s")
    edits = other_orders(case_of(schedule))
    assert len(edits) == 22
    assert [edit.inserted for edit in edits[:3]] == [
        (Reorder(order),)
        for order in (("ji", "jo", "s", "i"), ("ji", "i", "jo", "s"), ("jo", "ji", "i", "s"))
    ]


def test_two_loops_have_no_third_order() -> None:
    assert other_orders(case_of(Schedule(copy_shifted(1, -1)).reorder("j", "i"))) == []


def test_tiles_lose_an_outer_loop_first() -> None:
    schedule = Schedule(seidel_plane()).tile(
        ("s", "i", "j"), (2, 3, 4), outer=("a", "b", "c"), inner=("d", "e", "f")
    )
    assert [edit.inserted for edit in fewer_tiled_loops(case_of(schedule))] == [
        (Tile(("i", "j"), (3, 4), ("b", "c"), ("e", "f")),),
        (Tile(("s", "j"), (2, 4), ("a", "c"), ("d", "f")),),
        (Tile(("s", "i"), (2, 3), ("a", "b"), ("d", "e")),),
    ]


def test_two_tiled_loops_stay_two() -> None:
    assert fewer_tiled_loops(case_of(Schedule(seidel()).tile(("t", "i"), (2, 2)))) == []


def test_a_fusion_is_given_up() -> None:
    schedule = Schedule(producer_consumer(1)).fuse("P.i", "C.i")
    (edit,) = unfused(case_of(schedule))
    assert (edit.first, edit.removed, edit.inserted) == (0, 1, ())
    assert unfused(case_of(Schedule(matmul()).reverse("k"))) == []


def test_an_exact_reduction_in_the_way() -> None:
    (edit,) = free_reductions(case_of(Schedule(matmul()).reverse("k")))
    assert edit.statement == "update"
    assert edit.description.startswith("declare statement 'update' with order=\"any\"")


def test_a_reduction_of_another_array_is_not_in_the_way() -> None:
    build = KernelBuilder("two_sums")
    s, p = build.inout("s", i32, ()), build.inout("p", i32, ())
    x = build.input("x", i32, (9,))
    with build.loops(i=9) as i, build.statement("sum", order="exact"):
        s[()] += x[i]
    with build.loops(j=9) as j, build.statement("product", order="exact"):
        p[()] *= x[j]
    (edit,) = free_reductions(case_of(Schedule(build.kernel()).reverse("j")))
    assert edit.statement == "product"


def test_a_reduction_that_is_free_already() -> None:
    assert free_reductions(case_of(Schedule(matmul("any")).vectorize("k", 4))) == []


def test_the_guilty_step_is_left_out() -> None:
    (edit,) = omissions(case_of(Schedule(matmul()).split("k", 4).reverse("ki")))
    assert edit.first == 1
    assert edit.description == "leave out reverse(loop='ki')"

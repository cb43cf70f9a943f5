"""The last-writer run catches what is wrong."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from polysched.errors import CallError, KernelError
from polysched.ir.core.kernel import Kernel, Role
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant
from polysched.ir.expr.functions import cast
from polysched.loops.generate import generate_loops
from polysched.loops.interpret.execution import IterationOrder, ascending, descending, shuffled
from polysched.loops.ir.nodes import (
    Allocate,
    Assign,
    Block,
    If,
    LoopNode,
    LoopProgram,
    block,
    map_children,
)
from polysched.loops.verify.declared_flow import declared_flow
from polysched.loops.verify.last_writer import Mismatch, MismatchKind, last_writer_errors
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.rfactor import Rfactor
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import producer_consumer
from tests.support import kernels
from tests.support.differential import in_registers


def texts(found: tuple[Mismatch, ...]) -> list[str]:
    return [str(mismatch) for mismatch in found]


def test_a_read_of_the_wrong_instance() -> None:
    fused = Schedule(producer_consumer(2)).fuse("P.i", "C.i")
    assert texts(last_writer_errors(fused, {"N": 3})) == [
        "C[0] reads t[2]: declared P[2], here undefined contents",
        "C[1] reads t[3]: declared P[3], here undefined contents",
        "C[2] reads t[4]: declared P[4], here undefined contents",
    ]
    assert not last_writer_errors(Schedule(producer_consumer(0)).fuse("P.i", "C.i"), {"N": 3})


def test_an_overwritten_value_and_what_is_left_in_the_end() -> None:
    reversed_prefix = Schedule(kernels.prefix()).reverse("i")
    assert texts(last_writer_errors(reversed_prefix, {"n": 3})) == [
        "S[2] reads s[1]: declared S[1], here the caller's s[1]"
    ]
    build = KernelBuilder("last")
    y = build.output("y", i32, (1,))
    with build.loops(i=4) as i, build.statement("S"):
        y[0] = cast(i, i32)
    last = build.kernel()
    found = last_writer_errors(Schedule(last).reverse("i"), {})
    assert texts(found) == ["y[0] ends as: declared S[3], here S[0]"]
    assert found[0].kind is MismatchKind.RESULT


def test_equal_values_hide_nothing() -> None:
    # Both instances write 7: results agree, sources do not.
    build = KernelBuilder("equal")
    y = build.output("y", i32, (1,))
    with build.statement("A"):
        y[0] = 7
    with build.statement("B"):
        y[0] = 7
    program = Schedule(build.kernel()).program
    loops = generate_loops(program)
    assert not last_writer_errors(program, {})
    assert isinstance(loops.body, Block)
    swapped = replace(loops, body=Block(loops.body.children[::-1]))
    assert texts(last_writer_errors(program, {}, loops=swapped)) == [
        "y[0] ends as: declared B[], here A[]"
    ]


def test_lanes_that_lose_contributions() -> None:
    schedule = Schedule(kernels.matmul(order="any")).vectorize("l", 4)
    assert texts(last_writer_errors(schedule, {"m": 1, "n": 1, "k": 4})) == [
        "c[0, 0] ends as: declared {update[0, 0, 0], update[0, 0, 1], update[0, 0, 2], "
        "update[0, 0, 3]} on init[0, 0], here the same without {update[0, 0, 0], "
        "update[0, 0, 1], update[0, 0, 2]}"
    ]


def test_a_free_reduction_in_any_order() -> None:
    schedule = Schedule(kernels.matmul(order="any")).split("l", 2, ("lo", "li"))
    schedule = schedule.reverse("lo").reorder("lo", "update.i", "update.j", "li")
    assert not last_writer_errors(schedule, {"m": 2, "n": 2, "k": 5})
    exact = Schedule(kernels.matmul(order="exact")).reverse("l")
    assert last_writer_errors(exact, {"m": 1, "n": 1, "k": 3})


@pytest.mark.parametrize("lanes", [None, 4])
def test_sources_go_through_buffers_and_registers(lanes: int | None) -> None:
    schedule = (
        Schedule(kernels.matmul(order="any"))
        .tile(("update.i", "update.j"), (2, 4), ("io", "jo"), ("ii", "ji"))
        .promote("c", at="jo", lanes=lanes)
        .pack("b", at="jo")
    )
    sizes = {"m": 3, "n": 5, "k": 3}
    assert not last_writer_errors(schedule, sizes)
    registers = in_registers(generate_loops(schedule.program))
    assert not last_writer_errors(schedule, sizes, loops=registers)


def without(node: LoopNode, statement: str) -> LoopNode:
    if isinstance(node, Assign):
        return If(Constant(False), node) if node.statement == statement else node
    return map_children(node, lambda child: without(child, statement))


def changed(loops: LoopProgram, statement: str) -> LoopProgram:
    return replace(loops, body=without(loops.body, statement))


def test_a_forgotten_copy() -> None:
    schedule = Schedule(kernels.matmul(order="any")).promote("c", at="update.i")
    loops = generate_loops(schedule.program)
    sizes = {"m": 1, "n": 1, "k": 2}
    assert not last_writer_errors(schedule, sizes, loops=loops)
    everything = "{update[0, 0, 0], update[0, 0, 1]} on init[0, 0]"
    assert texts(last_writer_errors(schedule, sizes, loops=changed(loops, "c_local_in"))) == [
        f"c[0, 0] ends as: declared {everything}, here "
        "{update[0, 0, 0], update[0, 0, 1]} on undefined contents"
    ]
    assert texts(last_writer_errors(schedule, sizes, loops=changed(loops, "c_local_out"))) == [
        f"c[0, 0] ends as: declared {everything}, here init[0, 0]"
    ]


def test_instances_that_never_run_or_run_again() -> None:
    program = Schedule(kernels.scale()).program
    loops = generate_loops(program)
    assert texts(last_writer_errors(program, {"n": 1}, loops=changed(loops, "S"))) == [
        "S[0] runs: declared once, here never",
        "y[0] ends as: declared S[0], here the caller's y[0]",
    ]
    doubled = replace(loops, body=block([loops.body, loops.body]))
    assert texts(last_writer_errors(program, {"n": 1}, loops=doubled)) == [
        "S[0] runs: declared once, here again"
    ]
    further = {"n": 1}, replace(loops, body=shifted(loops.body))
    assert texts(last_writer_errors(program, further[0], loops=further[1])) == [
        "S[1] runs: declared never, here once",
        "S[0] runs: declared once, here never",
        "y[0] ends as: declared S[0], here S[1]",
    ]


def shifted(node: LoopNode) -> LoopNode:
    if isinstance(node, Assign):
        return replace(node, instance=tuple(one + 1 for one in node.instance))
    return map_children(node, shifted)


@pytest.mark.parametrize("order", [ascending, descending, shuffled(3)])
def test_parallel_iterations_in_any_order(order: IterationOrder) -> None:
    schedule = Schedule(kernels.chain()).fuse("P.i", "C.i").then(Parallel("P.i"))
    assert not last_writer_errors(schedule, {"n": 4, "m": 3}, order=order)
    inner = Schedule(kernels.jacobi()).then(Parallel("there.i")).then(Parallel("back.i"))
    assert not last_writer_errors(inner, {"t": 3, "n": 7}, order=order)


def test_threads_that_touch_what_another_writes() -> None:
    sums = Schedule(kernels.matmul(order="any")).then(Parallel("update.l"))
    (found,) = last_writer_errors(sums, {"m": 1, "n": 1, "k": 2})[:1]
    assert found.kind is MismatchKind.RACE
    assert str(found) == (
        "update[0, 0, 1] touches c[0, 0]: declared alone, here together with another iteration of "
        "loop 'l'"
    )
    outer = Schedule(kernels.jacobi()).then(Parallel("s"))
    found = last_writer_errors(outer, {"t": 2, "n": 4}, limit=1)[0]
    assert str(found).startswith("there[1, 1] touches")
    # In the order of the program every read is right; threads do not keep it.
    scratch = Schedule(shared_scratch()).then(Parallel("i"))
    kinds = {one.kind for one in last_writer_errors(scratch, {})}
    assert kinds == {MismatchKind.RACE}


def shared_scratch() -> Kernel:
    build = KernelBuilder("scratch")
    x, y = build.input("x", i32, (3,)), build.output("y", i32, (3,))
    t = build.temporary("t", i32, (1,))
    with build.loops(i=3) as i:
        with build.statement("P"):
            t[0] = x[i]
        with build.statement("C"):
            y[i] = t[0]
    return build.kernel()


def test_a_buffer_of_each_iteration_is_no_race() -> None:
    schedule = Schedule(shared_scratch()).privatize("t", at="i").then(Parallel("i"))
    assert not last_writer_errors(schedule, {}, order=descending)


def cut_in_two() -> Schedule:
    build = KernelBuilder("dot")
    x, y = build.input("x", i32, (4,)), build.output("y", i32, (1,))
    with build.statement("init"):
        y[0] = 5
    with build.loops(i=4) as i, build.statement("S", order="any"):
        y[0] += x[i]
    return Schedule(build.kernel()).split("i", 2, ("io", "ii")).then(Rfactor("S", "io"))


def test_recomputed_instances_stand_for_declared_ones() -> None:
    schedule = Schedule(kernels.blur()).split("C.i", 3, ("io", "ii"))
    tiles = schedule.compute_at("P", at="io", recompute=True)
    sizes = {"n": 7, "m": 2}
    assert not last_writer_errors(tiles, sizes)
    loops = generate_loops(tiles.program)
    lost = last_writer_errors(tiles, sizes, loops=changed(loops, "P"))
    assert {one.kind for one in lost} == {MismatchKind.READ}
    assert str(lost[0]).endswith("declared P[0, 0], here undefined contents")


def test_a_contracted_array_holds_what_is_still_read() -> None:
    fused = Schedule(kernels.chain()).fuse("P.i", "C.i").fuse("P.j", "C.j")
    assert not last_writer_errors(fused.fold_storage("t", "d0", 1), {"n": 3, "m": 3})
    apart = Schedule(kernels.chain()).fold_storage("t", "d0", 2)
    assert texts(last_writer_errors(apart, {"n": 3, "m": 1})) == [
        "C[0, 0] reads t_folded[0, 0]: declared P[0, 0], here P[2, 0]",
        "C[0, 0] reads t_folded[0, 0]: declared P[0, 0], here P[2, 0]",
    ]


def test_partial_results_are_followed() -> None:
    schedule = cut_in_two()
    assert not last_writer_errors(schedule, {})
    assert not last_writer_errors(schedule.then(Parallel("S.io")), {}, order=descending)


def test_partial_results_that_go_wrong() -> None:
    schedule = cut_in_two()
    loops = generate_loops(schedule.program)
    everything = "y[0] ends as: declared {S[0], S[1], S[2], S[3]} on init[]"

    def found(change: Callable[[Assign], LoopNode]) -> list[str]:
        body = map_assigns(loops.body, change)
        return texts(last_writer_errors(schedule, {}, loops=replace(loops, body=body)))

    def start_from_one(node: Assign) -> LoopNode:
        return replace(node, value=Constant(1, i32)) if node.statement == "S_init" else node

    def combine_twice(node: Assign) -> LoopNode:
        return block([node, node]) if node.statement == "S_combine" else node

    def lose(node: Assign) -> LoopNode:
        return If(node.instance[0] < 1, node) if node.statement == "S_combine" else node

    assert found(start_from_one) == [f"{everything}, here S_combine[1, 0]"]
    assert found(lose) == [f"{everything}, here the same without {{S[2], S[3]}}"]
    assert found(combine_twice)[:2] == [
        "S_combine[0, 0] runs: declared once, here again",
        "S_combine[0, 0] adds to y: declared {S[0], S[1]} on nothing once, here a second time",
    ]


def map_assigns(node: LoopNode, change: Callable[[Assign], LoopNode]) -> LoopNode:
    if isinstance(node, Assign):
        return change(node)
    return map_children(node, lambda child: map_assigns(child, change))


def gather() -> Kernel:
    build = KernelBuilder("gather")
    x, index = build.inout("x", i32, (4,)), build.input("index", i32, (3,), values=(0, 4))
    y = build.output("y", i32, (3,))
    with build.loops(i=4) as i, build.statement("W"):
        x[i] = 1 - x[i]
    with build.loops(i=3) as i, build.statement("G"):
        y[i] = x[index[i]]
    return build.kernel()


def test_subscripts_that_read_arrays() -> None:
    arrays = {"index": np.array([3, 0, 3], np.int32)}
    kernel = gather()
    flow = declared_flow(kernel, {}, arrays)
    assert flow.sources.text(flow.reads["G", (0,)][1]) == "W[3]"
    schedule = Schedule(kernel)
    assert not last_writer_errors(schedule, {}, declared=flow)
    assert texts(last_writer_errors(schedule.fuse("W.i", "G.i"), {}, arrays=arrays)) == [
        "G[0] reads x[3]: declared W[3], here the caller's x[3]",
        "G[2] reads x[3]: declared W[3], here the caller's x[3]",
    ]
    with pytest.raises(CallError, match="array 'index' is used in subscripts; pass it in arrays="):
        last_writer_errors(schedule, {})


def test_the_number_of_mismatches_is_limited() -> None:
    schedule = Schedule(kernels.prefix()).reverse("i")
    assert len(last_writer_errors(schedule, {"n": 30})) == 16
    assert len(last_writer_errors(schedule, {"n": 30}, limit=3)) == 3


def test_accesses_outside_and_statements_that_are_not_understood() -> None:
    program = Schedule(kernels.scale()).program
    loops = generate_loops(program)
    arrays = {**loops.arrays, "y": replace(loops.arrays["y"], role=Role.TEMPORARY)}
    unborn = replace(loops, arrays=arrays, body=Allocate("y", loops.body))
    with pytest.raises(KeyError, match="y"):
        last_writer_errors(program, {"n": 1}, loops=unborn)

    def outside(node: Assign) -> LoopNode:
        target = replace(node.target, subscripts=(node.instance[0] + 1,))
        return replace(node, target=target)

    moved = replace(loops, body=map_assigns(loops.body, outside))
    with pytest.raises(KernelError, match=r"S\[0\]: y\[1\] is outside array 'y' of shape \(1,\)"):
        last_writer_errors(program, {"n": 1}, loops=moved)

    def renamed(node: Assign) -> LoopNode:
        return replace(node, statement="mystery")

    strange = replace(loops, body=map_assigns(loops.body, renamed))
    with pytest.raises(KernelError, match="statement 'mystery' is not declared and neither"):
        last_writer_errors(program, {"n": 1}, loops=strange)

"""Loops made by isl: every instance once and in order, names kept, bounds known."""

import pytest

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, Index
from polysched.ir.semantics.reference import instances
from polysched.loops.generate import generate_loops, parameter_intervals
from polysched.loops.ir.nodes import Allocate, Assign, Block, For, LoopProgram, walk
from polysched.lower import lower
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import arguments, assert_agrees
from tests.support.interpreting import interpret


def found_loops(program: LoopProgram) -> list[For]:
    return [node for node in walk(program.body) if isinstance(node, For)]


def order_of_instances(
    schedule: Schedule, sizes: dict[str, int]
) -> list[tuple[str, tuple[int, ...]]]:
    seen: list[tuple[str, tuple[int, ...]]] = []
    interpret(
        lower(schedule),
        arguments(schedule.kernel, sizes),
        sizes,
        observer=lambda statement, instance: seen.append((statement, instance)),
    )
    return seen


@pytest.mark.parametrize("size", [0, 1, 5])
def test_program_order_without_steps(size: int) -> None:
    kernel = kernels.triangular_solve()
    made = order_of_instances(Schedule(kernel), {"n": size})
    assert made == list(instances(kernel, {"n": size}))


@pytest.mark.parametrize("size", [1, 5, 8, 9])
def test_every_instance_once(size: int) -> None:
    schedule = (
        Schedule(kernels.conditions())
        .tile(("i", "j"), (2, 8))
        .vectorize("ji", 4)
        .unroll("ii", "ji")
    )
    made = order_of_instances(schedule, {"n": size})
    assert sorted(made) == sorted(instances(schedule.kernel, {"n": size}))
    assert len(set(made)) == len(made)


def test_order_of_a_reversed_loop() -> None:
    made = order_of_instances(Schedule(kernels.scale()).reverse("i"), {"n": 4})
    assert [instance for _, (instance,) in made] == [3, 2, 1, 0]


def test_loops_keep_their_names_and_kinds() -> None:
    schedule = Schedule(kernels.grid(8, 32)).vectorize("j", 16).unroll("j")
    found = [(one.loop, one.kind, one.lanes) for one in found_loops(lower(schedule))]
    assert found == [
        ("i", LoopKind.SEQUENTIAL, 1),
        ("j", LoopKind.UNROLLED, 1),
        ("jv", LoopKind.VECTOR, 16),
    ]


def test_two_loops_of_one_name_get_variables_of_their_own() -> None:
    schedule = Schedule(kernels.chain()).split("C.i", 8).compute_at("P", "io")
    for node in found_loops(lower(schedule)):
        inner = [one.variable for one in walk(node.body) if isinstance(one, For)]
        assert node.variable not in inner


def test_variables_are_no_names_of_arrays_or_parameters() -> None:
    schedule = Schedule(kernels.scale()).split("i", 4, into=("n", "x"))
    variables = [node.variable for node in found_loops(lower(schedule))]
    assert not {"n", "x", "y"} & set(variables)


def test_unrolled_loops_carry_literal_values() -> None:
    schedule = Schedule(kernels.grid()).split("j", 4).unroll("ji")
    unrolled = [one for one in found_loops(lower(schedule)) if one.kind is LoopKind.UNROLLED]
    assert unrolled
    assert all(one.values == (0, 3) for one in unrolled)


def test_full_tiles_have_literal_vectors() -> None:
    schedule = Schedule(kernels.grid()).vectorize("j", 8)
    ends = [one.upper for one in found_loops(lower(schedule)) if one.kind is LoopKind.VECTOR]
    assert Constant(8) in ends
    assert len(ends) == 2


def test_buffer_lives_inside_its_loop() -> None:
    schedule = Schedule(kernels.grid(8, 8)).pack("x", at="i")
    body = lower(schedule).body
    assert isinstance(body, For)
    assert isinstance(body.body, Allocate)


def test_subscripts_of_a_buffer_are_those_of_its_memory() -> None:
    schedule = Schedule(kernels.grid(8, 8)).pack("x", at="i")
    stores = [one for one in walk(lower(schedule).body) if isinstance(one, Assign)]
    into = next(one for one in stores if one.target.array == "x_packed")
    assert len(into.target.subscripts) == 2


def test_nothing_to_run() -> None:
    body = lower(Schedule(kernels.scale(0))).body
    assert body == Block(())


def test_parameter_intervals() -> None:
    kernel = kernels.blur()
    assert parameter_intervals(kernel.context, kernel.parameters) == {
        "n": (1, None),
        "m": (0, None),
    }


def test_quota() -> None:
    program = Schedule(kernels.conditions()).tile(("i", "j"), (2, 8)).vectorize("ji", 4).program
    with pytest.raises(
        LoweringError, match="isl needs more than the 500 operations.*than the 8,000 operations"
    ):
        generate_loops(program, quota=1000)
    assert generate_loops(program).name == "conditions"


def test_lanes_of_a_strided_triangle() -> None:
    build = KernelBuilder("strided_triangle")
    y = build.inout("y", i32, (5, 5))
    with build.loops(i=(0, 5, 2), j=(Index("i"), 5, 3)) as (i, j), build.statement("S"):
        y[i, j] = y[i, j] + 1
    schedule = Schedule(build.kernel()).vectorize("j", 4)
    made = order_of_instances(schedule, {})
    assert sorted(made) == sorted(instances(schedule.kernel, {}))


def test_loops_left_out_of_a_nest_do_not_take_the_place_of_others() -> None:
    """isl's second try makes one band of the copy's loops, and no loop of those of one value."""
    schedule = Schedule(kernels.stepped()).split("S.j", 5, ("jo", "ji"))
    schedule = schedule.pack("x", "S.jo").promote("y", "jo", lanes=2)
    made = [loop for loop in found_loops(lower(schedule)) if loop.kind is LoopKind.UNROLLED]
    assert {(loop.loop, loop.values) for loop in made} == {("d1", (0, 2))}
    assert_agrees(schedule, *({"n": size} for size in (0, 1, 5, 9)))

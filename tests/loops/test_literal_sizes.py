"""Loops over literal sizes: the order of the tree, full tiles apart, conditions where needed."""

from collections.abc import Callable

import islpy as isl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import LoopKind, executed, path
from polysched.ir.expr.dtypes import f64
from polysched.ir.expr.expressions import Constant
from polysched.library.matmul.kernel.declare import matmul_kernel
from polysched.library.matmul.kernel.operands import Stored
from polysched.library.matmul.plan.config import Config
from polysched.library.matmul.schedule.build import matmul_schedule
from polysched.loops.generate import generate_loops
from polysched.loops.ir.nodes import Allocate, For, If, LoopProgram, walk
from polysched.loops.printers.pseudo import print_loops
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import arguments
from tests.support.effort import cases
from tests.support.interpreting import interpret

Instance = tuple[str, tuple[int, ...]]


def generated(schedule: Schedule) -> LoopProgram:
    return generate_loops(schedule.program)


def in_order(schedule: Schedule) -> list[Instance]:
    """The instances of the generated loops in the order in which they run."""
    seen: list[Instance] = []
    interpret(
        generated(schedule),
        arguments(schedule.kernel, {}),
        {},
        observer=lambda statement, instance: seen.append((statement, instance)),
    )
    return seen


def in_time(schedule: Schedule) -> list[Instance]:
    """The instances in the order of the tree, from the values of its loops."""
    times: list[tuple[tuple[int, ...], Instance]] = []
    program = schedule.program
    tree = executed(program.tree)
    ((name, statement),) = program.statements.items()
    columns = [loop.values[name] for loop in path(tree, name)]
    for point in points(statement.domain):
        at = isl.Point.zero(statement.domain.get_space())
        for position, index in enumerate(point):
            at = at.set_coordinate_val(isl.dim_type.set, position, isl.Val(index))
        time = tuple(int(column.eval(at).to_python()) for column in columns)
        times.append((time, (name, point)))
    return [instance for _, instance in sorted(times)]


def points(domain: isl.Set) -> list[tuple[int, ...]]:
    found: list[isl.Point] = []
    domain.foreach_point(found.append)
    count = domain.dim(isl.dim_type.set)
    return [
        tuple(
            int(point.get_coordinate_val(isl.dim_type.set, position).to_python())
            for position in range(count)
        )
        for point in found
    ]


def text(schedule: Schedule) -> str:
    return print_loops(generated(schedule)).split("\n\n")[1]


@given(
    st.integers(1, 13),
    st.integers(1, 13),
    st.tuples(st.integers(1, 6), st.integers(1, 6)),
    st.permutations(["io", "ii", "jo", "ji"]),
    st.sets(st.sampled_from(["ii", "ji"])),
    st.booleans(),
)
@settings(max_examples=cases(25), deadline=None)
def test_the_order_is_that_of_the_tree(
    n: int,
    m: int,
    factors: tuple[int, int],
    order: list[str],
    unrolled: set[str],
    is_parallel: bool,
) -> None:
    schedule = Schedule(kernels.grid(n, m)).tile(("i", "j"), factors).reorder(*order)
    for loop in sorted(unrolled):
        schedule = schedule.unroll(loop)
    if is_parallel and order[0] not in unrolled:
        schedule = schedule.parallel(order[0])
    assert in_order(schedule) == in_time(schedule)


def test_a_tail_is_decided_at_its_own_loop() -> None:
    schedule = Schedule(kernels.grid(10, 20)).tile(("i", "j"), (4, 16))
    assert text(schedule.vectorize("ji", 16).unroll("ii")) == "".join(
        f"{line}\n"
        for line in (
            "for io in 0..2:",
            "  for jo in 0..1:",
            "    unrolled ii in 0..4:",
            "      vector jiv in 0..16:",
            "        y[4*io + ii, 16*jo + jiv] = "
            "x[4*io + ii, 16*jo + jiv] + i32(10*(4*io + ii) + (16*jo + jiv))",
            "  for jo in 1..2:",
            "    unrolled ii in 0..4:",
            "      vector jiv in 0..4:",
            "        y[4*io + ii, 16*jo + jiv] = "
            "x[4*io + ii, 16*jo + jiv] + i32(10*(4*io + ii) + (16*jo + jiv))",
            "for io in 2..3:",
            "  for jo in 0..1:",
            "    unrolled ii in 0..2:",
            "      vector jiv in 0..16:",
            "        y[4*io + ii, 16*jo + jiv] = "
            "x[4*io + ii, 16*jo + jiv] + i32(10*(4*io + ii) + (16*jo + jiv))",
            "  for jo in 1..2:",
            "    unrolled ii in 0..2:",
            "      vector jiv in 0..4:",
            "        y[4*io + ii, 16*jo + jiv] = "
            "x[4*io + ii, 16*jo + jiv] + i32(10*(4*io + ii) + (16*jo + jiv))",
        )
    )


def test_full_vectors_have_literal_ends() -> None:
    body = generated(Schedule(kernels.grid(8, 40)).vectorize("j", 16)).body
    ends = [
        (node.lower, node.upper)
        for node in walk(body)
        if isinstance(node, For) and node.kind is LoopKind.VECTOR
    ]
    assert ends == [(Constant(0), Constant(16)), (Constant(0), Constant(8))]


def test_a_parallel_loop_stays_one_loop() -> None:
    schedule = Schedule(kernels.scale(20)).vectorize("i", 8).parallel("i")
    body = generated(schedule).body
    kinds = [node.kind for node in walk(body) if isinstance(node, For)]
    assert kinds.count(LoopKind.PARALLEL) == 1
    (choice,) = (node for node in walk(body) if isinstance(node, If))
    assert choice.otherwise is not None


def test_bounds_that_depend_on_the_loop_around() -> None:
    schedule = Schedule(kernels.scale(10)).divide("i", 4)
    assert "for i in (2*ip + (ip + 1)//2)..(2*ip + ip//2 + 3):" in text(schedule)


def test_a_buffer_lives_inside_its_loop() -> None:
    body = generated(Schedule(kernels.grid(8, 8)).pack("x", at="i")).body
    assert isinstance(body, For)
    assert isinstance(body.body, Allocate)


def test_branches_where_one_statement_runs_if_another_does_not() -> None:
    """The sums are zero in the first block of terms, and loaded in the others."""
    config = Config(inner_m=4, inner_n=16, k_block=8, order="pmpnpkokonominimik")
    schedule = matmul_schedule(matmul_kernel(8, 32, 20), config, load_machine("skylake-avx512"))
    branches = [node for node in walk(generated(schedule).body) if isinstance(node, If)]
    assert any(node.otherwise is not None for node in branches)


def test_vectors_in_blocks_of_threads() -> None:
    """The last vector of a block, that of the last block and the thread's first and last block all
    bind the packing; the blocks of a thread imply what they enforce.
    """
    config = Config(m_threads=2, m_block=12, inner_m=6, inner_n=16, pack_a=True)
    kernel = matmul_kernel(46, 16, 20, dtype=f64, a=Stored(is_transposed=True))
    schedule = matmul_schedule(kernel, config, load_machine("skylake-avx512"))
    assert "for om in (2*pm)..(2*pm + 2):" in text(schedule)


def test_names_are_those_of_no_array() -> None:
    schedule = Schedule(kernels.scale(10)).split("i", 4, into=("x", "y"))
    names = {node.variable for node in walk(generated(schedule).body) if isinstance(node, For)}
    assert not names & {"x", "y"}


def triangle() -> Kernel:
    return kernels.grid(6, 6, triangular=True)


@pytest.mark.parametrize("make", [triangle, lambda: kernels.grid(7, 9)], ids=["triangle", "grid"])
def test_loops_without_steps(make: Callable[[], Kernel]) -> None:
    schedule = Schedule(make())
    assert in_order(schedule) == in_time(schedule)

import islpy as isl
import pytest

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path, restrict
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.schedule.buffers.placement import first_use, iterations_of_use, placed
from polysched.schedule.core.program import Program, find_loop
from polysched.schedule.notation.printing import format_tree
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def in_chunks() -> Program:
    return Schedule(kernels.blur()).split("C.i", 4).program


def rows() -> Kernel:
    """``P: t[j] = 2 * x[j]``, which every row of ``C: y[i, j] = t[j]`` reads."""
    build = KernelBuilder("rows")
    x, t = build.input("x", i32, (7,)), build.temporary("t", i32, (7,))
    y = build.output("y", i32, (9, 7))
    with build.loops(j=7) as j, build.statement("P"):
        t[j] = 2 * x[j]
    with build.loops(i=9, j=7) as (i, j), build.statement("C"):
        y[i, j] = t[j]
    return build.kernel()


def test_iterations_that_read_an_instance() -> None:
    program = in_chunks()
    uses = iterations_of_use(program, program.dependences, "P", find_loop(program, "io"), "io")
    expected = isl.Map(
        "[n, m] -> { P[i, j] -> [io] : 0 <= j < m and 0 <= i < n + 2 and "
        "exists c : 0 <= c < n and c <= i <= c + 2 and 4 io <= c <= 4 io + 3 }"
    )
    assert uses.is_equal(expected)


def test_only_the_flow_that_is_given_counts() -> None:
    program = in_chunks()
    with pytest.raises(ScheduleError, match="no statement below loop 'io' reads what 'P' produces"):
        iterations_of_use(program, (), "P", find_loop(program, "io"), "io")
    with pytest.raises(ScheduleError, match="instances of 'P' have no iteration to run in: no "):
        iterations_of_use(program, program.dependences[:1], "P", find_loop(program, "io"), "C.io")


def test_a_nest_at_the_start_of_an_iteration() -> None:
    program = in_chunks()
    target = find_loop(program, "io")
    nest, rest = (restrict(program.tree, frozenset({name})) for name in "PC")
    assert nest is not None
    assert rest is not None
    uses = iterations_of_use(program, program.dependences, "P", target, "io")
    first = isl.PwMultiAff.from_map(uses.lexmin())
    tree = placed(program, nest, rest, target, {"P": first})
    assert [loop.name for loop in path(tree, "P")] == ["io", "i", "j"]
    assert [loop.name for loop in path(tree, "C")] == ["io", "ii", "j"]
    assert format_tree(program.with_tree(tree)).index("P:") < format_tree(
        program.with_tree(tree)
    ).index("C:")


@pytest.mark.parametrize(
    ("schedule", "at"),
    [
        (Schedule(kernels.blur()).split("C.i", 4), "io"),
        (Schedule(kernels.blur(9, 7)).tile(("C.i", "C.j"), (4, 4)), "jo"),
        (Schedule(kernels.blur(9, 7)).reverse("C.i"), "C.i"),
        (Schedule(kernels.blur(9, 7)).reorder("C.j", "C.i").split("C.i", 2), "io"),
        (Schedule(kernels.chain()).skew("C.j", by="C.i", factor=-2), "C.j"),
        (Schedule(rows()), "C.i"),
        (Schedule(rows()).reverse("C.i"), "C.i"),
        (Schedule(rows()).split("C.i", 4).reorder("ii", "io"), "io"),
    ],
    ids=["split", "tiled", "reversed", "exchanged", "skewed", "rows", "rows up", "rows apart"],
)
def test_the_first_use_is_the_least_iteration(schedule: Schedule, at: str) -> None:
    program = schedule.program
    target = find_loop(program, at)
    found = first_use(program, program.dependences, "P", target, at)
    uses = iterations_of_use(program, program.dependences, "P", target, at)
    function = isl.Map.from_pw_multi_aff(found).intersect_domain(program.statements["P"].domain)
    assert function.is_equal(uses.lexmin()), found


def test_its_formulas_are_those_of_the_loops() -> None:
    """Uneven parts count floors of floors, of which isl would make several cases."""
    schedule = (
        Schedule(kernels.chain(30, 40))
        .divide("C.i", 4, 3, into="pi")
        .divide("C.j", 3, 4, into="pj")
        .reorder("pi", "pj", "C.i", "C.j")
        .collapse("pi", "pj", "parts")
    )
    program = schedule.program
    target = find_loop(program, "parts")
    found = first_use(program, program.dependences, "P", target, "parts")
    assert found.n_piece() == 1

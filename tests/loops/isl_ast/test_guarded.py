"""Loops over simple bounds with conditions: right in every order, kind of loop and lifetime."""

from dataclasses import replace

import islpy as isl
import pytest

from polysched.errors import LoweringError
from polysched.ir.core.tree import LoopKind, executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.functions import maximum
from polysched.loops.analysis.coverage import miscovered
from polysched.loops.generate import parameter_intervals
from polysched.loops.ir.nodes import For, If, LoopProgram, walk
from polysched.loops.ir.prefetches import prefetch_specs
from polysched.loops.isl_ast.guarded import guarded_loops
from polysched.loops.isl_ast.schedule_tree import iterator_names
from polysched.loops.verify.last_writer import last_writer_errors
from polysched.schedule.schedule import Schedule
from tests.support import kernels
from tests.support.differential import assert_agrees


def guarded(schedule: Schedule) -> LoopProgram:
    """The loops of the last way, proved to run every instance once."""
    program = schedule.program
    kernel, tree = program.kernel, executed(program.tree)
    known = parameter_intervals(kernel.context, kernel.parameters)
    iterators = iterator_names(tree)
    prefetches = prefetch_specs(program, tree, iterators)
    body = guarded_loops(program, tree, iterators, known, prefetches)
    assert miscovered(body, program.statements, kernel.context) is None
    return LoopProgram(kernel.name, kernel.parameters, kernel.context, known, program.arrays, body)


def strided_triangle() -> Schedule:
    """Of steps 2 and 3, whose collapsed loop isl's AST generation loses instances of."""
    build = KernelBuilder("strided_triangle")
    n = build.parameter("n", minimum=0)
    y = build.inout("y", i32, (n, n))
    with build.loops(i=(0, n, 2), j=(Index("i"), n, 3)) as (i, j), build.statement("S"):
        y[i, j] = y[i, j] + 1
    return Schedule(build.kernel())


def lost() -> Schedule:
    """isl leaves out an element of the copy into the buffer: strides of 2 and 3 meet."""
    build = KernelBuilder("lost")
    n = build.parameter("N")
    b = build.inout("B", i32, (3 * n + 10, 2 * n + 6))
    with build.loops(j=n) as j, build.statement("S"):
        b[j, j % 2] = b[0, j % 3 + 1]
    return Schedule(build.kernel()).promote("B", "j")


@pytest.mark.parametrize(
    "schedule",
    [
        Schedule(kernels.conditions()).tile(("i", "j"), (2, 8)).vectorize("ji", 4).unroll("ii"),
        strided_triangle().split("i", 4).vectorize("j", 4),
        Schedule(kernels.chain()).split("C.i", 8).compute_at("P", "io").parallel("io"),
        Schedule(kernels.chain(triangular=True)).split("P.j", 4).reverse("C.i"),
        Schedule(kernels.grid()).split("j", 4).prefetch("x", "ji", 2),
        Schedule(kernels.stepped()).split("S.j", 5).promote("y", "jo"),
        lost(),
    ],
)
def test_every_read_sees_its_value(schedule: Schedule) -> None:
    loops = guarded(schedule)
    for size in (0, 1, 2, 5, 9):
        sizes = dict.fromkeys(schedule.kernel.parameters, size)
        assert not last_writer_errors(schedule.program, sizes, loops=loops)


def test_kinds_and_bounds_of_loops() -> None:
    tiled = Schedule(kernels.conditions()).tile(("i", "j"), (2, 8)).vectorize("ji", 4).unroll("ii")
    found = [node for node in walk(guarded(tiled).body) if isinstance(node, For)]
    assert [(loop.loop, loop.kind, str(loop.lower), str(loop.upper)) for loop in found[:5]] == [
        ("io", LoopKind.SEQUENTIAL, "0", "((n + 1) // 2)"),
        ("jo", LoopKind.SEQUENTIAL, "0", "((n + 7) // 8)"),
        ("ii", LoopKind.UNROLLED, "0", "2"),
        ("ji", LoopKind.SEQUENTIAL, "0", "2"),
        ("jiv", LoopKind.VECTOR, "0", "4"),
    ]
    assert found[2].values == (0, 1)


def test_what_the_loops_imply_is_not_tested() -> None:
    body = guarded(Schedule(kernels.grid(8, 8)).pack("x", at="i")).body
    assert not any(isinstance(node, If) for node in walk(body))


def test_prefetches_count_iterations() -> None:
    loops = guarded(Schedule(kernels.grid(m=8)).prefetch("x", "i", 2))
    (prefetch,) = (
        one for node in walk(loops.body) if isinstance(node, For) for one in node.prefetches
    )
    assert str(prefetch.start[0]) == "(i + 2)"


def strides_of_a_collapsed_loop() -> Schedule:
    """isl leaves out instances of the second statement, which runs at every other ``k``."""
    build = KernelBuilder("collapsed")
    y, x = build.inout("y", i32, (5, 5)), build.input("x", i32, (4,))
    with build.loops(i=5, j=5) as (i, j):
        with build.statement("S"):
            y[i, j] = 1
        with build.loops(k=(j % 2, 4, 2)) as k, build.statement("T"):
            y[i, j] = maximum(y[i, j], x[k])
    return Schedule(build.kernel()).collapse("i", "j", "c")


@pytest.mark.parametrize("schedule", [strides_of_a_collapsed_loop(), lost()])
def test_what_isl_loses_has_loops_and_code(schedule: Schedule) -> None:
    sizes = [dict.fromkeys(schedule.kernel.parameters, size) for size in (1, 2, 5, 9)]
    assert_agrees(schedule, *sizes)


def test_loops_without_affine_bounds_are_refused() -> None:
    build = KernelBuilder("endless")
    y = build.inout("y", i32, (4,))
    with build.loops(i=4) as i:
        y[i] = 1
    program = Schedule(build.kernel()).program
    (name,) = program.statements
    statement = program.statements[name]
    endless = replace(statement, domain=isl.Set(f"{{ {name}[i] : i >= 0 }}"))
    program = replace(program, statements={name: endless})
    with pytest.raises(LoweringError, match=f"statement '{name}': the values of loop 'i' have no"):
        guarded_loops(program, executed(program.tree), ["depth.0"], {}, {})

"""What a picture shows, against enumeration of the domains."""

from collections.abc import Iterable

import pytest

from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.functions import equal
from polysched.ir.semantics.points import points, values
from polysched.legality.check import check
from polysched.legality.reports.plane import Plane, planes
from polysched.legality.verdicts.verdict import Witness
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, seidel, triangular_solve


def witness_of(schedule: Schedule) -> Witness:
    found = check(schedule).violation
    assert found is not None
    return found.witness


def planes_of(schedule: Schedule, size: tuple[int, int] = (9, 9)) -> tuple[Plane, ...]:
    return planes(schedule.program, witness_of(schedule), size)


def stepped() -> Kernel:
    """``A[i, j] = A[i - 3, j + 2]``, i in steps of 3, j even, below the diagonal."""
    build = KernelBuilder("stepped")
    n = build.parameter("N", minimum=12)
    a = build.inout("A", i32, (n + 3, n + 2))
    with (
        build.loops(i=(3, n), j=n) as (i, j),
        build.where(equal(i % 3, 0) & equal(j % 2, 0) & (j <= i)),
        build.statement("S"),
    ):
        a[i, j] = a[i - 3, j + 2] + 1
    return build.kernel()


def distant() -> Kernel:
    build = KernelBuilder("distant")
    a = build.inout("A", i32, (200, 200))
    with build.loops(i=100, j=100) as (i, j), build.statement("S"):
        a[i + 50, j] = a[i, j + 60] + 1
    return build.kernel()


SCHEDULES = [
    Schedule(copy_shifted(1, -1)).reorder("j", "i"),
    Schedule(copy_shifted(1, -1)).tile(("i", "j"), (2, 2)),
    Schedule(seidel()).skew("i", "t").reverse("i"),
    Schedule(triangular_solve()).reverse("i"),
    Schedule(matmul()).reverse("k"),
    Schedule(stepped()).reorder("j", "i"),
    Schedule(distant()).reorder("j", "i"),
]


@pytest.mark.parametrize("size", [(9, 9), (3, 4), (2, 2)])
@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.kernel.name)
def test_exactly_the_instances_of_the_domain(schedule: Schedule, size: tuple[int, int]) -> None:
    witness = witness_of(schedule)
    for plane in planes(schedule.program, witness, size):
        statement = schedule.kernel.statements[plane.statement]
        rows = points(statement.domain, dict(witness.parameters)).tolist()
        where = [dict(zip(statement.indices, row, strict=True)) for row in rows]
        in_plane = [row for row in where if plane.fixed == only(row, dict(plane.fixed))]
        shown = {
            tuple(row[axis.name] for axis in plane.axes)
            for row in in_plane
            if all(row[axis.name] in axis.values for axis in plane.axes)
        }
        assert set(plane.cells) == shown
        for axis in plane.axes:
            all_values = {row[axis.name] for row in in_plane}
            check_gaps(axis.values, all_values)


def only(row: dict[str, int], names: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple((name, row[name]) for name in names)


def check_gaps(shown: tuple[int | None, ...], existing: set[int]) -> None:
    """Values ascend; there is a gap where, and only where, existing ones are left out."""
    numbers = [value for value in shown if value is not None]
    assert numbers == sorted(numbers)
    assert (shown[0] is None) == (min(existing) < numbers[0])
    assert (shown[-1] is None) == (max(existing) > numbers[-1])
    left_out = [value for value in existing if numbers[0] < value < numbers[-1]]
    assert (None in shown[1:-1]) == bool(set(left_out) - set(numbers))


@pytest.mark.parametrize("schedule", SCHEDULES, ids=lambda schedule: schedule.kernel.name)
def test_both_instances_are_marked(schedule: Schedule) -> None:
    witness = witness_of(schedule)
    assert witness.sink is not None
    marked = {
        cell.mark: (plane, place)
        for plane in planes_of(schedule, (2, 2))
        for place, cell in plane.cells.items()
        if cell.mark
    }
    for letter, end in (("A", witness.source), ("B", witness.sink)):
        plane, place = marked[letter]
        indices = schedule.kernel.statements[end.statement].indices
        axes = dict(zip([axis.name for axis in plane.axes], place, strict=True))
        shown = {**dict(plane.fixed), **axes}
        assert (plane.statement, tuple(shown[name] for name in indices)) == (
            end.statement,
            end.instance,
        )


@pytest.mark.parametrize("schedule", [SCHEDULES[0], SCHEDULES[1], SCHEDULES[5]], ids=lambda one: "")
def test_the_order_is_that_of_the_loops(schedule: Schedule) -> None:
    witness = witness_of(schedule)
    (plane,) = planes_of(schedule)
    statement = schedule.kernel.statements[plane.statement]
    rows = points(statement.domain, dict(witness.parameters))
    columns = [
        values(loop.values[plane.statement], rows, dict(witness.parameters)).tolist()
        for loop in path(schedule.program.tree, plane.statement)
    ]
    times = dict(zip(map(tuple, rows.tolist()), zip(*columns, strict=True), strict=True))
    assert not plane.fixed
    ordered = sorted(plane.cells, key=lambda place: plane.cells[place].time)
    assert ordered == sorted(plane.cells, key=lambda place: times[place])  # type: ignore[index]


def test_the_dimensions_that_tell() -> None:
    build = KernelBuilder("deep")
    a = build.inout("A", i32, (9, 9, 9, 9))
    with (
        build.loops(i=(1, 8), j=8, k=(1, 8), m=(1, 8)) as (i, j, k, m),
        build.statement("S"),
    ):
        a[i, j, k, m] = a[i - 1, j, k - 1, m + 1] + 1
    schedule = Schedule(build.kernel()).reorder("m", "i", "j", "k")
    source, sink = planes_of(schedule)
    assert [axis.name for axis in source.axes] == ["i", "m"]
    assert (source.fixed, sink.fixed) == ((("j", 0), ("k", 1)), (("j", 0), ("k", 2)))


def test_a_copy_has_the_indices_of_its_own() -> None:
    schedule = Schedule(matmul()).promote("C", "update.j").shift("update.j", 1, "update")
    _, sink = planes_of(schedule)
    assert sink.statement == "C_local_out"
    assert [cell.mark for cell in sink.cells.values()] == ["B"]

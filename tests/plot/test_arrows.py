from collections.abc import Sequence

from polysched.dependence.relations import DependenceKind
from polysched.plot.arrows import Arrow, arrows
from polysched.plot.direct import direct_pairs
from polysched.plot.instances import instances
from polysched.schedule.schedule import Schedule
from tests.support.kernels import matmul, prefix


def drawn(
    schedule: Schedule, shown: Sequence[str], dimensions: Sequence[str]
) -> tuple[tuple[Arrow, ...], int]:
    kernel, program = schedule.kernel, schedule.program
    domains = {name: kernel.statements[name].domain for name in shown}
    pairs = direct_pairs(program.dependences, kernel.body, kernel.statements, domains, {})
    return arrows(pairs, instances(program, shown, dimensions, {}, (), {}))


def test_one_arrow_a_pair() -> None:
    found, within = drawn(Schedule(prefix(4)), ("S",), ("i",))
    assert found == (
        Arrow((1,), (2,), "S", "S", "flow"),
        Arrow((2,), (3,), "S", "S", "flow"),
    )
    assert within == 0
    assert found[0].dependence is DependenceKind.FLOW


def test_equal_arrows_are_merged_and_those_within_a_dot_counted() -> None:
    found, within = drawn(Schedule(matmul(1, 2, 3, order="exact")), ("update",), ("l",))
    assert found == tuple(
        Arrow((start,), (start + 1,), "update", "update", kind)
        for start in (0, 1)
        for kind in ("anti", "flow", "output")
    )
    assert within == 0
    found, within = drawn(Schedule(matmul(1, 2, 3, order="exact")), ("update",), ("j",))
    assert (found, within) == ((), 2 * 2 * 3)


def test_what_may_be_reordered_is_told() -> None:
    found, _ = drawn(Schedule(matmul(1, 1, 2)), ("update",), ("l",))
    assert {(arrow.kind, arrow.reorderable) for arrow in found} == {
        ("flow", True),
        ("anti", True),
        ("output", True),
    }


def test_arrows_between_statements_at_one_place() -> None:
    found, within = drawn(Schedule(matmul(1, 1, 1)), ("init", "update"), ("i", "j"))
    assert found == (
        Arrow((0, 0), (0, 0), "init", "update", "flow"),
        Arrow((0, 0), (0, 0), "init", "update", "output"),
    )
    assert within == 0


def test_arrows_are_in_the_places_of_a_loop() -> None:
    found, _ = drawn(Schedule(prefix(3)).reverse("i"), ("S",), ("S.i",))
    ((start,), (end,)) = found[0].start, found[0].end
    assert (len(found), end - start) == (1, -1)

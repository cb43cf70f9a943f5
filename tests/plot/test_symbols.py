from collections.abc import Mapping, Sequence

from polysched.dependence.relations import DependenceKind
from polysched.legality.check import check
from polysched.plot.direct import direct_pairs
from polysched.plot.instances import instances
from polysched.plot.symbols import Arrow, Dot, Mark, arrows, dots, marks
from polysched.schedule.schedule import Schedule
from tests.support.kernels import grid, matmul, prefix, seidel


def test_a_dot_for_each_instance_in_the_order_of_execution() -> None:
    program = Schedule(prefix(4)).reverse("i").program
    found = instances(program, ("S",), ("i",), {}, (), {})
    assert dots(found) == (
        Dot("S", (3,), 1, 0, ()),
        Dot("S", (2,), 1, 1, ()),
        Dot("S", (1,), 1, 2, ()),
    )


def test_instances_at_one_place_are_one_dot_of_the_first() -> None:
    program = Schedule(matmul(1, 2, 4)).split("update.l", 2).reorder("lo", "update.j", "li").program
    found = instances(program, ("update",), ("j",), {}, ("lo",), {})
    assert dots(found) == (
        Dot("update", (0,), 4, 0, (0,)),
        Dot("update", (1,), 4, 2, (0,)),
    )


def test_statements_stay_apart() -> None:
    program = Schedule(matmul(1, 1, 1)).program
    found = instances(program, ("init", "update"), ("i", "j"), {}, (), {})
    assert dots(found) == (
        Dot("init", (0, 0), 1, 0, ()),
        Dot("update", (0, 0), 1, 1, ()),
    )


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


def marked(
    schedule: Schedule,
    shown: Sequence[str],
    dimensions: Sequence[str],
    sizes: Mapping[str, int],
    at: Mapping[str, int] | None = None,
) -> tuple[tuple[Mark, ...], tuple[str, ...]]:
    program = schedule.program
    found = instances(program, shown, dimensions, at or {}, (), sizes)
    return marks(program, check(schedule).violation, found, sizes)


def test_none_of_a_legal_schedule() -> None:
    assert marked(Schedule(grid()), ("S",), ("i", "j"), {"n": 3, "m": 3}) == ((), ())


def test_source_and_sink() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("s", "i"), {"t": 3, "n": 5}) == (
        (Mark("S", (0, 2), "S[0,2]"), Mark("S", (1, 1), "S[1,1]")),
        (),
    )


def test_sizes_at_which_it_is_no_witness() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("s", "i"), {"t": 1, "n": 5}) == (
        (),
        ("the witness of the violation holds at t = 2, n = 4, not at these sizes",),
    )


def test_an_instance_that_is_not_shown() -> None:
    schedule = Schedule(seidel()).reorder("i", "s")
    assert marked(schedule, ("S",), ("i",), {"t": 3, "n": 5}, {"s": 1}) == (
        (Mark("S", (1,), "S[1,1]"),),
        ("S[0,2] of the witness is not in the picture",),
    )


def test_a_statement_that_is_not_shown() -> None:
    schedule = Schedule(prefix()).reverse("i")
    assert marked(schedule, ("first",), (), {"n": 5}) == (
        (),
        (
            "S[1] of the witness is not in the picture",
            "S[2] of the witness is not in the picture",
        ),
    )

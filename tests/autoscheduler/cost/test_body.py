"""What one iteration of a body needs of the units and ports."""

from __future__ import annotations

from polysched.autoscheduler.cost.body import Body
from polysched.autoscheduler.facts.derive import statement_facts
from polysched.frontends.scop import parse_c
from polysched.ir.core.tree import LoopKind
from polysched.machine.presets import PRESETS
from polysched.schedule.schedule import Schedule

MACHINE = PRESETS["skylake-avx512"]
STENCIL = """
void stencil(int n, int m, const float a[restrict n + 2][m], float b[restrict n][m])
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < m; j++) b[i][j] = a[i][j] + a[i + 1][j] + a[i + 2][j];
}
"""


def resources(schedule: Schedule, statement: str) -> dict[str, float]:
    facts = statement_facts(schedule.program, statement, {"n": 1024, "m": 1024})
    kinds = [loop.kind for loop in facts.loops]
    rolled = [loop for loop in facts.loops if loop.kind is LoopKind.SEQUENTIAL]
    copied = [loop for loop in facts.loops if loop.kind is LoopKind.UNROLLED]
    vectors = [loop for loop in facts.loops if loop.kind is LoopKind.VECTOR]
    assert len(kinds) == len(rolled) + len(copied) + len(vectors)
    return Body(facts, rolled, copied, vectors, MACHINE).resources()


def test_copies_of_a_stencil_share_what_they_read() -> None:
    one = Schedule(parse_c(STENCIL).kernel).vectorize("j", 16)
    four = Schedule(parse_c(STENCIL).kernel).split("i", 4, into=("io", "ii"))
    four = four.reorder("io", "j", "ii").vectorize("j", 16).unroll("ii")
    apart, together = resources(one, "b"), resources(four, "b")
    assert together["loads"] == 2 * apart["loads"], "6 rows for four copies instead of 12"
    assert together["arithmetic"] == 4 * apart["arithmetic"]
    assert apart["accesses"] > max(apart["loads"], apart["stores"] / 2), "they share a port"


def test_gathers_leave_no_room_for_other_instructions() -> None:
    rows = Schedule(parse_c(STENCIL).kernel).vectorize("j", 16)
    columns = Schedule(parse_c(STENCIL).kernel).vectorize("i", 16)
    assert resources(rows, "b")["issue"] < resources(rows, "b")["loads"]
    needed = resources(columns, "b")
    assert needed["issue"] >= needed["loads"] + needed["stores"] / 2


def test_rows_of_narrow_elements_are_inserted_one_by_one() -> None:
    """A tile that is transposed in registers has as many rows of bytes as of integers."""
    text = """
    void sums(int n, int m, const {} a[restrict n][m], int s[restrict n])
    {{
        for (int i = 0; i < n; i++)
            for (int j = 0; j < m; j++) s[i] += a[i][j];
    }}
    """
    narrow, wide = (
        resources(
            Schedule(parse_c(text.format(dtype)).kernel)
            .split("j", 4, into=("jo", "ji"))
            .vectorize("i", 16)
            .unroll("ji")
            .transpose("iv", across="ji"),
            "s",
        )
        for dtype in ("signed char", "int")
    )
    assert narrow["arithmetic"] > 2 * wide["arithmetic"]
    assert narrow["loads"] > wide["loads"] / 2

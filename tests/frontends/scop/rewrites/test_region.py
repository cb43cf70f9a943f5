from __future__ import annotations

from polysched.frontends.scop.rewrites.region import Region, find_region
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text

TEXT = """
void whole(double x[3]) { x[0] = 1; x[1] = 2; }
void part(double x[3])
{
    double before = 1;
    for (int t = 0; t < 9; t++) {
        int inner = t;
#pragma scop
        x[0] = before;
        x[1] = inner;
#pragma endscop
        x[2] = 3;
    }
}
"""


def region(function: str | None) -> Region:
    return find_region(parse(source_text(TEXT, "a.c"), function), function)


def test_a_region_in_a_loop_knows_the_declarations_around_it() -> None:
    found = region("part")
    assert not found.is_function
    assert len(found.items) == 2
    assert [node.name for node in found.before] == ["before", "inner"]


def test_the_only_region_is_meant_before_functions_without_one() -> None:
    assert region(None).name == "part"


def test_a_function_without_a_region_is_one() -> None:
    found = region("whole")
    assert (found.is_function, len(found.items), found.before) == (True, 2, ())

from __future__ import annotations

from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.pragmas import Pragmas, pragma_of, pragmas_of
from polysched.frontends.scop.source.text import source_text

TEXT = """
#pragma polysched assume n >= 1
void f(int n, int m, double *A)
{
#pragma omp parallel
#pragma polysched shape A[n][2 * m]
#pragma STDC FP_CONTRACT ON
    for (int i = 0; i < n; i++) {
#pragma polysched reassociate
        A[0] += i;
    }
}
"""


def pragmas() -> tuple[Pragmas, object]:
    parsed = parse(source_text(TEXT, "a.c"))
    return pragmas_of(parsed, parsed.tree.ext[-1]), parsed


def test_what_pragmas_declare() -> None:
    found, _ = pragmas()
    assert list(found.shapes) == ["A"]
    assert len(found.shapes["A"].extents) == 2
    assert len(found.assumptions) == 1
    assert found.fp_contract


def test_what_a_pragma_holds_stands_where_it_stands() -> None:
    parsed = parse(source_text(TEXT, "a.c"))
    found = pragmas_of(parsed, parsed.tree.ext[-1])
    second = found.shapes["A"].extents[1]
    assert parsed.source_map.text(second) == "2 * m"
    assert parsed.source_map.span(second).line == 6
    (promise, _), *_ = found.assumptions
    assert parsed.source_map.text(promise) == "n >= 1"


def test_pragmas_of_others_are_none_of_ours() -> None:
    parsed = parse(source_text(TEXT, "a.c"))
    first = parsed.tree.ext[-1].body.block_items[0]
    assert first.string == "omp parallel"
    assert pragma_of(first, parsed.source_map) is None

from __future__ import annotations

from polysched.frontends.scop.rewrites.usage import changed_names, declared_names, usage_of
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text

BODY = """
    for (i = 0; i < n; i++) { x[i] = *p; *p += q[0] + r[1]; }
    for (int j = 0; j < n; j++) k++;
"""


def test_what_a_region_does_with_names() -> None:
    parsed = parse(source_text(f"void f(void) {{ {BODY} }}", "a.c"))
    items = parsed.tree.ext[-1].body.block_items
    assert changed_names(*items) == {"i", "x", "p", "j", "k"}
    assert declared_names(*items) == {"j"}
    usage = usage_of(tuple(items))
    assert usage.used == ("i", "n", "x", "p", "q", "r", "j", "k")
    assert usage.assigned == {"x", "p", "k"}
    assert usage.loop_variables == {"i"}
    assert usage.only_first == {"p", "q"}


def test_pointers_of_one_name_change_each_what_they_lead_to() -> None:
    body = "{ float *p = x; p[0] = 1; } { float *q = &y[1]; { float *p = q; *p = 2; } }"
    parsed = parse(source_text(f"void f(void) {{ {body} }}", "a.c"))
    usage = usage_of(tuple(parsed.tree.ext[-1].body.block_items))
    assert usage.assigned == {"p", "q", "x", "y"}

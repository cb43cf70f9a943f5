"""Pointers that are read before a part of a function."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from tests.frontends.scop.calling import assert_rewritten_prints_the_same, needs_gcc

PROGRAM = """
#include <stdio.h>
#include <stdlib.h>
static void notify(int n) { printf("at %d\\n", n); }
typedef struct { float x, v; int kind; } item;
typedef struct { item *items; int count; float pull; double *sums; } world;

static int advance(world *w, float dt)
{
    int moved = 0;
    if (w == NULL || w->count == 0) { notify(-1); return 0; }
    for (int i = 0; i < w->count; i++) {
        item *p = &w->items[i];
        p->v += w->pull * dt;
        p->x += p->v * dt;
        if (p->x > 1) { p->x = 1; moved++; }
    }
    notify(moved);
    for (int i = 0; i < w->count; i++) w->sums[i] += w->items[i].x;
    return moved;
}

static void spread(const short *in, float **out, int frames, int channels)
{
    for (int c = 0; c < channels; c++) {
        notify(c);
        for (int i = 0; i < frames; i++) out[c][i] = in[i * channels + c] / 4.0f;
    }
}

static double trace(double **rows, int n, int m)
{
    double t = 0;
    for (int i = 0; i < n; i++) {
        notify(i);
        for (int k = 0; k < 2; k++)
            for (int j = 1; j < m; j++) t += rows[i][j] * rows[i + 1][j - 1];
    }
    return t;
}

int main(void)
{
    item items[9];
    double sums[9] = {0}, data[5][7], *rows[5];
    float a[20], b[20], *outs[3] = {a, b, a + 5};
    short in[60];
    for (int i = 0; i < 9; i++) { items[i].x = i * 0.3f; items[i].v = -i; items[i].kind = i; }
    for (int i = 0; i < 60; i++) in[i] = i * 37 % 50;
    for (int i = 0; i < 35; i++) data[i / 7][i % 7] = i * 0.75;
    for (int i = 0; i < 5; i++) rows[i] = data[4 - i];
    world w = {items, 9, 9.8f, sums}, none = {NULL, 0, 1, NULL};
    printf("%d %d %d\\n", advance(&w, 0.1f), advance(NULL, 0.1f), advance(&none, 0.1f));
    printf("%d\\n", advance(&w, 0.2f));
    for (int i = 0; i < 9; i++) {
        item *p = &items[i];
        printf("%.9g %.9g %d %.17g\\n", p->x, p->v, p->kind, sums[i]);
    }
    spread(in, outs, 12, 3);
    spread(in, outs, 0, 3);
    spread(in, NULL, 0, 3);
    for (int i = 0; i < 20; i++) printf("%.9g %.9g\\n", i < 17 ? a[i] : 0, i < 12 ? b[i] : 0);
    printf("%.17g %.17g %.17g\\n", trace(rows, 4, 7), trace(rows, 1, 1), trace(NULL, 1, 1));
    return 0;
}
"""


@needs_gcc
def test_rows_and_members_that_lead_to_structs(tmp_path: Path) -> None:
    assert_rewritten_prints_the_same(PROGRAM, tmp_path, {"advance": 2, "spread": 1, "trace": 1})


@pytest.mark.parametrize(
    "loop",
    [
        "for (int i = 0; i < n; i++) if (i > s) rows[k][i] = 1;",  # the row may not be read
        "for (int i = 0; i < n; i++) { if (i == s) continue; rows[k][i] = 1; }",
        "for (int i = 0; i < n; i++) bytes[k][i] = 1;",  # a store of bytes may change a pointer
        "for (int i = 0; i < n; i++) { w->items[i].x = 1; w->items = 0; }",
        "for (int i = 0; i < n; i++) w->items[i].letter = 1;",
        "for (int i = 0; i < n; i++) { w->items[i].x = 1; *w = *v; }",
    ],
)
def test_pointers_that_are_not_read_before(loop: str, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(
        "typedef struct { float x; char letter; } item; typedef struct { item *items; } world;\n"
        "int notify(int);\n"
        "int f(int n, int k, float **rows, char **bytes, world *w, world *v)\n"
        f"{{ int s = notify(n); {loop} return s; }}"
    )
    arguments = ["rewrite", str(path), "-o", str(tmp_path / "out.c")]
    assert CliRunner().invoke(main, arguments).exit_code == 2

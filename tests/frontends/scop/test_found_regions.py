"""Loops of functions that have no translation as a whole."""

from __future__ import annotations

import ctypes
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.errors import FrontendError
from polysched.frontends.scop import Promises
from polysched.frontends.scop.regions import replacements_of
from polysched.frontends.scop.rewriting import Edit, edited
from tests.frontends.scop.calling import (
    compiled_by_gcc,
    needs_gcc,
)

FUNCTION = """
int log_line(const char *text);
void f(int n, float *x, float s)
{
    %s
}
"""


def regions(body: str, folder: Path) -> list[str]:
    """The text of each region that is found in the body of a function."""
    path = folder / "f.c"
    path.write_text(FUNCTION % body)
    replaced, _ = replacements_of(path, "f", Promises())
    found = []
    for one in replaced:
        first, last = one.edits
        marked = edited(path.read_text(), [_mark(first, "<<"), _mark(last, ">>")])
        found.append(" ".join(marked.split("<<")[1].split(">>")[0].split()))
    return found


def _mark(edit: Edit, text: str) -> Edit:
    return replace(edit, text=text)


LOOP = "for (int i = 0; i < n; i++) x[i] = s;"
SECOND = "for (int i = 0; i < n; i++) x[i] *= 2;"


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (f'log_line("a"); {LOOP} log_line("b");', [LOOP]),
        (f'log_line("a"); {LOOP} s += 1; {SECOND}', [f"{LOOP} s += 1; {SECOND}"]),
        (f'{LOOP} log_line("a"); {SECOND}', [LOOP, SECOND]),
        (f'while (log_line("a")) {{ {LOOP} }}', [LOOP]),
        (f'if (log_line("a")) {LOOP} else {SECOND}', [LOOP, SECOND]),
        (f'switch (log_line("a")) {{ case 1: {LOOP} break; default: {SECOND} }}', [LOOP, SECOND]),
        (f'log_line("a"); if (n > 3) {{ {LOOP} }}', [f"if (n > 3) {{ {LOOP} }}"]),
        ('log_line("a"); while (n--) *x++ = s;', ["while (n--) *x++ = s;"]),
        (
            'for (int k = 0; k < 9; k++) { log_line("a"); for (int i = 0; i < n; i++) x[i] += k; }',
            ["for (int i = 0; i < n; i++) x[i] += k;"],
        ),
        (
            '\n#pragma omp parallel for\nfor (int k = 0; k < 9; k++) { log_line("a"); '
            "for (int i = 0; i < n; i++) x[9 * i + k] += k; }",
            ["for (int i = 0; i < n; i++) x[9 * i + k] += k;"],
        ),
        (
            'log_line("a"); for (int i = n - 1; i >= 0; i--) x[i] += s;',
            ["for (int i = n - 1; i >= 0; i--) x[i] += s;"],
        ),
    ],
)
def test_loops_beside_calls(body: str, expected: list[str], tmp_path: Path) -> None:
    assert regions(body, tmp_path) == expected


@pytest.mark.parametrize(
    "body",
    [
        'log_line("a"); for (int i = 0; i < 4; i++) x[i] = s;',  # a call costs more
        'for (int k = 0; k < n; k++) { log_line("a"); if (s > 1) break; }',
        'again: log_line("a"); for (int i = 0; i < n; i++) if (x[i] > s) goto again;',
        f'\n#pragma omp parallel\n{{ log_line("a"); {LOOP} }}',
        f'log_line("a");\n#pragma omp parallel for collapse(2)\nfor (int k = 0; k < 9; k++) {LOOP}',
        'int i; for (i = 1; i < n; i++) if (x[i] > s) i++; log_line("a");',
        'while (n--) { *x++ = s; } log_line("a"); s = n;',
    ],
)
def test_loops_that_are_left_to_the_c_compiler(body: str, tmp_path: Path) -> None:
    assert regions(body, tmp_path) == []


def test_text_from_a_macro_or_under_a_condition_stays(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(
        f"#define LOOP {LOOP}\nint g(void);\n"
        "void f(int n, float *x, float s)\n{\n    g();\n    LOOP\n"
        "    for (int i = 0; i < n; i++)\n#ifdef TWO\n    { x[i] = 2; }\n#else\n    { x[i] = 1; }\n"
        "#endif\n}\n"
    )
    assert replacements_of(path, "f", Promises())[0] == []


MARKED = """
void f(unsigned char *d, const unsigned char *s, int n, int step)
{
#pragma scop
    for (int i = 0; i < n; i++) {
        *d = *s++;
        d += step;
        if (*d > 3) d += 2;
        %s
    }
#pragma endscop
    *d = 0;
}
"""


@needs_gcc
def test_a_region_whose_pointer_moves_by_a_distance_of_data(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(MARKED % "")
    rewritten = tmp_path / "f.opt.c"
    done = CliRunner().invoke(main, ["rewrite", str(path), "-o", str(rewritten)])
    assert done.exit_code == 0, done.output
    source = np.random.default_rng(0).integers(0, 9, 40).astype(np.uint8)
    found = []
    for text in (path, rewritten):
        library = compiled_by_gcc(text, tmp_path)
        target = np.arange(300, dtype=np.uint8)
        library.f(*(ctypes.c_void_p(array.ctypes.data) for array in (target, source)), 40, 3)
        found.append(target.tobytes())
    assert found[0] == found[1]
    assert "polysched_f_f" in rewritten.read_text()


def test_a_region_whose_pointer_moves_by_an_unknown_distance_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(MARKED % "if (d == s) d++;")
    replaced, refused = replacements_of(path, None, Promises())
    assert replaced == []
    assert "moves the pointer 'd'" in str(refused[0].error)


def test_the_message_of_the_whole_function_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(FUNCTION % f'log_line("a"); {LOOP}')
    replaced, refused = replacements_of(path, None, Promises())
    assert len(replaced) == len(refused) == 1
    assert isinstance(refused[0].error, FrontendError)
    assert "log_line" in str(refused[0].error)

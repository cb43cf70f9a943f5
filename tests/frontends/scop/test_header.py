"""Headers that declare C functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.errors import FrontendError
from polysched.frontends.scop.header import function_header
from polysched.frontends.scop.source.promises import NO_PROMISES
from tests.frontends.scop.calling import needs_gcc

SOURCE = """#include <stdint.h>
#include <stdbool.h>
typedef double real;
typedef struct image { int w, h; uint8_t *pixels; } Image;
typedef struct { float x, y; } point;
static int twice(int n) { return 2 * n; }
real total(const real *restrict x, uint32_t n, const Image *image, float a[restrict 4][8], bool b)
{
    real s = 0;
    for (uint32_t i = 0; i < n; i++) s += x[i];
    return s;
}
void moved(point *p) { p->x = twice(1); }
"""


def test_numbers_have_the_types_of_c(tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(SOURCE)
    text = function_header(path, "total", NO_PROMISES)
    declared = "double total(const double *x, unsigned int n, const struct image *image, "
    assert f"struct image;\n{declared}float a[4][8], bool b);" in text


@pytest.mark.parametrize(
    ("function", "message"),
    [
        ("moved", r"f.c:13:18: the header cannot declare this: its type is a struct without a tag"),
        (None, "f.c defines 2 functions; the header declares one: name it, as in .*f.c:NAME"),
        ("twist", "defines no function 'twist'"),
    ],
)
def test_what_has_no_header(function: str | None, message: str, tmp_path: Path) -> None:
    path = tmp_path / "f.c"
    path.write_text(SOURCE)
    with pytest.raises(FrontendError, match=message):
        function_header(path, function, NO_PROMISES)


@needs_gcc
def test_c_and_cpp_read_what_compile_writes(tmp_path: Path) -> None:
    (tmp_path / "f.c").write_text(SOURCE)
    code, header = tmp_path / "f.o", tmp_path / "f.h"
    command = ["compile", f"{tmp_path / 'f.c'}:total", "-o", str(code), "--header", str(header)]
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 0, result.output
    assert f"{header}: header for C and C++" in result.output
    for language in ("c", "c++"):
        check = ["gcc", "-x", language, "-fsyntax-only", "-Wall", "-Werror", str(header)]
        subprocess.run(check, check=True)

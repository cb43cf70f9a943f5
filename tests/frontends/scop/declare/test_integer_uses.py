"""Sizes of 64 bits that no signed integer holds, or that scheduled loops cannot compute with."""

import ctypes
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from pycparser import c_parser

from polysched.cli.main import main
from polysched.frontends.scop import load_c, parse_c
from polysched.frontends.scop.declare.integer_uses import integer_uses
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import compiled_by_gcc, compiled_by_polysched, needs_gcc

BODY = "for (int i = 0; i < n; i++) { if (c <= 5) y[i] = 1; else y[i] += 2; if (i < c) y[i] += 4; }"
COMPARED = f"void f(unsigned long c, int n, int y[restrict n]) {{ {BODY} }}"
BOUND = """
void f(TYPE c, int n, int y[restrict n]) { for (int i = 0; i < n && i < c; i++) y[i] += 1; }
"""
LARGE = (0, 3, 5, 6, 2**62, 2**63 - 1, 2**63, 2**64 - 1)


@pytest.mark.parametrize(
    ("text", "only_compared", "affine"),
    [
        ("if (c) x = n;", {"c"}, {"c"}),
        ("x = c < 2 ? n : 3;", {"c"}, {"c"}),
        ("if (c) y[c] = n;", set(), {"c"}),
        ("if (c) for (i = 0; i < c; i++) x = n;", set(), {"c", "i"}),
        ("if (c) { int k = c; x = n; }", {"c"}, {"c"}),
        ("if (c) { int k = c; y[k] = n; }", set(), {"c", "k"}),
        ("int k = c + 1; if (k > 2) x = n;", {"c", "k"}, {"c", "k"}),
        ("if (c > 1) x = min(c, n);", set(), {"c", "n", "min"}),
    ],
)
def test_uses(text: str, only_compared: set[str], affine: set[str]) -> None:
    tree = c_parser.CParser().parse(f"void f(void) {{ {text} }}")
    uses = integer_uses(tuple(tree.ext[0].body.block_items))
    assert uses.only_compared == only_compared
    assert uses.affine == affine


@needs_gcc
@pytest.mark.parametrize(
    ("text", "given"),
    [
        (COMPARED, LARGE),
        (COMPARED.replace("restrict ", ""), LARGE),
        (BOUND.replace("TYPE", "long"), (0, 3, 2**62, 2**63 - 1, -1, -(2**63))),
        (BOUND.replace("TYPE", "unsigned long"), (0, 3, 2**40)),
    ],
)
def test_large_sizes_give_what_c_gives(text: str, given: tuple[int, ...], tmp_path: Path) -> None:
    source = tmp_path / "f.c"
    source.write_text(text)
    program = load_c(source)
    schedule = Schedule(program.kernel).split("i", 32)
    mine = compiled_by_polysched(schedule, program.c_function(), tmp_path)
    theirs = compiled_by_gcc(source, tmp_path)
    for size in given:
        results = [np.arange(9, dtype=np.int32) for _ in range(2)]
        for library, y in zip((mine, theirs), results, strict=True):
            library.f(ctypes.c_ulong(size % 2**64), 9, ctypes.c_void_p(y.ctypes.data))
        assert results[0].tolist() == results[1].tolist(), size


@needs_gcc
def test_an_unsigned_bound_that_is_too_large_ends_the_process(tmp_path: Path) -> None:
    program = parse_c(BOUND.replace("TYPE", "unsigned long"))
    assert program.notes() == [
        "checked at each call: 'c' can be computed with as signed 64-bit integers, else the "
        "compiled function aborts, and the rewritten program runs as written"
    ]
    compiled_by_polysched(Schedule(program.kernel), program.c_function(), tmp_path)
    call = "import ctypes; ctypes.CDLL({!r}).f(ctypes.c_ulong(2**63), 0, None)"
    command = [sys.executable, "-c", call.format(str(tmp_path / "f.polysched.so"))]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode < 0
    assert done.stderr.startswith("f: an unsigned size is too large for its bounds and conditions")


@needs_gcc
@pytest.mark.parametrize("type_", ["long", "unsigned long"])
def test_a_rewritten_program_runs_as_written_at_large_sizes(type_: str, tmp_path: Path) -> None:
    source, rewritten = tmp_path / "f.c", tmp_path / "rewritten.c"
    source.write_text(BOUND.replace("TYPE", type_))
    result = CliRunner().invoke(main, ["rewrite", str(source), "-o", str(rewritten)])
    assert result.exit_code == 0, result.output
    library = compiled_by_gcc(rewritten, tmp_path)
    for size in (3, 2**48, 2**63 - 1, 2**64 - 1):
        y = np.zeros(5, np.int32)
        library.f(ctypes.c_ulong(size), 5, ctypes.c_void_p(y.ctypes.data))
        runs = 0 if type_ == "long" and size >= 2**63 else min(size, 5)
        assert y.tolist() == [1] * runs + [0] * (5 - runs)

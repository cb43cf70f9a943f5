"""Whole programs, unmodified: rewritten and compiled, they print what gcc's program prints."""

from __future__ import annotations

import ctypes
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from polysched.cli.main import main
from polysched.frontends.scop import Promises, load_c, parse_c
from polysched.schedule.schedule import Schedule
from tests.frontends.scop.calling import (
    assert_same_bits,
    called,
    compiled_by_gcc,
    compiled_by_polysched,
    needs_gcc,
    printed,
    random_arguments,
)
from tests.support.effort import covering

FOLDER = Path(__file__).parent / "programs" / "whole"
INCLUDE = f"-I{FOLDER}"

pytestmark = needs_gcc


@covering(
    1,
    has_object=[True, False],
    **{
        "name, regions": [
            ("suite", 8),
            ("functions", 14),
            ("walks", 13),
            ("histograms", 7),
            ("rows", 9),
        ]
    },
)
def test_a_rewritten_program_prints_the_same(
    name: str, regions: int, has_object: bool, tmp_path: Path
) -> None:
    source, rewritten = FOLDER / f"{name}.c", tmp_path / "rewritten.c"
    machine_code = [tmp_path / "kernels.o"] if has_object else []
    options = [argument for path in machine_code for argument in ("--object", str(path))]
    result = CliRunner().invoke(main, ["rewrite", str(source), "-o", str(rewritten), *options])
    assert result.exit_code == 0, result.output
    assert result.output.count(" calls polysched_") == regions
    if has_object and name == "suite":  # everything else stays byte for byte
        inserted = ("{ extern int polysched_", "if (!(", "} }\n")
        lines = rewritten.read_text().splitlines(keepends=True)
        kept = [line for line in lines if not line.startswith(inserted)]
        assert "".join(kept) == source.read_text()
    expected = printed([source], tmp_path / "gcc", INCLUDE)
    assert printed([rewritten, *machine_code], tmp_path / "polysched", INCLUDE) == expected


@pytest.fixture(scope="module")
def suite_by_gcc(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    folder = tmp_path_factory.mktemp("gcc")
    return compiled_by_gcc(FOLDER / "suite.c", folder, "-Dstatic=", INCLUDE)


@pytest.mark.parametrize(
    "name", ["gemm", "durbin", "cholesky", "correlation", "seidel", "nussinov"]
)
def test_a_region_among_declarations_compiles_to_its_function(
    name: str, suite_by_gcc: ctypes.CDLL, tmp_path: Path
) -> None:
    program = load_c(FOLDER / "suite.c", f"kernel_{name}")
    function = program.c_function()
    mine = compiled_by_polysched(Schedule(program.kernel), function, tmp_path)
    for seed, n in enumerate((40, 1, 9)):
        given = random_arguments(program, function, {"n": n, "tsteps": 2}, seed)
        expected = called(suite_by_gcc, function, None, given)
        assert_same_bits(called(mine, function, None, given), expected)


SHIFT = """
void shift(int n, float x[n], const float y[n])
{
    for (int i = 1; i < n; i++)
        x[i] = y[i - 1] + 1;
}
"""


@pytest.mark.parametrize("offset", [-3, -1, 0, 1, 2, 20])
def test_overlapping_arrays_give_what_c_gives(offset: int, tmp_path: Path) -> None:
    program = parse_c(SHIFT)
    schedule = Schedule(program.kernel).split("i", 8).vectorize("ii", 8)
    library = compiled_by_polysched(schedule, program.c_function(), tmp_path)
    memory = np.arange(64, dtype=np.float32) ** 2
    expected = memory.copy()
    size, y = 18, 20
    x = y + offset
    for i in range(1, size):
        expected[x + i] = expected[y + i - 1] + 1
    address = memory.ctypes.data
    library.shift(size, ctypes.c_void_p(address + 4 * x), ctypes.c_void_p(address + 4 * y))
    np.testing.assert_array_equal(memory, expected)


def test_a_sum_is_stored_each_time_where_arrays_overlap(tmp_path: Path) -> None:
    text = """
    void f(int n, int x[n], int y[n])
    {
        for (int i = 0; i < n; i++)
            for (int j = 0; j < n; j++)
                y[i] += x[j];
    }
    """
    program = parse_c(text)
    library = compiled_by_polysched(Schedule(program.kernel), program.c_function(), tmp_path)
    both, expected = np.arange(1, 7, dtype=np.int32), np.arange(1, 7, dtype=np.int32)
    for i in range(6):
        for j in range(6):
            expected[i] += expected[j]
    library.f(6, *(ctypes.c_void_p(both.ctypes.data) for _ in range(2)))
    assert both.tolist() == expected.tolist()


def test_a_condition_on_data_is_kept_where_arrays_overlap(tmp_path: Path) -> None:
    text = """
    void f(int n, int x[n], int y[n], int z[n])
    {
        for (int i = 0; i < n; i++)
            if (x[i] > 2) { y[i] = 0; z[i] = 7; }
    }
    """
    program = parse_c(text)
    library = compiled_by_polysched(Schedule(program.kernel), program.c_function(), tmp_path)
    x, z = np.arange(6, dtype=np.int32), np.zeros(6, np.int32)
    library.f(6, *(ctypes.c_void_p(array.ctypes.data) for array in (x, x, z)))
    assert x.tolist() == [0, 1, 2, 0, 0, 0]
    assert z.tolist() == [0, 0, 0, 7, 7, 7]


def test_sizes_outside_the_inferred_condition_run_as_written(tmp_path: Path) -> None:
    text = "void f(int n, double *y) { y[0] = 5; for (int i = 1; i < n; i++) y[i] = y[i-1] + n; }"
    declared = parse_c(text.replace("*y", "y[n]"))
    (assumption,) = declared.translation.assumptions
    assert str(assumption) == "assumed: n >= 1, for otherwise y[0] is outside y, line 1"
    library = compiled_by_polysched(Schedule(declared.kernel), declared.c_function(), tmp_path)
    y = np.zeros(3)
    library.f(0, ctypes.c_void_p(y.ctypes.data))
    assert y.tolist() == [5, 0, 0]
    library.f(2, ctypes.c_void_p(y.ctypes.data))
    assert y.tolist() == [5, 7, 0]


def test_strict_bounds_make_an_inferred_condition_an_error() -> None:
    text = "void f(int n, double y[n]) { y[0] = 5; }"
    with pytest.raises(Exception, match=r"y\[0\] is outside y unless n >= 1; add '#pragma"):
        parse_c(text, promises=Promises(strict_bounds=True))
    promises = Promises(conditions=("n >= 1",), strict_bounds=True)
    assert parse_c(text, promises=promises).translation.assumptions == ()


def test_a_promise_that_is_no_condition_points_at_the_option() -> None:
    with pytest.raises(Exception, match="--assume:1:26: 'k' is not declared"):
        parse_c(
            "void f(int n, double y[n]) { y[0] = 5; }", promises=Promises(conditions=("k > 1",))
        )


def test_an_access_outside_for_all_sizes_stays_an_error() -> None:
    program = parse_c("void f(int n, double y[n]) { for (int i = 0; i < n; i++) y[i + 1] = 5; }")
    assert program.translation.assumptions == ()


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("A[i * m + j] = 0;", "A[n][m]"),
        ("A[(i * m + j) * 3 + 2] = 0;", "A[n][3*m]"),
        ("A[j * n + i] = 0;", "A[m][n]"),
        ("A[i] = j;", "A[n]"),
        ("A[i + 2 * j] = 0;", "A[n + 2*m - 2]"),
    ],
)
def test_shapes_are_inferred(text: str, shape: str) -> None:
    loops = "for (int i = 0; i < n; i++) for (int j = 0; j < m; j++)"
    program = parse_c(f"void f(int n, int m, double *A) {{ {loops} {text} }}")
    assert program.notes()[0] == f"inferred: {shape}, from its subscripts"


def test_other_functions_cannot_refuse_a_file(tmp_path: Path) -> None:
    text = """
    typedef float v8 __attribute__((vector_size(32)));
    static inline v8 twice(v8 x) { return __builtin_shuffle(x, (v8){0}) + ({ x; }); }
    int asm_user(void) { asm goto ("nop" : : : : out); out: return 0; }
    struct point { _Float16 x; unsigned bits : 3; };
    void f(int n, float x[n]) { for (int i = 0; i < n; i++) x[i] = i; }
    """
    path = tmp_path / "others.c"
    path.write_text(text)
    assert load_c(path, "f").kernel.name == "f"


def test_only_what_a_function_needs_is_parsed() -> None:
    others = "".join(
        f"typedef struct {{ int a{i}; }} t{i}; extern t{i} g{i}(t{i} *p, int n);\n"
        for i in range(500)
    )
    function = "typedef t7 *q; void f(int n, float x[n]) { x[0] = sizeof(float); (void)n; }"
    program = parse_c(f"{others}{function}", "f")
    assert len(program.parsed.tree.ext) < 30  # the typedefs of the standard headers and `f`


def test_a_loop_variable_that_is_read_after_its_region(tmp_path: Path) -> None:
    path = tmp_path / "after.c"
    path.write_text(
        "int f(int n, double x[n]) {\n  int i;\n#pragma scop\n  for (i = 0; i < n; i++) x[i] = 0;\n"
        "#pragma endscop\n  return i;\n}\n"
    )
    rewritten = tmp_path / "out.c"
    result = CliRunner().invoke(main, ["rewrite", str(path), "-o", str(rewritten)])
    assert result.exit_code == 0, result.output
    library = compiled_by_gcc(rewritten, tmp_path)
    for n in (0, 1, 9, -3):
        x = np.ones(max(n, 0))
        assert library.f(n, ctypes.c_void_p(x.ctypes.data)) == max(n, 0)
        assert not x.any()


def test_a_loop_variable_of_the_file_that_is_read_after_its_region(tmp_path: Path) -> None:
    path = tmp_path / "after.c"
    path.write_text(
        "static int i;\nint f(int n, double x[n]) {\n#pragma scop\n"
        "  for (i = 0; i < n; i++) x[i] = 0;\n#pragma endscop\n  return i;\n}\n"
    )
    result = CliRunner().invoke(main, ["rewrite", str(path), "-o", str(tmp_path / "out.c")])
    assert result.exit_code == 2
    assert "'i' is a loop variable of the region and is used outside it" in result.output


def test_inferred_extents_name_sizes_of_the_program() -> None:
    text = """void f(int w, const float *restrict x, float *restrict y) {
    for (int j = 0; j < 9; j++)
        for (int i = 0; i < w; i++)
            if (!(i & 1)) y[j*((w+1)/2) + i/2] = x[j*w + i];
    }"""
    (note,) = [line for line in parse_c(text).notes() if "inferred: y" in line]
    assert note == "inferred: y[9][quotient(w + 1, 2)], from its subscripts"

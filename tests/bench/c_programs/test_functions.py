"""Races of C functions without schedules; speeds are not asserted."""

from pathlib import Path

import pytest

from polysched.bench.c_programs.code import STRICT_FLAGS, CCompiler, peer_compilers
from polysched.bench.c_programs.functions import PROGRAMS, Comparison, Contest, programs_of, raced
from polysched.bench.c_programs.gallery import prepared_calls
from polysched.bench.measure.race import Rules
from polysched.errors import BenchError
from polysched.machine.load import as_machine
from tests.frontends.scop.calling import needs_gcc

LARGEST = """
/* The largest number. sizes: n=77 */
void largest(int n, const float x[restrict n], const int k[restrict n], float most[restrict 1])
{
    most[0] = x[0];
    for (int i = 1; i < n; i++)
        if (x[i] * k[i] > most[0])
            most[0] = x[i] * k[i];
}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "largest.c").write_text(LARGEST)
    (tmp_path / "unsized.c").write_text(LARGEST.replace("sizes: n=77", ""))
    return tmp_path


def steady() -> float:
    """A peak that does not change."""
    return 1e9


def contest(*compilers: CCompiler, fast_math: bool = False) -> Contest:
    return Contest(compilers, fast_math, as_machine(None), steady)


def test_every_shipped_program_is_read_and_has_sizes() -> None:
    found = list(programs_of(PROGRAMS))
    assert len(found) >= 40
    for program, sizes in found:
        assert program.function.name == program.name
        assert set(sizes) == set(program.kernel.parameters)
        assert "sizes: " in program.source.read_text()
        assert program.kernel.fp_contract


def test_sizes_without_a_comment_are_those_of_the_autoscheduler(folder: Path) -> None:
    sizes = {program.name: sizes for program, sizes in programs_of(folder)}
    assert sizes == {"largest": {"n": 77}, "unsized": {"n": 1000}}


@pytest.mark.parametrize(
    ("names", "message"),
    [((), "there is no C file in"), (("larges",), "no program 'larges' in .* 'largest'")],
)
def test_bad_names(names: tuple[str, ...], message: str, folder: Path, tmp_path: Path) -> None:
    where = folder if names else tmp_path / "none"
    with pytest.raises(BenchError, match=message):
        list(programs_of(where, names))


@needs_gcc
@pytest.mark.parametrize("fast_math", [False, True])
def test_a_race(fast_math: bool, folder: Path, tmp_path: Path) -> None:
    ((program, sizes),) = programs_of(folder, ["largest"])
    missing = CCompiler("missing", ("no-such-cc",), STRICT_FLAGS)
    gcc = CCompiler("gcc", ("gcc",), STRICT_FLAGS)
    rules = Rules(rounds=1, seconds_budget=0.05)
    outcome, comparison = raced(
        program, sizes, contest(gcc, missing, fast_math=fast_math), tmp_path, rules
    )
    assert [one.contestant for one in outcome.results] == ["auto", "unscheduled", "gcc"]
    assert [one.contestant for one in outcome.withdrawn] == ["missing"]
    assert "cannot run 'no-such-cc'" in outcome.withdrawn[0].reason
    assert comparison.sizes == "n=77"
    assert set(comparison.ratios) == {"unscheduled", "gcc"}
    assert comparison.over_best_compiler == comparison.ratios["gcc"]


def test_without_a_compiler_polysched_is_the_reference(folder: Path, tmp_path: Path) -> None:
    ((program, sizes),) = programs_of(folder, ["largest"])
    outcome, comparison = raced(
        program, sizes, contest(), tmp_path, Rules(rounds=1, seconds_budget=0.05)
    )
    assert len(outcome.results) == 2
    assert comparison.over_best_compiler is None


def test_the_best_compiler_is_the_one_with_the_least_ratio() -> None:
    found = Comparison("f", "n=1", {"unscheduled": 0.5, "gcc": 3.0, "clang": 2.0}, 0.1)
    assert found.over_best_compiler == 2.0


def test_polly_is_clang_with_an_option() -> None:
    gcc, clang, polly = peer_compilers(STRICT_FLAGS)
    assert (gcc.name, clang.name, polly.name) == ("gcc", "clang", "polly")
    assert polly.command == (*clang.command, "-mllvm", "-polly")
    assert gcc.flags == clang.flags == polly.flags == STRICT_FLAGS


def test_arrays_hold_what_the_function_accesses(tmp_path: Path) -> None:
    """Products of sizes are computed from them, not chosen; sizes without an array are refused."""
    text = "void f(int w, int h, float *x) { for (int i = 0; i < w * h; i++) x[i] = 0; }"
    (tmp_path / "f.c").write_text(text + " // sizes: w=7, h=5")
    ((program, sizes),) = programs_of(tmp_path)
    assert sizes == {"w": 7, "h": 5, "w_h": 35}
    assert prepared_calls(program, sizes, {}).arrays["x"].shape == (35,)


@pytest.mark.parametrize(
    ("declared", "body", "message"),
    [
        (
            "int w, int h, float x[w]",
            "i < w * h; i++) x[i] = 0;",
            "1000000 violates .*w >= w_h",
        ),
        ("int n, int *k, float *x", "i < n; i++) x[k[i]] = 0;", "elements that data decide"),
        ("struct s *p", "i < p->n; i++) p->x[i] = 0;", "members of structs"),
    ],
)
def test_functions_that_may_write_outside_of_arrays_are_refused(
    declared: str, body: str, message: str, tmp_path: Path
) -> None:
    text = f"struct s {{ int n; float *x; }}; void f({declared}) {{ for (int i = 0; {body} }}"
    (tmp_path / "f.c").write_text(text)
    with pytest.raises(BenchError, match=message):
        list(programs_of(tmp_path))

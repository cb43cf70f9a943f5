"""The C functions that race."""

from pathlib import Path

import pytest

from polysched.bench.c_programs.calls import prepared_calls
from polysched.bench.c_programs.programs import PROGRAMS, gallery_programs, programs_of
from polysched.bench.c_programs.works import WORKS
from polysched.errors import BenchError

GALLERY = Path(__file__).parents[3] / "examples" / "gallery"


def test_every_shipped_program_is_read_and_has_sizes() -> None:
    found = list(programs_of(PROGRAMS))
    assert len(found) >= 40
    for program in found:
        assert program.function.name == program.name
        assert set(program.sizes) == set(program.kernel.parameters)
        assert "sizes: " in program.source.read_text()
        assert program.kernel.fp_contract


def test_sizes_without_a_comment_are_those_of_the_autoscheduler(folder: Path) -> None:
    sizes = {program.name: program.sizes for program in programs_of(folder)}
    assert sizes == {"largest": {"n": 77}, "unsized": {"n": 1000}}


@pytest.mark.parametrize(
    ("names", "message"),
    [((), "there is no C file in"), (("larges",), "no program 'larges' in .* 'largest'")],
)
def test_bad_names(names: tuple[str, ...], message: str, folder: Path, tmp_path: Path) -> None:
    where = folder if names else tmp_path / "none"
    with pytest.raises(BenchError, match=message):
        list(programs_of(where, names))


def test_every_program_of_the_gallery_has_sizes() -> None:
    assert set(WORKS) == {path.stem for path in GALLERY.glob("*.c")}
    assert all(work.operations(**work.sizes("large")) > 1e6 for work in WORKS.values())


def test_small_sizes_are_a_twentieth() -> None:
    assert WORKS["doitgen"].sizes("large") == {"r": 140, "q": 150, "p": 160}
    assert WORKS["doitgen"].sizes("small") == {"r": 7, "q": 7, "p": 8}


def test_a_program_of_the_gallery_has_a_schedule_and_inputs() -> None:
    (program,) = gallery_programs(GALLERY, ["trisolv"], "small")
    assert str(program) == "trisolv n=200"
    assert program.schedule is not None
    assert program.schedule.steps
    assert set(program.inputs) == {"L"}


def test_arrays_hold_what_the_function_accesses(tmp_path: Path) -> None:
    """Products of sizes are computed from them, not chosen; sizes without an array are refused."""
    text = "void f(int w, int h, float *x) { for (int i = 0; i < w * h; i++) x[i] = 0; }"
    (tmp_path / "f.c").write_text(text + " // sizes: w=7, h=5")
    (program,) = programs_of(tmp_path)
    assert program.sizes == {"w": 7, "h": 5, "w_h": 35}
    assert prepared_calls(program).arrays["x"].shape == (35,)


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

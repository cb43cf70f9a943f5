"""The C functions that race."""

from pathlib import Path

import pytest

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

"""The files that an export writes: formats, replaced files, and refused files and names."""

import os
from pathlib import Path

import pytest

from polysched.errors import ExportError
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.functions import cast
from polysched.legality.verdicts.verdict import IllegalScheduleError
from polysched.lower import export
from polysched.runtime.export import ExportFormat, export_files
from polysched.schedule.schedule import Schedule
from tests.support import kernels

FAST = Schedule(kernels.scale()).vectorize("i", 16)


def test_an_illegal_schedule_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(IllegalScheduleError):
        export(Schedule(kernels.prefix()).reverse("i"), tmp_path / "a.o", header=tmp_path / "a.h")
    assert not os.listdir(tmp_path)


def test_files_take_the_place_of_others_and_have_the_usual_rights(tmp_path: Path) -> None:
    for name in ("a.o", "a.h", "target.so"):
        (tmp_path / name).write_text("old")
    (tmp_path / "link.so").symlink_to("target.so")
    export(FAST, tmp_path / "a.o", header=tmp_path / "a.h")
    export(FAST, tmp_path / "link.so")
    assert sorted(os.listdir(tmp_path)) == ["a.h", "a.o", "link.so", "target.so"]
    assert (tmp_path / "link.so").is_symlink()
    assert (tmp_path / "target.so").read_bytes().startswith(b"\x7fELF")
    umask = os.umask(0)
    os.umask(umask)
    assert (tmp_path / "a.o").stat().st_mode & 0o777 == 0o666 & ~umask
    assert os.access(tmp_path / "target.so", os.X_OK)


def files(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir()}


@pytest.mark.parametrize("linker", ["false", "no-such-compiler"])
def test_what_was_there_survives_a_failure(
    linker: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a.so").write_text("old code")
    (tmp_path / "a.h").write_text("old header")
    before = files(tmp_path)
    monkeypatch.setenv("CC", linker)
    with pytest.raises(ExportError):
        export(FAST, tmp_path / "a.so", header=tmp_path / "a.h")
    assert files(tmp_path) == before


@pytest.mark.parametrize(
    ("code", "header", "message"),
    [
        ("a", None, "cannot export to '.*a'; expected a name ending in .o, .so, .ll, .s, .c"),
        ("a.obj", None, "cannot export to '.*a.obj'; expected a name ending in .o, .so"),
        ("folder.o", None, "cannot write '.*folder.o': it is not a file"),
        ("none/a.o", None, "cannot write '.*none/a.o': there is no folder '.*none'"),
        ("a.o", "none/a.h", "cannot write '.*none/a.h': there is no folder"),
        ("a.o", "folder.o", "cannot write '.*folder.o': it is not a file"),
        ("a.c", "a.c", "'.*a.c' cannot be both the code and its header; name two files"),
    ],
)
def test_bad_files(code: str, header: str | None, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.o").mkdir()
    with pytest.raises(ExportError, match=message):
        export_files(tmp_path / code, None if header is None else tmp_path / header)


def test_a_device_is_not_replaced() -> None:
    with pytest.raises(ExportError, match="cannot write '/dev/null': it is not a file"):
        export_files(Path("a.o"), Path("/dev/null"))


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("tempfile.TemporaryDirectory", refuse)
    with pytest.raises(ExportError, match=r"cannot write '.*a\.o': Permission denied"):
        export(FAST, tmp_path / "a.o")


def test_formats_by_extension(tmp_path: Path) -> None:
    for kind in ExportFormat:
        assert export_files(tmp_path / f"a{kind.value}").format is kind


@pytest.mark.parametrize("name", ["GOMP_parallel", "omp_get_max_threads"])
def test_names_of_the_openmp_runtime(name: str, tmp_path: Path) -> None:
    make = KernelBuilder(name)
    x, y = make.input("x", f32, (8,)), make.output("y", f32, (8,))
    with make.loops(i=8) as i:
        y[i] = 2 * x[i]
    with pytest.raises(ExportError, match=f"'{name}' has the name of a function"):
        export(Schedule(make.kernel()).parallel("i"), tmp_path / "a.o")


def test_names_that_the_c_text_uses(tmp_path: Path) -> None:
    make = KernelBuilder("lanes")
    y = make.output("y", f32, (8,))
    with make.loops(i=8) as i:
        y[i] = cast(i, f32)
    schedule = Schedule(make.kernel())
    with pytest.raises(ExportError, match="'lanes' has a name that its own C text uses"):
        export(schedule, tmp_path / "a.c")
    export(schedule, tmp_path / "a.o")

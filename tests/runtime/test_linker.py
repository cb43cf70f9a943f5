import ctypes
import subprocess
from pathlib import Path

import pytest

from polysched.errors import ExportError
from polysched.runtime.linker import compile_c, link_function, link_shared
from tests.support.c_programs import compiler


def objects(folder: Path, text: str) -> Path:
    source, made = folder / "a.c", folder / "a.o"
    source.write_text(text, encoding="utf-8")
    subprocess.run([compiler(), "-fPIC", "-c", source, "-o", made], check=True)
    return made


def test_a_library(tmp_path: Path) -> None:
    made = objects(tmp_path, "double exp(double); double f(double x) { return exp(x); }\n")
    link_shared(made, tmp_path / "a.so", openmp=False)
    function = ctypes.CDLL(str(tmp_path / "a.so")).f
    function.restype, function.argtypes = ctypes.c_double, [ctypes.c_double]
    assert function(0.0) == 1


def test_openmp_is_linked_if_asked(tmp_path: Path) -> None:
    made = objects(
        tmp_path, "int omp_get_max_threads(void); int f() { return omp_get_max_threads(); }\n"
    )
    link_shared(made, tmp_path / "a.so", openmp=True)
    with pytest.raises(ExportError, match=r"failed: (.|\n)*omp_get_max_threads"):
        link_shared(made, tmp_path / "b.so", openmp=False)


def test_no_compiler(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    message = "need a C compiler, and there is none of cc, gcc, clang; install one"
    with pytest.raises(ExportError, match=message):
        link_shared(tmp_path / "a.o", tmp_path / "a.so", openmp=False)


def test_the_compiler_that_cc_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "no-such-compiler -m64")
    message = "cannot run 'no-such-compiler': No such file or directory"
    with pytest.raises(ExportError, match=message):
        link_shared(tmp_path / "a.o", tmp_path / "a.so", openmp=False)
    made = objects(tmp_path, "int f(void) { return 1; }\n")
    monkeypatch.setenv("CC", f"{compiler()} -O1")
    link_shared(made, tmp_path / "a.so", openmp=False)
    assert (tmp_path / "a.so").exists()


def test_what_is_no_object(tmp_path: Path) -> None:
    compiler()
    (tmp_path / "a.o").write_text("text")
    with pytest.raises(ExportError, match=r"-shared .* failed: "):
        link_shared(tmp_path / "a.o", tmp_path / "a.so", openmp=False)


def test_a_compiler_that_says_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CC", "false")
    with pytest.raises(ExportError, match="'false -shared .*' failed: it ended with exit code 1"):
        link_shared(tmp_path / "a.o", tmp_path / "a.so", openmp=False)


def test_a_single_function_of_two_objects(tmp_path: Path) -> None:
    compiler()
    texts = {
        "a": "int g(int); static int twice(int n) { return 2 * n; } int unused(int n) "
        "{ return missing(n); } int f(int n) { return twice(g(n)); }",
        "b": "int g(int n) { return n + N; }",
    }
    made = []
    for name, text in texts.items():
        source = tmp_path / f"{name}.c"
        source.write_text(text)
        made.append(tmp_path / f"{name}.o")
        compile_c(source, made[-1], ["-DN=5"])
    link_function(made, tmp_path / "f.o", "f")
    link_shared(tmp_path / "f.o", tmp_path / "f.so", openmp=False)
    library = ctypes.CDLL(str(tmp_path / "f.so"))
    assert library.f(1) == 12
    assert not hasattr(library, "g")
    assert not hasattr(library, "unused")

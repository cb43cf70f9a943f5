"""C compilers that race."""

import re
from pathlib import Path

import pytest

from polysched.bench.c_programs.code import (
    STRICT_FLAGS,
    CCompiler,
    compiled_by,
    compiler_kernels,
    peer_compilers,
)
from polysched.bench.measure.contestant import UnavailableError
from tests.frontends.scop.calling import needs_gcc


@needs_gcc
def test_a_compiler_that_refuses_does_not_race(tmp_path: Path) -> None:
    source = tmp_path / "wrong.c"
    source.write_text("int f( {")
    with pytest.raises(UnavailableError, match="'gcc -O3 -march=native -ffast-math .* failed: "):
        compiled_by(CCompiler("gcc", ("gcc",)), source, tmp_path)
    with pytest.raises(UnavailableError, match="cannot run 'no-such-cc': No such file"):
        compiled_by(CCompiler("none", ("no-such-cc",)), source, tmp_path)


@needs_gcc
def test_the_kernels_of_a_compiler() -> None:
    found = compiler_kernels(CCompiler("cc", ("gcc", "-O1")))
    assert (found.name, found.library) == ("cc", "gcc -O1")
    assert re.fullmatch(
        r"-O3 -march=native -ffast-math, tuned for \w+, a plain loop has vectors of \d+ bits",
        found.architecture,
    )
    assert found.version[0].isdigit()
    assert found.held_back is None


def test_polly_is_clang_with_an_option() -> None:
    gcc, clang, polly = peer_compilers(STRICT_FLAGS)
    assert (gcc.name, clang.name, polly.name) == ("gcc", "clang", "polly")
    assert polly.command == (*clang.command, "-mllvm", "-polly")
    assert gcc.flags == clang.flags == polly.flags == STRICT_FLAGS

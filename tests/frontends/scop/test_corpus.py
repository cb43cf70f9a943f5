"""C functions as they are found in programs: how many are read, and that gcc's compute the same.

The files in ``corpus`` are rewritten as they are. ``corpus/calls`` calls every function on random
arguments, overlapping ones too, and prints a hash of the bytes that it leaves.
"""

from __future__ import annotations

import functools
import subprocess
from pathlib import Path

import pytest
from click.testing import CliRunner

from polysched.cli import rewrite
from polysched.cli.main import main
from polysched.errors import FrontendError
from polysched.frontends.scop import NO_PROMISES, CProgram, Promises
from polysched.frontends.scop.regions import Refusal, Replacement, replacements_of
from tests.frontends.scop.calling import needs_gcc
from tests.support.effort import sampled

FOLDER = Path(__file__).parent / "corpus"
FILES = sorted(path.stem for path in FOLDER.glob("*.c"))
FLAGS = ("-w", "-O1", "-ffp-contract=off", "-fwrapv")

REFUSED = {
    # the number of iterations depends on data
    "spmv_csr": "'ptr[i]' is data",
}
"""The functions that are not read as a whole, each with the reason."""
ONLY_REWRITTEN = {
    "base64_groups": "a variable of the file",
    "matmul_rows": "the rows of 'a' are only known at each call",
}


@functools.cache
def read_file(path: Path) -> tuple[list[Replacement], list[Refusal]]:
    """The regions of a file that are replaced, and the others; once for all tests."""
    return replacements_of(path, None, NO_PROMISES)


@pytest.fixture(scope="module")
def corpus() -> tuple[list[CProgram], dict[str, FrontendError]]:
    """The functions that are read, and the errors of the others."""
    files = [read_file(FOLDER / f"{name}.c") for name in FILES]
    programs = [replacement.program for replaced, _ in files for replacement in replaced]
    read = [program for program in programs if program.region.is_function]
    return read, {refusal.function: refusal.error for _, left in files for refusal in left}


def test_nine_in_ten_are_read(corpus: tuple[list[CProgram], dict[str, FrontendError]]) -> None:
    read, refused = corpus
    assert set(refused) == set(REFUSED)
    for name, reason in REFUSED.items():
        assert reason in str(refused[name])
        assert "^" in str(refused[name])
    assert len(read) >= 82
    assert len(read) / (len(read) + len(refused)) > 0.92


def test_nearly_all_have_an_object_of_their_own(
    corpus: tuple[list[CProgram], dict[str, FrontendError]],
) -> None:
    for program in corpus[0]:
        reason = ONLY_REWRITTEN.get(program.region.name)
        if reason is None:
            assert program.c_function().name == program.region.name
        else:
            with pytest.raises(FrontendError, match=reason):
                program.c_function()


@needs_gcc
@pytest.mark.parametrize("name", FILES)
def test_rewritten_functions_leave_the_bytes_of_gcc(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rewrite, "replacements_of", _read_again)
    source, rewritten, objects = (
        FOLDER / f"{name}.c",
        tmp_path / f"{name}.c",
        tmp_path / "kernels.o",
    )
    arguments = [str(source), "-o", str(rewritten), "--object", str(objects)]
    result = CliRunner().invoke(main, ["rewrite", *arguments])
    assert result.exit_code == 0, result.output
    for seed in sampled(("1u", "2u"), 2):
        expected = _printed(source, [], seed, tmp_path / "gcc")
        found = _printed(rewritten, [objects], seed, tmp_path / "polysched")
        assert found == expected
        assert expected.count("\n") >= 10


def _read_again(
    path: Path, function: str | None, promises: Promises
) -> tuple[list[Replacement], list[Refusal]]:
    """What `read_file` has read; the command changes the lists."""
    assert (function, promises) == (None, NO_PROMISES)
    replaced, refused = read_file(path)
    return list(replaced), list(refused)


def _printed(source: Path, objects: list[Path], seed: str, program: Path) -> str:
    """What the calls of the functions in a file print."""
    macros = [f'-DSOURCE="{source}"', f"-DSEED={seed}"]
    calls = FOLDER / "calls" / f"{source.stem}.c"
    command = ["gcc", *FLAGS, *macros, str(calls), *map(str, objects), "-o", str(program), "-lm"]
    subprocess.run(command, check=True)
    return subprocess.run([program], check=True, capture_output=True, text=True).stdout

"""Text of all kinds ends in a kernel or in a FrontendError, never in another exception."""

from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polysched.errors import FrontendError
from polysched.frontends.scop import load_c, parse_c

_TOKENS = re.compile(r"\w+|\s+|.", re.DOTALL)
_PROGRAM = """\
typedef double real;
void f(int n, int m, real A[restrict n][m], const float *x, unsigned char u[n])
{
#pragma polysched shape x[n]
#pragma scop
    for (int i = 0; i < n && i <= m; i += 2) {
        real t = x[i] * 2.5f;
        if (i % 3 == 1 || !(i > m - 4))
            A[i][i] += t > 0 ? sqrt(t) : -t;
        else
            u[i] = (int)t / 3 + u[i];
    }
#pragma endscop
}
"""
_WORDS = [*dict.fromkeys(_TOKENS.findall(_PROGRAM)), "while", "0", "]", "(", "*", "&", "1e9", "'"]


def reads_or_refuses(text: str) -> bool:
    """Whether it is read; that nothing else escapes is what is tested."""
    try:
        parse_c(text, path="text.c")
    except FrontendError:
        return False
    return True


def test_the_program_itself_is_read() -> None:
    assert reads_or_refuses(_PROGRAM)


def mutated(seed: int) -> str:
    """The program with a few tokens dropped, doubled, swapped or replaced."""
    generator = random.Random(seed)
    tokens = _TOKENS.findall(_PROGRAM)
    for _ in range(generator.randint(1, 3)):
        place = generator.randrange(len(tokens))
        match generator.randrange(4):
            case 0:
                tokens[place] = ""
            case 1:
                tokens[place] *= 2
            case 2:
                tokens[place] = generator.choice(_WORDS)
            case _:
                other = generator.randrange(len(tokens))
                tokens[place], tokens[other] = tokens[other], tokens[place]
    return "".join(tokens)


@pytest.mark.parametrize("first", range(0, 150, 50))
def test_mutated_programs(first: int) -> None:
    outcomes = {reads_or_refuses(mutated(seed)) for seed in range(first, first + 50)}
    assert outcomes == {True, False}


@settings(max_examples=50)
@given(st.text(max_size=60))
def test_any_text(text: str) -> None:
    reads_or_refuses(text)


@settings(max_examples=50)
@given(st.lists(st.sampled_from(_WORDS), max_size=30).map(" ".join))
def test_any_words_as_a_body(words: str) -> None:
    reads_or_refuses(f"void f(int n, double A[n], const float *x) {{ {words} }}")


@pytest.mark.parametrize("part", ["((((", "{", "[", "-", "!", "1+", "a[", "if(1)", "for(;;)", "0?"])
def test_much_of_the_same(part: str) -> None:
    reads_or_refuses(f"void f(int n, double a[n]) {{ a[0] = {part * 3000}; }}")
    reads_or_refuses(f"void f(int n, double a[n]) {{ {part * 3000} }}")


def test_a_file_of_bytes_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "binary.c"
    path.write_bytes(b"\x7fELF\xff\xfe\x00")
    with pytest.raises(FrontendError, match=r"is not C text: byte 0xff at offset 4"):
        load_c(path)


def test_a_null_character(tmp_path: Path) -> None:
    path = tmp_path / "null.c"
    path.write_text("void f(void) {\0}")
    with pytest.raises(FrontendError, match="contains a null character"):
        load_c(path)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(FrontendError, match=r"cannot read .*none\.c': No such file"):
        load_c(tmp_path / "none.c")


def test_a_folder(tmp_path: Path) -> None:
    with pytest.raises(FrontendError, match="cannot read"):
        load_c(tmp_path)

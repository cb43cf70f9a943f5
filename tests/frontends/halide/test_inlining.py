"""What a pipeline computes, and in which order."""

import pytest

from polysched.errors import FrontendError
from polysched.frontends.halide import Func, ImageParam, Var
from polysched.frontends.halide.inlining import algorithm, is_inline

x = Var("x")


def chain() -> tuple[Func, Func, Func]:
    image = ImageParam("f32", 1, "image")
    a, b, c = Func("a"), Func("b"), Func("c")
    a[x] = image[x] + 1
    b[x] = a[2 * x] * a[x + 1]
    c[x] = b[x] + a[x]
    return a, b, c


def test_inline_funcs_are_written_out() -> None:
    a, b, c = chain()
    found = algorithm(c)
    assert [one.name for one in found.funcs] == ["c"]
    assert [one.name for one in found.images] == ["image"]
    assert str(found.funcs[0].definitions[0].value) == (
        "(((image[(2 * x)] + 1.0) * (image[(x + 1)] + 1.0)) + (image[x] + 1.0))"
    )
    assert is_inline(a)
    assert is_inline(b)


def test_producers_come_before_their_consumers() -> None:
    a, b, c = chain()
    b.compute_root()
    a.compute_at(b, x)
    assert [one.name for one in algorithm(c).funcs] == ["a", "b", "c"]


def test_statements_of_definitions() -> None:
    _, _, c = chain()
    assert algorithm(c).funcs[0].statement(0) == "c"
    c[x] += 1
    c[x] += 1
    names = [algorithm(c).funcs[0].statement(number) for number in range(3)]
    assert names == ["c_init", "c_update", "c_update_1"]


def test_two_funcs_of_one_name() -> None:
    first, second, out = Func("f"), Func("f"), Func("out")
    first[x] = 1.0
    second[x] = 2.0
    out[x] = first[x] + second[x]
    with pytest.raises(FrontendError, match="two Funcs have the name 'f'"):
        algorithm(out)

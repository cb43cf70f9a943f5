"""Definitions of Funcs, domains and images, and what is said of those that are none."""

from collections.abc import Callable

import pytest

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, RDom, Var
from polysched.frontends.halide.domains import as_extent

x, y = Var("x"), Var("y")


def test_values_take_their_type_from_the_pure_definition() -> None:
    for value, expected in ((0, ps.i32), (0.5, ps.f32), (ps.cast(x, ps.f64), ps.f64)):
        func = Func("f")
        func[x] = value
        assert func.dtype == expected
        assert func[x + 1].dtype == expected
    func = Func("f", "f64")
    func[x] = 1
    assert func.definitions[0].value.dtype == ps.f64


def test_updates_are_numbered() -> None:
    func = Func("f")
    func[x] = 0.0
    func[x] += 1
    func[3] = 2.0
    assert func.update(1).label == "f.update(1)"
    assert [one.subscripts for one in func.definitions[1:]] == [
        (x,),
        (as_extent(3),),
    ]
    assert [one.location.line for one in func.definitions if one.location] == sorted(
        one.location.line for one in func.definitions if one.location
    )


def pure() -> Func:
    func = Func("f")
    func[x, y] = 0.0
    return func


def assign(func: Func, subscripts: object, value: object = 0.0) -> None:
    func[subscripts] = value  # type: ignore[index, assignment]


FAULTS: dict[str, Callable[[], object]] = {
    "Func 'f' is read before it is defined": lambda: Func("f")[x],
    "expected a Var for each dimension, no two the same": lambda: assign(Func("f"), (x, x)),
    "(x + 1); expected a Var for each dimension": lambda: assign(Func("f"), x + 1),
    "reads 'r_x' of a reduction domain": lambda: assign(
        Func("f"), x, ps.cast(RDom([(0, 3)]).x, ps.f32)
    ),
    "reads 'y', which is not one of its dimensions x": lambda: assign(Func("f"), x, y * 2),
    "'f' has 2 dimensions, but 1 subscripts here": lambda: pure()[x],
    "'f' has 2 dimensions, but 3 subscripts here": lambda: assign(pure(), (x, y, 0)),
    "subscript y; expected the Var 'x' of the pure definition": lambda: assign(pure(), (y, x)),
    "subscript (x + 1); expected the Var 'x'": lambda: assign(pure(), (x + 1, y)),
    "f has no update": lambda: pure().update(),
    "Func 'f' cannot be iterated over": lambda: list(pure()),
    "image 'i' cannot be iterated over": lambda: list(ImageParam("f32", 1, "i")),
    "image 'i' has 2 dimensions and 1 extents": lambda: ImageParam("f32", 2, "i", [3]),
    "image 'i' has 2 dimensions, so it has no channels()": lambda: ImageParam(
        "f32", 2, "i", ["w", 4]
    ).channels(),
    "width() of image 'i' is not declared: its extents are inferred": lambda: ImageParam(
        "f32", 2, "i"
    ).width(),
    "unknown element type 'f33'": lambda: ImageParam("f33", 2, "i"),
    "Func name '1' is not an identifier": lambda: Func("1"),
    "RDom 'r' has 0 bounds; expected 1 to 4": lambda: RDom([]),
    "RDom 'r': 3; expected (minimum, extent)": lambda: RDom([3]),  # type: ignore[list-item]
    "RDom 'r' has 1 variables": lambda: RDom([(0, 3)]).y,
    "RDom 'r': where(True); expected a condition": lambda: RDom([(0, 3)]).where(
        True  # type: ignore[arg-type]
    ),
    "extent None; expected a number": lambda: as_extent(None),  # type: ignore[arg-type]
    "size name 'n m' is not an identifier": lambda: as_extent("n m"),
    "'text' of type str cannot stand in an expression": lambda: assign(Func("f"), x, "text"),
    "f.compute_at(3, Index": lambda: pure().compute_at(3, x),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("message", FAULTS)
def test_what_is_no_algorithm(message: str) -> None:
    with pytest.raises(ps.PolyschedError) as raised:
        FAULTS[message]()
    expected = "Func 'f' has 0 update definitions" if message == "f has no update" else message
    assert expected in str(raised.value)


def test_a_func_with_updates_is_not_computed_inline() -> None:
    func = pure()
    func[x, y] += 1
    with pytest.raises(ps.PolyschedError, match="has updates, so it cannot be computed inline"):
        func.compute_inline()

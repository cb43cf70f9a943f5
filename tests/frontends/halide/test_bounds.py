"""Bounds inference: the least boxes around all that is read and written."""

import islpy as isl

from polysched.frontends.halide import Func, ImageParam, RDom, Var
from polysched.frontends.halide.bounds import regions, sizes_of
from polysched.frontends.halide.domains import as_extent
from polysched.frontends.halide.inlining import algorithm

x, y = Var("x"), Var("y")


def boxes(output: Func, *extents: int | str) -> dict[str, list[tuple[str, str]]]:
    found = algorithm(output)
    given = [as_extent(one) for one in extents]
    sizes = sizes_of(found, given)
    context = isl.Set(
        f"[{', '.join(sizes)}] -> {{ : {' and '.join(f'{s} >= 1' for s in sizes) or 'true'} }}"
    )
    return {
        name: [(str(one.first), str(one.end)) for one in region]
        for name, region in regions(found, given, context.params(), sizes).items()
    }


def test_several_readers_and_affine_places() -> None:
    image, a, out = ImageParam("f32", 2, "image"), Func("a"), Func("out")
    a[x, y] = image[2 * x + 1, y // 2]
    out[x, y] = a[x - 1, 5 - y] + a[x + 3, 0]
    a.compute_root()
    assert boxes(out, "w", 4) == {
        "out": [("0", "w"), ("0", "4")],
        "a": [("-1", "(w + 3)"), ("0", "6")],
        "image": [("-1", "((2 * w) + 6)"), ("0", "3")],
    }


def test_what_updates_read_and_write() -> None:
    image, out = ImageParam("f32", 1, "image"), Func("out")
    r = RDom([(2, 9)], "r")
    out[x] = 0.0
    out[r.x] = out[r.x - 2] + image[r.x]
    assert boxes(out, 3)["image"] == [("2", "11")]
    assert boxes(out, 3)["out"] == [("0", "11")]
    assert boxes(out, 20)["out"] == [("0", "20")]

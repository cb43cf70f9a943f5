"""Small algorithms in Halide's words, made afresh for each test: directives are kept in them."""

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, RDom, Var

x, y, c, n = (Var(name) for name in "xycn")
xo, xi, yo, yi, co, ci, xy = (Var(name) for name in "xo xi yo yi co ci xy".split())


def blur() -> tuple[Func, Func, ImageParam]:
    """A horizontal, then a vertical mean of three."""
    image = ImageParam("f32", 2, "image")
    across, down = Func("across"), Func("down")
    across[x, y] = (image[x, y] + image[x + 1, y] + image[x + 2, y]) * 0.25
    down[x, y] = (across[x, y] + across[x, y + 1] + across[x, y + 2]) * 0.5
    return across, down, image


def product(terms: int | str = 12) -> Func:
    """A product of matrices."""
    a, b = ImageParam("f32", 2, "a"), ImageParam("f32", 2, "b")
    r = RDom([(0, terms)], "r")
    out = Func("out")
    out[x, y] = 0.0
    out[x, y] += a[r.x, y] * b[x, r.x]
    return out


def convolution(channels: int | str = 128) -> tuple[Func, Func]:
    """The channeled convolution of the MLIR tutorial, with bias and ReLU."""
    image, filter = ImageParam("f32", 4, "image"), ImageParam("f32", 4, "filter")
    bias = ImageParam("f32", 1, "bias")
    conv, relu = Func("conv"), Func("relu")
    r = RDom([(0, channels), (0, 3), (0, 3)], "r")
    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += filter[c, r.y, r.z, r.x] * image[r.x, x + r.y, y + r.z, n]
    relu[c, x, y, n] = ps.maximum(0, conv[c, x, y, n])
    return conv, relu


def tutorial(conv: Func, relu: Func, vector: int = 16) -> None:
    """The schedule of the tutorial's chapter H, word for word."""
    r_x, r_y, r_z = RDom([(0, 1), (0, 1), (0, 1)], "r")
    relu.split(c, co, ci, vector * 4)
    relu.split(x, xo, xi, 5).reorder(ci, xi, xo, y, n, co).vectorize(ci, vector).unroll(ci)
    relu.unroll(xi)
    conv.compute_at(relu, xo).vectorize(c, vector).unroll(c).unroll(x).unroll(y)
    update = conv.update().reorder(c, x, y, r_x, r_y, r_z, n).vectorize(c, vector)
    update.unroll(c).unroll(x).unroll(y).unroll(r_x, 2)

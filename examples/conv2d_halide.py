"""The channeled convolution of MLIR's transform tutorial, chapter H, in Halide's own words.

Algorithm and schedule are those of the tutorial, nearly letter by letter. What Halide takes on
trust is proved before any code is made: ``polysched check examples/conv2d_halide.py:tutorial``.
"""

from time import perf_counter

import numpy as np

import polysched as ps
from polysched.frontends.halide import Func, ImageParam, Pipeline, RDom, Var


def conv2d_relu(CI=128) -> Func:
    """The algorithm and its schedule; the extents of the output are given later."""
    x, y, c, n = Var("x"), Var("y"), Var("c"), Var("n")
    input, filter = ImageParam(ps.f32, 4, "input"), ImageParam(ps.f32, 4, "filter")
    bias = ImageParam(ps.f32, 1, "bias")
    conv, relu = Func("conv"), Func("relu")
    r = RDom([(0, CI), (0, 3), (0, 3)], "r")

    conv[c, x, y, n] = bias[c]
    conv[c, x, y, n] += filter[c, r.y, r.z, r.x] * input[r.x, x + r.y, y + r.z, n]
    relu[c, x, y, n] = ps.maximum(0, conv[c, x, y, n])

    co, ci, xo, xi = Var("co"), Var("ci"), Var("xo"), Var("xi")
    vec, tile_w, tile_h = 16, 4, 5
    (
        relu.split(c, co, ci, vec * tile_w)
        .split(x, xo, xi, tile_h)
        .reorder(ci, xi, xo, y, n, co)
        .vectorize(ci, vec)
        .unroll(ci)
        .unroll(xi)
    )
    (
        conv.compute_at(relu, xo)
        .vectorize(c, vec)
        .unroll(c)
        .unroll(x)
        .unroll(y)
        .update()
        .reorder(c, x, y, r.x, r.y, r.z, n)
        .vectorize(c, vec)
        .unroll(c)
        .unroll(x)
        .unroll(y)
        .unroll(r.x, 2)
    )
    return relu


def tutorial(N=5, H=80, W=100, CI=128, CO=128) -> ps.Schedule:
    """The directives as steps of a schedule."""
    return Pipeline(conv2d_relu(CI)).schedule([CO, W, H, N])


def main(N=5, H=80, W=100, CI=128, CO=128) -> None:
    """Prove, compile, run, compare with numpy."""
    schedule = tutorial(N, H, W, CI, CO)
    print(schedule.trace(), schedule.check(), sep="\n")
    random = np.random.default_rng(0)
    input = random.random((N, H + 2, W + 2, CI), dtype=np.float32)
    filter = random.random((CI, 3, 3, CO), dtype=np.float32) - np.float32(0.5)
    bias = random.random(CO, dtype=np.float32)

    run = schedule.compile()
    run(input=input, filter=filter, bias=bias)
    start = perf_counter()
    output = run(input=input, filter=filter, bias=bias)
    seconds = perf_counter() - start

    expected = np.tile(bias, (N, H, W, 1))
    for rz in range(3):
        for ry in range(3):
            expected += input[:, rz : rz + H, ry : ry + W, :] @ filter[:, rz, ry, :]
    error = np.abs(output - np.maximum(expected, 0)).max()
    assert error <= 1e-3, f"off by {error}"
    flops = N * H * W * CO * (2 * 9 * CI + 2)
    print(f"{flops / seconds / 1e9:.1f} GFLOP/s, max error {error:.1e}")


if __name__ == "__main__":
    main()

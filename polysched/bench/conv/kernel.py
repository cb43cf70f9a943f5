"""The channeled convolution with bias and ReLU of MLIR's transform tutorial, chapter H.

The tutorial ("Chapter H: Reproducing Halide Schedule") took the kernel and its schedule from
Halide's ``apps/conv_layer``. N images of H rows and W columns, CI channels in and CO out::

    for n, y, x, c:              conv[n,y,x,c]  = bias[c]
    for n, y, x, c, rz, ry, rx:  conv[n,y,x,c] += filter[rx,rz,ry,c] * input[n, y+rz, x+ry, rx]
    for n, y, x, c:              output[n,y,x,c] = max(0, conv[n,y,x,c])
"""

from __future__ import annotations

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.functions import maximum
from polysched.user import Schedule


def conv2d_relu(N: int = 5, H: int = 80, W: int = 100, CI: int = 128, CO: int = 128) -> Kernel:
    """The kernel in float32; its statements are ``init``, ``update`` and ``relu``.

    Arrays, C-contiguous: ``input[N, H + 2, W + 2, CI]``, ``filter[CI, 3, 3, CO]``, ``bias[CO]``
    and ``output[N, H, W, CO]``. The order of the sum is free.
    """
    build = KernelBuilder("conv2d_relu")
    input = build.input("input", f32, (N, H + 2, W + 2, CI), dimensions="n y x rx")
    filter = build.input("filter", f32, (CI, 3, 3, CO), dimensions="rx rz ry c")
    bias = build.input("bias", f32, (CO,))
    conv = build.temporary("conv", f32, (N, H, W, CO), dimensions="n y x c")
    output = build.output("output", f32, (N, H, W, CO))

    with build.loops(n=N, y=H, x=W, c=CO) as (n, y, x, c), build.statement("init"):
        conv[n, y, x, c] = bias[c]
    with (
        build.loops(n=N, y=H, x=W, c=CO, rz=3, ry=3, rx=CI) as (n, y, x, c, rz, ry, rx),
        build.statement("update", order="any"),
    ):
        conv[n, y, x, c] += filter[rx, rz, ry, c] * input[n, y + rz, x + ry, rx]
    with build.loops(n=N, y=H, x=W, c=CO) as (n, y, x, c), build.statement("relu"):
        output[n, y, x, c] = maximum(0, conv[n, y, x, c])
    return build.kernel()


def unscheduled(kernel: Kernel) -> Schedule:
    """(a) The program without a schedule."""
    return Schedule(kernel)


def tutorial(kernel: Kernel) -> Schedule:
    """(b) Halide's schedule as the tutorial gives it: tiles of 5 pixels by 64 channels."""
    return (
        Schedule(kernel)
        .split("relu.c", 64, into=("co", "ci"))
        .split("relu.x", 5, into=("xo", "xi"))
        .reorder("co", "relu.n", "relu.y", "xo", "xi", "ci")
        .compute_at("conv", at="xo")
        .promote("conv", at="xo")
        .reorder("rz", "ry", "rx", "update.x", "update.c")
        .vectorize("init.c", 16)
        .vectorize("update.c", 16)
        .vectorize("ci", 16)
        .unroll("init.x", "init.c", "update.x", "update.c", "xi", "ci")
        .unroll("rx", factor=2)
    )


def best(kernel: Kernel) -> Schedule:
    """(c) Larger tiles, and a filter packed into the order in which the inner loops read it."""
    return (
        Schedule(kernel)
        .split("relu.c", 64, into=("co", "ci"))
        .split("relu.x", 6, into=("xo", "xi"))
        .reorder("co", "relu.n", "relu.y", "xo", "xi", "ci")
        .compute_at("conv", at="xo")
        .promote("conv", at="xo")
        .reorder("rz", "ry", "rx", "update.x", "update.c")
        .pack("filter", at="co", order=("rz", "ry", "rx", "c"))
        .vectorize("filter_packed.c", 16)
        .vectorize("init.c", 16)
        .vectorize("update.c", 16)
        .vectorize("ci", 16)
        .unroll("init.x", "init.c", "update.x", "update.c", "xi", "ci")
        .unroll("update.rx", factor=2)
    )

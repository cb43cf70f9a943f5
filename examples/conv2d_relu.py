"""The channeled convolution with bias and ReLU of MLIR's transform tutorial, chapter H, three ways.

Run it: every schedule is proved legal, compiled, run and compared with numpy. The kernel, N
    images::

    for n, y, x, c:              conv[n,y,x,c]  = bias[c]
    for n, y, x, c, rz, ry, rx:  conv[n,y,x,c] += filter[rx,rz,ry,c] * input[n, y+rz, x+ry, rx]
    for n, y, x, c:              output[n,y,x,c] = max(0, conv[n,y,x,c])
"""

from time import perf_counter

import numpy as np

import polysched as ps
from polysched.machine.peak import PeakMeter


def conv2d_relu(N=5, H=80, W=100, CI=128, CO=128) -> ps.Kernel:
    build = ps.KernelBuilder("conv2d_relu")
    input = build.input("input", ps.f32, (N, H + 2, W + 2, CI), dimensions="n y x rx")
    filter = build.input("filter", ps.f32, (CI, 3, 3, CO), dimensions="rx rz ry c")
    bias = build.input("bias", ps.f32, (CO,))
    conv = build.temporary("conv", ps.f32, (N, H, W, CO), dimensions="n y x c")
    output = build.output("output", ps.f32, (N, H, W, CO))

    with build.loops(n=N, y=H, x=W, c=CO) as (n, y, x, c), build.statement("init"):
        conv[n, y, x, c] = bias[c]
    with (
        build.loops(n=N, y=H, x=W, c=CO, rz=3, ry=3, rx=CI) as (n, y, x, c, rz, ry, rx),
        build.statement("update", order="any"),
    ):
        conv[n, y, x, c] += filter[rx, rz, ry, c] * input[n, y + rz, x + ry, rx]
    with build.loops(n=N, y=H, x=W, c=CO) as (n, y, x, c), build.statement("relu"):
        output[n, y, x, c] = ps.maximum(0, conv[n, y, x, c])
    return build.kernel()


def unscheduled(kernel: ps.Kernel) -> ps.Schedule:
    """(a) The program as it is written."""
    return ps.Schedule(kernel)


def tutorial(kernel: ps.Kernel) -> ps.Schedule:
    """(b) Halide's schedule as the tutorial gives it: tiles of 5 pixels by 64 channels."""
    return (
        ps.Schedule(kernel)
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


def best(kernel: ps.Kernel) -> ps.Schedule:
    """(c) Larger tiles, and a filter packed into the order in which the inner loops read it."""
    return (
        ps.Schedule(kernel)
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


def in_numpy(input, filter, bias):
    """The same in numpy: nine shifted matrix products."""
    N, H, W = input.shape[0], input.shape[1] - 2, input.shape[2] - 2
    conv = np.tile(bias, (N, H, W, 1))
    for rz in range(3):
        for ry in range(3):
            shifted = input[:, rz : rz + H, ry : ry + W, :]
            conv += shifted @ filter[:, rz, ry, :]
    return np.maximum(conv, 0)


def main(N=5, H=80, W=100, CI=128, CO=128) -> None:
    """Prove, compile, run, compare and time the three schedules."""
    flops = N * H * W * CO * (2 * 9 * CI + 2)
    random = np.random.default_rng(0)
    input = random.random((N, H + 2, W + 2, CI), dtype=np.float32)
    filter = random.random((CI, 3, 3, CO), dtype=np.float32) - np.float32(0.5)
    bias = random.random(CO, dtype=np.float32)
    expected = in_numpy(input, filter, bias)

    kernel = conv2d_relu(N, H, W, CI, CO)
    peak = PeakMeter(ps.load_machine())
    print("schedule         proved   compiled  GFLOP/s  of peak  max error", flush=True)
    for name, scheduled, runs in (
        ("unscheduled", unscheduled, 1),
        ("tutorial", tutorial, 9),
        ("best", best, 9),
    ):
        schedule = scheduled(kernel)
        start = perf_counter()
        ps.check(schedule).raise_if_refused()
        proved = perf_counter() - start
        start = perf_counter()
        run = ps.compile(schedule)
        compiled = perf_counter() - start
        output = run(input, filter, bias)
        error = np.abs(output - expected).max()
        assert error <= 1e-3, f"{name}: off by {error}"
        rates = []
        for _ in range(runs):
            before = peak.burst()
            start = perf_counter()
            run(input, filter, bias, output)
            rate = flops / (perf_counter() - start)
            rates.append((rate / max(before, peak.burst()), rate))
        fraction, rate = sorted(rates)[len(rates) // 2]
        print(
            f"{name:12} {proved * 1e3:7.0f} ms {compiled * 1e3:7.0f} ms"
            f" {rate / 1e9:8.1f} {fraction:8.2f}  {error:.1e}",
            flush=True,
        )


if __name__ == "__main__":
    main()

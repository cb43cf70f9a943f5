"""Jacobi sweeps in tiles of time and space, the tiles of a diagonal on several threads.

Written down, every sweep reads all of memory. Fused, skewed and tiled, a tile keeps its values in
cache for several sweeps; tiles that lie on one diagonal do not depend on each other. Each step is
the one that the checker proposes or accepts: ``polysched check examples/wavefront.py:wavefront``.
"""

import numpy as np

import polysched as ps


def jacobi() -> ps.Kernel:
    """``T`` double sweeps over n values: a means of three from x to y, and back."""
    build = ps.KernelBuilder("jacobi")
    n, T = build.parameter("n", minimum=3), build.parameter("T", minimum=1)
    x, y = build.inout("x", ps.f32, (n,)), build.inout("y", ps.f32, (n,))
    with build.loops(t=T):
        with build.loops(i=(1, n - 1)) as i, build.statement("there"):
            y[i] = (x[i - 1] + x[i] + x[i + 1]) * 0.33333
        with build.loops(i=(1, n - 1)) as i, build.statement("back"):
            x[i] = (y[i - 1] + y[i] + y[i + 1]) * 0.33333
    return build.kernel()


def fused(kernel: ps.Kernel) -> ps.Schedule:
    """Both sweeps in one loop: refused, ``back`` would read what ``there`` has yet to write."""
    return ps.Schedule(kernel).fuse("there.i", "back.i")


def wavefront(kernel: ps.Kernel) -> ps.Schedule:
    """Time tiled, the tiles of a diagonal in parallel.

    ``back`` runs 33 behind, where 1 would be legal: its vectors then do not straddle those that
    ``there`` has just stored.
    """
    return (
        ps.Schedule(kernel)
        .shift("back.i", 33)
        .fuse("there.i", "back.i")
        .skew("i", by="t", factor=34)
        .tile(("t", "i"), (32, 2048), ("to", "io"), ("ti", "ii"))
        .vectorize("ii", 16)
        .skew("io", by="to")
        .reorder("io", "to")
        .parallel("to")
    )


def main(n=200_000, T=64) -> None:
    """Show why plain fusion is refused; run the tiles against the program as written."""
    kernel = jacobi()
    print(fused(kernel).check())

    start = np.random.default_rng(0).random((2, n), dtype=np.float32)
    plain, tiles = start.copy(), start.copy()
    ps.Schedule(kernel).compile()(*plain, T=T)
    wavefront(kernel).compile()(*tiles, T=T)
    assert np.array_equal(plain, tiles)
    print("\nshifted, skewed and tiled it is legal and gives the same result, bit for bit")


if __name__ == "__main__":
    main()

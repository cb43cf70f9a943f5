"""A stencil that updates its array in place: a schedule that is refused, and one that is proved.

From the shell: ``polysched check examples/seidel.py:tiled`` and the same with ``:skewed``.
"""

import numpy as np

import polysched as ps


def seidel() -> ps.Kernel:
    """``T`` sweeps over an n x n grid; every value is the mean of itself and its neighbors."""
    build = ps.KernelBuilder("seidel")
    n, T = build.parameter("n", minimum=3), build.parameter("T", minimum=1)
    a = build.inout("a", ps.f32, (n, n))
    with build.loops(t=T, i=(1, n - 1), j=(1, n - 1)) as (_, i, j), build.statement("S"):
        a[i, j] = (a[i - 1, j] + a[i, j - 1] + a[i, j] + a[i + 1, j] + a[i, j + 1]) * 0.2
    return build.kernel()


def tiled(kernel: ps.Kernel) -> ps.Schedule:
    """Tiles of time and space: illegal, a tile would read what a later tile has yet to write."""
    return ps.Schedule(kernel).tile(("t", "i", "j"), (4, 8, 8))


def skewed(kernel: ps.Kernel) -> ps.Schedule:
    """The same tiles on a skewed grid, in which nothing depends on a later tile."""
    return ps.Schedule(kernel).skew("i", by="t").skew("j", by="t").tile(("t", "i", "j"), (4, 8, 8))


def main(n=40, T=6) -> None:
    """Show why the first schedule is refused; run the second against the program as written."""
    kernel = seidel()
    try:
        ps.compile(tiled(kernel))
    except ps.ScheduleError as error:
        print(error)

    start = np.random.default_rng(0).random((n, n), dtype=np.float32)
    plain, tiles = start.copy(), start.copy()
    ps.compile(ps.Schedule(kernel))(plain, T=T)
    ps.compile(skewed(kernel))(tiles, T=T)
    assert np.array_equal(plain, tiles)
    print("\nskewed first, the same tiles are legal and give the same result, bit for bit")


if __name__ == "__main__":
    main()

"""Finite differences in the time domain: an electromagnetic field in two dimensions."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def fdtd_2d(ex: "f64[nx, ny]", ey: "f64[nx, ny]", hz: "f64[nx, ny]", source: "f64[steps]"):
    nx, ny = ex.shape
    for t in range(len(source)):
        for i in range(nx):
            if i == 0:
                for j in range(ny):
                    ey[i, j] = source[t]
            else:
                for j in range(ny):
                    ey[i, j] = ey[i, j] - 0.5 * (hz[i, j] - hz[i - 1, j])
        for i in range(nx):
            for j in range(1, ny):
                ex[i, j] = ex[i, j] - 0.5 * (hz[i, j] - hz[i, j - 1])
        for i in range(nx - 1):
            for j in range(ny - 1):
                hz[i, j] = hz[i, j] - 0.7 * (ex[i, j + 1] - ex[i, j] + ey[i + 1, j] - ey[i, j])

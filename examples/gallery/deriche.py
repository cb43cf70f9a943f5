"""A recursive image filter after Deriche: sums of four one-dimensional sweeps."""

# ruff: noqa: F821, PLR0913, PLR0917  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def deriche(
    a1: "f32",
    a2: "f32",
    a3: "f32",
    a4: "f32",
    b1: "f32",
    b2: "f32",
    image: "f32[w, h]",
    out: "f32[w, h]",
    y: "f32[w, h]",
):
    w, h = image.shape
    for i in range(w):
        y1 = 0
        y2 = 0
        x1 = 0
        for j in range(h):
            y[i, j] = a1 * image[i, j] + a2 * x1 + b1 * y1 + b2 * y2
            x1 = image[i, j]
            y2 = y1
            y1 = y[i, j]
    for i in range(w):
        y1 = 0
        y2 = 0
        x1 = 0
        x2 = 0
        for j in range(h - 1, -1, -1):
            out[i, j] = a3 * x1 + a4 * x2 + b1 * y1 + b2 * y2
            x2 = x1
            x1 = image[i, j]
            y2 = y1
            y1 = out[i, j]
    for i in range(w):
        for j in range(h):
            out[i, j] = y[i, j] + out[i, j]
    for j in range(h):
        t1 = 0
        y1 = 0
        y2 = 0
        for i in range(w):
            y[i, j] = a1 * out[i, j] + a2 * t1 + b1 * y1 + b2 * y2
            t1 = out[i, j]
            y2 = y1
            y1 = y[i, j]
    for j in range(h):
        t1 = 0
        t2 = 0
        y1 = 0
        y2 = 0
        for i in range(w - 1, -1, -1):
            x1 = a3 * t1 + a4 * t2 + b1 * y1 + b2 * y2
            t2 = t1
            t1 = out[i, j]
            y2 = y1
            y1 = x1
            out[i, j] = x1 + y[i, j]

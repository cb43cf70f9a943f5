"""The Python functions of ``polysched bench python``, as users of numpy and numba write them.

Each function runs in Python, under ``ps.jit`` and under ``numba.njit``. ``*_loops`` is the form
with loops, for numba, of a function that numba cannot compile or compiles to slower code.
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: D103

from __future__ import annotations

import math

import numpy as np


def jacobi_2d(a, b, steps):
    for _ in range(steps):
        b[1:-1, 1:-1] = 0.2 * (
            a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1]
        )
        a[1:-1, 1:-1] = 0.2 * (
            b[1:-1, 1:-1] + b[1:-1, :-2] + b[1:-1, 2:] + b[2:, 1:-1] + b[:-2, 1:-1]
        )


def jacobi_2d_loops(a, b, steps):
    n, m = a.shape
    for _ in range(steps):
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                b[i, j] = 0.2 * (a[i, j] + a[i, j - 1] + a[i, j + 1] + a[i + 1, j] + a[i - 1, j])
        for i in range(1, n - 1):
            for j in range(1, m - 1):
                a[i, j] = 0.2 * (b[i, j] + b[i, j - 1] + b[i, j + 1] + b[i + 1, j] + b[i - 1, j])


def advection(u, c, steps):
    for _ in range(steps):
        u[1:] = u[1:] - c * (u[1:] - u[:-1])


def advection_loops(u, c, steps):
    for _ in range(steps):
        before = u[0]
        for i in range(1, u.shape[0]):
            here = u[i]
            u[i] = here - c * (here - before)
            before = here


def n_body(position, mass, force):
    n = position.shape[0]
    for i in range(n):
        fx = 0.0
        fy = 0.0
        fz = 0.0
        for j in range(n):
            dx = position[j, 0] - position[i, 0]
            dy = position[j, 1] - position[i, 1]
            dz = position[j, 2] - position[i, 2]
            inverse = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + 0.01)
            scale = mass[j] * inverse * inverse * inverse
            fx += scale * dx
            fy += scale * dy
            fz += scale * dz
        force[i, 0] = fx
        force[i, 1] = fy
        force[i, 2] = fz


def softmax(x):
    shifted = np.exp(x - np.max(x, axis=1)[:, None])
    return shifted / np.sum(shifted, axis=1)[:, None]


def softmax_loops(x):
    n, m = x.shape
    out = np.empty_like(x)
    for i in range(n):
        top = x[i, 0]
        for j in range(1, m):
            top = max(top, x[i, j])
        total = np.float32(0)
        for j in range(m):
            out[i, j] = np.exp(x[i, j] - top)
            total += out[i, j]
        for j in range(m):
            out[i, j] /= total
    return out


def layer_norm(x, scale, shift):
    mean = x.mean(axis=1, keepdims=True)
    variance = ((x - mean) ** 2).mean(axis=1, keepdims=True)
    return (x - mean) / np.sqrt(variance + np.float32(1e-5)) * scale + shift


def layer_norm_loops(x, scale, shift):
    n, m = x.shape
    out = np.empty_like(x)
    for i in range(n):
        mean = np.float32(0)
        for j in range(m):
            mean += x[i, j]
        mean /= np.float32(m)
        variance = np.float32(0)
        for j in range(m):
            distance = x[i, j] - mean
            variance += distance * distance
        factor = np.float32(1) / np.sqrt(variance / np.float32(m) + np.float32(1e-5))
        for j in range(m):
            out[i, j] = (x[i, j] - mean) * factor * scale[j] + shift[j]
    return out


def box_blur(image):
    h, w = image.shape
    out = np.zeros_like(image)
    for y in range(1, h - 1):
        for x in range(1, w - 1):
            total = np.float32(0)
            for dy in range(-1, 2):
                for dx in range(-1, 2):
                    total += image[y + dy, x + dx]
            out[y, x] = total * np.float32(1 / 9)
    return out


def histogram(values, bins):
    counts = np.zeros(bins, np.int64)
    for i in range(values.shape[0]):
        counts[int(values[i])] += 1
    return counts


def k_means_step(points, centers):
    n, d = points.shape
    k = centers.shape[0]
    labels = np.zeros(n, np.int64)
    for i in range(n):
        best = np.inf
        for c in range(k):
            distance = 0.0
            for j in range(d):
                difference = points[i, j] - centers[c, j]
                distance += difference * difference
            if distance < best:
                best = distance
                labels[i] = c
    return labels


def floyd_warshall(distance):
    n = distance.shape[0]
    for k in range(n):
        for i in range(n):
            for j in range(n):
                distance[i, j] = min(distance[i, j], distance[i, k] + distance[k, j])


def cholesky(a):
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            for k in range(j):
                a[i, j] -= a[i, k] * a[j, k]
            a[i, j] /= a[j, j]
        for k in range(i):
            a[i, i] -= a[i, k] * a[i, k]
        a[i, i] = np.sqrt(a[i, i])


def conv_bias(image, weights, bias):
    n, h, w, channels = image.shape
    size, _, _, outputs = weights.shape
    out = np.empty((n, h - size + 1, w - size + 1, outputs), np.float32)
    for b in range(n):
        for y in range(h - size + 1):
            for x in range(w - size + 1):
                for o in range(outputs):
                    out[b, y, x, o] = bias[o]
                for dy in range(size):
                    for dx in range(size):
                        for c in range(channels):
                            for o in range(outputs):
                                out[b, y, x, o] += (
                                    image[b, y + dy, x + dx, c] * weights[dy, dx, c, o]
                                )
    return out


def harris(image):
    dx = np.zeros_like(image)
    dy = np.zeros_like(image)
    dx[1:-1, 1:-1] = (image[1:-1, 2:] - image[1:-1, :-2]) * np.float32(0.5)
    dy[1:-1, 1:-1] = (image[2:, 1:-1] - image[:-2, 1:-1]) * np.float32(0.5)
    xx, yy, xy = dx * dx, dy * dy, dx * dy
    sxx = box_sum(xx)
    syy = box_sum(yy)
    sxy = box_sum(xy)
    trace = sxx + syy
    return sxx * syy - sxy * sxy - np.float32(0.04) * trace * trace


def box_sum(a):
    out = np.zeros_like(a)
    out[1:-1, 1:-1] = (
        a[:-2, :-2] + a[:-2, 1:-1] + a[:-2, 2:]
        + a[1:-1, :-2] + a[1:-1, 1:-1] + a[1:-1, 2:]
        + a[2:, :-2] + a[2:, 1:-1] + a[2:, 2:]
    )  # fmt: skip
    return out


def harris_loops(image):
    h, w = image.shape
    half = np.float32(0.5)
    xx = np.zeros_like(image)
    yy = np.zeros_like(image)
    xy = np.zeros_like(image)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            dx = (image[i, j + 1] - image[i, j - 1]) * half
            dy = (image[i + 1, j] - image[i - 1, j]) * half
            xx[i, j] = dx * dx
            yy[i, j] = dy * dy
            xy[i, j] = dx * dy
    out = np.zeros_like(image)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            sxx = np.float32(0)
            syy = np.float32(0)
            sxy = np.float32(0)
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    sxx += xx[i + di, j + dj]
                    syy += yy[i + di, j + dj]
                    sxy += xy[i + di, j + dj]
            trace = sxx + syy
            out[i, j] = sxx * syy - sxy * sxy - np.float32(0.04) * trace * trace
    return out


def mandelbrot(real, imaginary, steps):
    h, w = real.shape
    counts = np.zeros((h, w), np.int64)
    for i in range(h):
        for j in range(w):
            x = 0.0
            y = 0.0
            count = 0
            for _ in range(steps):
                xx = x * x
                yy = y * y
                if xx + yy <= 4.0:
                    y = 2.0 * x * y + imaginary[i, j]
                    x = xx - yy + real[i, j]
                    count += 1
            counts[i, j] = count
    return counts


def cavity_flow(u, v, p, dt, dx, dy, nu):
    un = u.copy()
    vn = v.copy()
    u[1:-1, 1:-1] = (
        un[1:-1, 1:-1]
        - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, :-2])
        - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[:-2, 1:-1])
        - dt / (2 * dx) * (p[1:-1, 2:] - p[1:-1, :-2])
        + nu * (
            dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, :-2])
            + dt / dy**2 * (un[2:, 1:-1] - 2 * un[1:-1, 1:-1] + un[:-2, 1:-1])
        )
    )  # fmt: skip
    v[1:-1, 1:-1] = (
        vn[1:-1, 1:-1]
        - un[1:-1, 1:-1] * dt / dx * (vn[1:-1, 1:-1] - vn[1:-1, :-2])
        - vn[1:-1, 1:-1] * dt / dy * (vn[1:-1, 1:-1] - vn[:-2, 1:-1])
        - dt / (2 * dy) * (p[2:, 1:-1] - p[:-2, 1:-1])
        + nu * (
            dt / dx**2 * (vn[1:-1, 2:] - 2 * vn[1:-1, 1:-1] + vn[1:-1, :-2])
            + dt / dy**2 * (vn[2:, 1:-1] - 2 * vn[1:-1, 1:-1] + vn[:-2, 1:-1])
        )
    )  # fmt: skip
    u[0, :] = 0
    u[:, 0] = 0
    u[:, -1] = 0
    u[-1, :] = 1
    v[0, :] = 0
    v[-1, :] = 0
    v[:, 0] = 0
    v[:, -1] = 0


def go_fast(a):
    trace = 0.0
    for i in range(a.shape[0]):
        trace += np.tanh(a[i, i])
    return a + trace


def moving_average(x, width):
    n = x.shape[0] - width + 1
    out = np.empty(n)
    for i in range(n):
        total = 0.0
        for k in range(width):
            total += x[i + k]
        out[i] = total / width
    return out


def gray_scale(image):
    red, green, blue = image[:, :, 0], image[:, :, 1], image[:, :, 2]
    return np.float32(0.299) * red + np.float32(0.587) * green + np.float32(0.114) * blue


def pairwise_distances(x):
    n, d = x.shape
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            total = 0.0
            for k in range(d):
                difference = x[i, k] - x[j, k]
                total += difference * difference
            out[i, j] = np.sqrt(total)
    return out


def fir(x, taps):
    n = x.shape[0] - taps.shape[0] + 1
    out = np.zeros(n, np.float32)
    for k in range(taps.shape[0]):
        out += taps[k] * x[k : k + n]
    return out


def fir_loops(x, taps):
    n = x.shape[0] - taps.shape[0] + 1
    out = np.zeros(n, np.float32)
    for i in range(n):
        total = np.float32(0)
        for k in range(taps.shape[0]):
            total += taps[k] * x[i + k]
        out[i] = total
    return out


def matrix_chain(a, b, c):
    return a @ b @ c

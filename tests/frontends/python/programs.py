"""Twenty programs as numpy and numba users write them: each function, and arguments for it."""

import math

import numpy as np

from polysched.bench.python_functions import go_fast


def heat(u, steps):
    for _ in range(steps):
        un = u.copy()
        u[1:-1, 1:-1] = un[1:-1, 1:-1] + 0.1 * (
            un[2:, 1:-1] + un[:-2, 1:-1] + un[1:-1, 2:] + un[1:-1, :-2] - 4 * un[1:-1, 1:-1]
        )
    return u


def advection(u, c, dt, dx, steps):
    for _ in range(steps):
        un = u.copy()
        u[1:] = un[1:] - c * dt / dx * (un[1:] - un[:-1])
        u[0] = un[0] - c * dt / dx * (un[0] - un[-1])
    return u


def nbody(pos, vel, mass, dt):
    n = pos.shape[0]
    for i in range(n):
        ax, ay, az = 0.0, 0.0, 0.0
        for j in range(n):
            dx = pos[j, 0] - pos[i, 0]
            dy = pos[j, 1] - pos[i, 1]
            dz = pos[j, 2] - pos[i, 2]
            inv = 1.0 / math.sqrt(dx * dx + dy * dy + dz * dz + 1e-9)
            f = mass[j] * inv**3
            ax += f * dx
            ay += f * dy
            az += f * dz
        vel[i, 0] += dt * ax
        vel[i, 1] += dt * ay
        vel[i, 2] += dt * az
    for i in range(n):
        pos[i] += dt * vel[i]


def softmax(x):
    m = np.max(x, axis=1)[:, None]
    e = np.exp(x - m)
    return e / e.sum(axis=1, keepdims=True)


def layer_norm(x, gamma, beta):
    mean = np.mean(x, axis=-1, keepdims=True)
    var = np.var(x, axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5) * gamma + beta


def box_blur(img):
    h, w = img.shape
    out = np.zeros_like(img)
    for i in range(1, h - 1):
        for j in range(1, w - 1):
            out[i, j] = np.sum(img[i - 1 : i + 2, j - 1 : j + 2]) / 9.0
    return out


def histogram(img):
    hist = np.zeros(256, dtype=np.int64)
    for i in range(img.shape[0]):
        for j in range(img.shape[1]):
            hist[img[i, j]] += 1
    return hist


def kmeans_step(points, centers):
    n, d = points.shape
    k = centers.shape[0]
    labels = np.zeros(n, dtype=np.int64)
    for i in range(n):
        best = 1e300
        for c in range(k):
            dist = 0.0
            for j in range(d):
                diff = points[i, j] - centers[c, j]
                dist += diff * diff
            if dist < best:
                best = dist
                labels[i] = c
    sums = np.zeros((k, d))
    counts = np.zeros(k)
    for i in range(n):
        for c in range(k):
            if labels[i] == c:
                counts[c] += 1
                for j in range(d):
                    sums[c, j] += points[i, j]
    for c in range(k):
        if counts[c] > 0:
            for j in range(d):
                centers[c, j] = sums[c, j] / counts[c]
    return labels


def floyd_warshall(dist):
    n = len(dist)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                dist[i, j] = min(dist[i, j], dist[i, k] + dist[k, j])
    return dist


def cholesky(a):
    n = a.shape[0]
    for j in range(n):
        a[j, j] = np.sqrt(a[j, j] - np.dot(a[j, :j], a[j, :j]))
        for i in range(j + 1, n):
            a[i, j] = (a[i, j] - np.dot(a[i, :j], a[j, :j])) / a[j, j]
    for i in range(n):
        a[i, i + 1 :] = 0.0


def conv_bias(image, weights, bias):
    h, w, c = image.shape
    kh, kw, _, f = weights.shape
    out = np.empty((h - kh + 1, w - kw + 1, f), dtype=np.float32)
    for i in range(h - kh + 1):
        for j in range(w - kw + 1):
            for o in range(f):
                acc = bias[o]
                for p in range(kh):
                    for q in range(kw):
                        for r in range(c):
                            acc += image[i + p, j + q, r] * weights[p, q, r, o]
                out[i, j, o] = max(acc, np.float32(0))
    return out


def harris(img, k):
    ix = (img[1:-1, 2:] - img[1:-1, :-2]) / 2.0
    iy = (img[2:, 1:-1] - img[:-2, 1:-1]) / 2.0
    ixx, iyy, ixy = ix * ix, iy * iy, ix * iy
    sxx = np.zeros((ix.shape[0] - 2, ix.shape[1] - 2))
    syy = np.zeros_like(sxx)
    sxy = np.zeros_like(sxx)
    for di in range(3):
        for dj in range(3):
            sxx += ixx[di : di + sxx.shape[0], dj : dj + sxx.shape[1]]
            syy += iyy[di : di + sxx.shape[0], dj : dj + sxx.shape[1]]
            sxy += ixy[di : di + sxx.shape[0], dj : dj + sxx.shape[1]]
    det = sxx * syy - sxy**2
    trace = sxx + syy
    return det - k * trace**2


def mandelbrot(cr, ci, steps):
    h, w = len(ci), len(cr)
    count = np.zeros((h, w), dtype=np.int32)
    for i in range(h):
        for j in range(w):
            zr = 0.0
            zi = 0.0
            n = 0
            for _ in range(steps):
                if zr * zr + zi * zi <= 4.0:
                    t = zr * zr - zi * zi + cr[j]
                    zi = 2.0 * zr * zi + ci[i]
                    zr = t
                    n += 1
            count[i, j] = n
    return count


def build_up_b(b, rho, dt, u, v, dx, dy):
    b[1:-1, 1:-1] = rho * (
        1
        / dt
        * ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx) + (v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy))
        - ((u[1:-1, 2:] - u[1:-1, 0:-2]) / (2 * dx)) ** 2
        - 2 * ((u[2:, 1:-1] - u[0:-2, 1:-1]) / (2 * dy) * (v[1:-1, 2:] - v[1:-1, 0:-2]) / (2 * dx))
        - ((v[2:, 1:-1] - v[0:-2, 1:-1]) / (2 * dy)) ** 2
    )


def pressure_poisson(nit, p, dx, dy, b):
    pn = np.empty_like(p)
    for _ in range(nit):
        pn = p.copy()
        p[1:-1, 1:-1] = (
            (pn[1:-1, 2:] + pn[1:-1, 0:-2]) * dy**2 + (pn[2:, 1:-1] + pn[0:-2, 1:-1]) * dx**2
        ) / (2 * (dx**2 + dy**2)) - dx**2 * dy**2 / (2 * (dx**2 + dy**2)) * b[1:-1, 1:-1]
        p[:, -1] = p[:, -2]
        p[0, :] = p[1, :]
        p[:, 0] = p[:, 1]
        p[-1, :] = 0


def cavity_flow(nt, nit, u, v, dt, dx, dy, p, rho, nu):
    b = np.zeros(p.shape)
    for _ in range(nt):
        un = u.copy()
        vn = v.copy()
        build_up_b(b, rho, dt, u, v, dx, dy)
        pressure_poisson(nit, p, dx, dy, b)
        u[1:-1, 1:-1] = (
            un[1:-1, 1:-1]
            - un[1:-1, 1:-1] * dt / dx * (un[1:-1, 1:-1] - un[1:-1, 0:-2])
            - vn[1:-1, 1:-1] * dt / dy * (un[1:-1, 1:-1] - un[0:-2, 1:-1])
            - dt / (2 * rho * dx) * (p[1:-1, 2:] - p[1:-1, 0:-2])
            + nu * (dt / dx**2 * (un[1:-1, 2:] - 2 * un[1:-1, 1:-1] + un[1:-1, 0:-2]))
        )
        v[1:-1, 1:-1] = vn[1:-1, 1:-1] - dt / (2 * rho * dy) * (p[2:, 1:-1] - p[0:-2, 1:-1])
        u[0, :] = 0
        u[:, 0] = 0
        u[:, -1] = 0
        u[-1, :] = 1
        v[0, :] = 0
        v[-1, :] = 0


def pairwise(x):
    n, _ = x.shape
    out = np.empty((n, n))
    for i in range(n):
        for j in range(n):
            out[i, j] = np.sqrt(np.sum((x[i] - x[j]) ** 2))
    return out


def mlp(x, w1, b1, w2, b2):
    hidden = np.maximum(x @ w1 + b1, 0)
    return hidden @ w2 + b2


def sobel(img):
    gx = (
        img[:-2, 2:]
        + 2 * img[1:-1, 2:]
        + img[2:, 2:]
        - img[:-2, :-2]
        - 2 * img[1:-1, :-2]
        - img[2:, :-2]
    )
    gy = (
        img[2:, :-2]
        + 2 * img[2:, 1:-1]
        + img[2:, 2:]
        - img[:-2, :-2]
        - 2 * img[:-2, 1:-1]
        - img[:-2, 2:]
    )
    return np.sqrt(gx**2 + gy**2)


def life(grid, steps):
    h, w = grid.shape
    for _ in range(steps):
        old = grid.copy()
        for i in range(h):
            for j in range(w):
                total = 0
                for di in range(-1, 2):
                    for dj in range(-1, 2):
                        total += old[(i + di) % h, (j + dj) % w]
                total -= old[i, j]
                grid[i, j] = 1 if total == 3 or (total == 2 and old[i, j] == 1) else 0


def edit_distance(s, t):
    m, n = len(s), len(t)
    d = np.zeros((m + 1, n + 1), dtype=np.int64)
    d[:, 0] = np.arange(m + 1)
    d[0, :] = np.arange(n + 1)
    for i in range(1, m + 1):
        for j in range(1, n + 1):
            cost = 0 if s[i - 1] == t[j - 1] else 1
            d[i, j] = min(d[i - 1, j] + 1, d[i, j - 1] + 1, d[i - 1, j - 1] + cost)
    return d[m, n]


def programs(generator: np.random.Generator):
    """The functions with their arguments, small."""
    r = generator.random
    spd = r((9, 9))
    return [
        (heat, (r((12, 14)), 3)),
        (advection, (r(20), 1.0, 0.01, 0.1, 4)),
        (nbody, (r((7, 3)), r((7, 3)), r(7), 0.01)),
        (softmax, (r((6, 9)),)),
        (layer_norm, (r((6, 9)), r(9), r(9))),
        (box_blur, (r((8, 9)),)),
        (histogram, (generator.integers(0, 256, (8, 9)).astype(np.uint8),)),
        (kmeans_step, (r((20, 3)), r((4, 3)))),
        (floyd_warshall, (r((9, 9)),)),
        (cholesky, (spd @ spd.T + 9 * np.eye(9),)),
        (
            conv_bias,
            (
                r((8, 9, 3)).astype(np.float32),
                r((3, 3, 3, 5)).astype(np.float32),
                r(5).astype(np.float32),
            ),
        ),
        (harris, (r((12, 13)), 0.04)),
        (mandelbrot, (np.linspace(-2, 1, 11), np.linspace(-1, 1, 9), 20)),
        (go_fast, (r((8, 8)),)),
        (cavity_flow, (3, 4, r((9, 9)), r((9, 9)), 0.001, 0.1, 0.1, r((9, 9)), 1.0, 0.1)),
        (pairwise, (r((8, 3)),)),
        (mlp, (r((5, 6)), r((6, 7)), r(7), r((7, 3)), r(3))),
        (sobel, (r((9, 10)),)),
        (life, (generator.integers(0, 2, (8, 9)), 3)),
        (edit_distance, (generator.integers(0, 3, 9), generator.integers(0, 3, 11))),
    ]

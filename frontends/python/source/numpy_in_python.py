"""Functions of numpy in terms of others; a call of one is inlined like a function of the user.

``None`` and text as arguments choose a side of a branch when the call is read (`specialized.py`).
"""

# mypy: disable-error-code="no-untyped-def, no-untyped-call"
# ruff: noqa: D103

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.frontends.python.source.math_in_python import math_in_python

_COUNT = type(np.count_nonzero(np.zeros(1)))
"""The type of counts, which depends on numpy's version."""


def average(a, axis=None, weights=None, keepdims=False):
    if weights is None:
        result = np.mean(a, axis=axis, keepdims=keepdims)
    else:
        assert a.ndim == weights.ndim, "weights of another rank than the array are not supported"
        a = a * 1.0  # products and sums of integers do not wrap around
        total = np.sum(weights * 1.0, axis=axis, keepdims=keepdims)
        result = np.sum(a * weights, axis=axis, keepdims=keepdims) / total
    return result


def convolve(a, v, mode="full"):
    assert a.ndim == 1, "expected arrays with one dimension"
    n, m = len(a), len(v)
    assert m >= 1
    if mode == "full":
        out = np.zeros(n + m - 1, dtype=(a[:1] * v[:1]).dtype)
        for j in range(m):
            for k in range(n):
                out[k + j] += a[k] * v[j]
    elif mode == "same":
        assert n >= m
        half = (m - 1) // 2
        out = np.zeros(n, dtype=(a[:1] * v[:1]).dtype)
        for j in range(m):
            for k in range(max(0, j - half), min(n, n + j - half)):
                out[k] += a[k + half - j] * v[j]
    else:
        assert mode == "valid", "expected the mode 'full', 'same' or 'valid'"
        assert n >= m
        out = np.zeros(n - m + 1, dtype=(a[:1] * v[:1]).dtype)
        for k in range(n - m + 1):
            for j in range(m):
                out[k] += a[k + m - 1 - j] * v[j]
    return out


def correlate(a, v, mode="valid"):
    return np.convolve(a, v[::-1], mode)


def count_nonzero(a):
    return _COUNT(np.sum(a != 0))


def copyto(dst, src):
    dst[...] = src


def cov(m, rowvar=True):
    assert m.ndim == 2, "expected an array with two dimensions"
    rows = np.float64(m if rowvar else m.T)
    away = rows - np.mean(rows, axis=1, keepdims=True)
    return (away @ away.T) * (1 / (rows.shape[1] - 1))  # type: ignore[misc]


def corrcoef(x, rowvar=True):
    c = np.cov(x, rowvar)
    deviation = np.sqrt(np.diag(c))
    c = c / deviation[:, None]
    c = c / deviation[None, :]
    return np.clip(c, -1, 1)


def cross(a, b):
    assert a.ndim == b.ndim, "products of arrays with different dimensions are not supported"
    assert a.shape[-1] == 3, "expected vectors of three elements"
    assert b.shape[-1] == 3, "expected vectors of three elements"
    out = np.empty(a.shape, dtype=(a * b).dtype)
    out[..., 0] = a[..., 1] * b[..., 2] - a[..., 2] * b[..., 1]
    out[..., 1] = a[..., 2] * b[..., 0] - a[..., 0] * b[..., 2]
    out[..., 2] = a[..., 0] * b[..., 1] - a[..., 1] * b[..., 0]
    return out


def diag(v, k=0):
    if v.ndim == 1:
        size = len(v) + abs(k)
        result = np.zeros((size, size), dtype=v.dtype)
        for i in range(len(v)):
            result[i + max(0, -k), i + max(0, k)] = v[i]
    else:
        assert k == 0, "expected the main diagonal"
        result = np.diagonal(v)
    return result


def fill_diagonal(a, val):
    assert a.ndim == 2, "expected an array with two dimensions"
    for i in range(min(a.shape[0], a.shape[1])):
        a[i, i] = val


def gradient(f, dx=1.0):
    assert f.ndim == 1, "expected an array with one dimension"
    f = f * 1.0  # differences of integers do not wrap around
    out = np.empty(f.shape, dtype=f.dtype)
    out[1:-1] = (f[2:] - f[:-2]) / (2.0 * dx)
    out[0] = (f[1] - f[0]) / dx
    out[-1] = (f[-1] - f[-2]) / dx
    return out


def meshgrid(x, y, indexing="xy"):
    if indexing == "xy":
        first = np.empty((len(y), len(x)), dtype=x.dtype)
        second = np.empty((len(y), len(x)), dtype=y.dtype)
        first[:, :] = x
        second[:, :] = y[:, None]
    else:
        first = np.empty((len(x), len(y)), dtype=x.dtype)
        second = np.empty((len(x), len(y)), dtype=y.dtype)
        first[:, :] = x[:, None]
        second[:, :] = y
    return first, second


def norm(x, ord=None, axis=None, keepdims=False):
    assert ord is None or axis is not None or x.ndim == 1, "norms of matrices are not supported"
    x = x * 1.0  # squares of integers do not wrap around
    if ord is None or ord == 2:
        result = np.sqrt(np.sum(np.square(x), axis=axis, keepdims=keepdims))
    else:
        assert ord == 1, "expected ord=1, ord=2 or none"
        result = np.sum(np.abs(x), axis=axis, keepdims=keepdims)
    return result


def ptp(a, axis=None):
    return np.max(a, axis=axis) - np.min(a, axis=axis)


def trace(a):
    return np.sum(np.diag(a))


def trapezoid(y, x=None, dx=1.0):
    if x is None:
        result = np.sum(dx * (y[1:] + y[:-1]) / 2.0)
    else:
        result = np.sum((x[1:] - x[:-1]) * (y[1:] + y[:-1]) / 2.0)
    return result


def add_reduce(array, axis=0, keepdims=False):
    return np.sum(array, axis=axis, keepdims=keepdims)


def multiply_reduce(array, axis=0, keepdims=False):
    return np.prod(array, axis=axis, keepdims=keepdims)


def minimum_reduce(array, axis=0, keepdims=False):
    return np.min(array, axis=axis, keepdims=keepdims)


def maximum_reduce(array, axis=0, keepdims=False):
    return np.max(array, axis=axis, keepdims=keepdims)


def logical_and_reduce(array, axis=0, keepdims=False):
    return np.all(array, axis=axis, keepdims=keepdims)


def logical_or_reduce(array, axis=0, keepdims=False):
    return np.any(array, axis=axis, keepdims=keepdims)


def masked_sum(a, mask):
    return np.sum(np.where(mask, a, 0))


def masked_len(a, mask):
    return int(np.sum(mask))


def masked_prod(a, mask):
    return np.prod(np.where(mask, a, 1))


def masked_any(a, mask):
    return np.any((a != 0) & mask)


def masked_all(a, mask):
    return np.all((a != 0) | ~mask)


def masked_mean(a, mask):
    mean = np.sum(np.where(mask, a * 1.0, 0)) / np.sum(mask)
    if a.dtype == np.float32:
        result = np.float32(mean)
    elif a.dtype == np.float16:
        result = np.float16(mean)  # type: ignore[assignment]
    else:
        result = mean
    return result


def masked_min(a, mask):
    if a.dtype in (np.float64, np.float32, np.float16):
        result = np.min(np.where(mask, a, np.inf))
    else:
        result = np.min(np.where(mask, a, np.max(a)))
    return result


def masked_max(a, mask):
    if a.dtype in (np.float64, np.float32, np.float16):
        result = np.max(np.where(mask, a, -np.inf))
    else:
        result = np.max(np.where(mask, a, np.min(a)))
    return result


def take(a, indices, axis=None):
    if axis is None:
        assert a.ndim == 1, "expected an axis"
        result = a[indices].copy()
    elif axis == 0:
        result = a[indices].copy()
    else:
        assert axis == 1, "expected the axis 0 or 1"
        assert a.ndim == 2, "expected an array with two dimensions"
        result = a[:, indices].copy()
    return result


def nansum(a, axis=None):
    return np.sum(np.where(np.isnan(a), 0, a), axis=axis)


def nanmean(a, axis=None):
    mean = np.sum(np.where(np.isnan(a), 0, a * 1.0), axis=axis) / np.sum(~np.isnan(a), axis=axis)
    if a.dtype == np.float32:
        result = np.float32(mean)
    elif a.dtype == np.float16:
        result = np.float16(mean)  # type: ignore[assignment]
    else:
        result = mean
    return result


def tril(m, k=0):
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(max(0, min(m.shape[1], i + k + 1))):
            out[i, j] = m[i, j]
    return out


def triu(m, k=0):
    out = np.zeros_like(m)
    for i in range(m.shape[0]):
        for j in range(max(0, i + k), m.shape[1]):
            out[i, j] = m[i, j]
    return out


_IN_PYTHON: Mapping[Any, Any] = MappingProxyType(
    {
        np.average: average,
        np.convolve: convolve,
        np.copyto: copyto,
        np.corrcoef: corrcoef,
        np.correlate: correlate,
        np.count_nonzero: count_nonzero,
        np.cov: cov,
        np.cross: cross,
        np.diag: diag,
        np.fill_diagonal: fill_diagonal,
        np.gradient: gradient,
        np.linalg.norm: norm,
        np.meshgrid: meshgrid,
        np.nanmean: nanmean,
        np.nansum: nansum,
        np.ptp: ptp,
        np.take: take,
        np.trace: trace,
        np.trapezoid: trapezoid,
        np.tril: tril,
        np.triu: triu,
    }
)
_REDUCED: Mapping[np.ufunc, Any] = MappingProxyType(
    {
        np.add: add_reduce,
        np.logical_and: logical_and_reduce,
        np.logical_or: logical_or_reduce,
        np.maximum: maximum_reduce,
        np.minimum: minimum_reduce,
        np.multiply: multiply_reduce,
    }
)
_MASKED: Mapping[Any, Any] = MappingProxyType(
    {
        len: masked_len,
        np.all: masked_all,
        np.any: masked_any,
        np.max: masked_max,
        np.mean: masked_mean,
        np.min: masked_min,
        np.prod: masked_prod,
        np.sum: masked_sum,
    }
)
_METHODS: Mapping[str, Any] = MappingProxyType({"trace": np.trace})


def written_in_python(function: Any) -> Any:
    """The function that a function of numpy stands for; None if it has no such form."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc) and getattr(function, "__name__", "") == "reduce":
        return _REDUCED.get(owner)
    form = next((form for known, form in _IN_PYTHON.items() if known is function), None)
    return form or math_in_python(function)


def masked_in_python(function: Any) -> Any:
    """The function of ``(x, m)`` that a reduction of ``x[m]`` with a mask stands for, or None."""
    return next((form for known, form in _MASKED.items() if known is function), None)


def method_in_python(name: str) -> Any:
    """The function that a method of arrays stands for; None if it has no such form."""
    return written_in_python(_METHODS.get(name))

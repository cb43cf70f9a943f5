"""``ps.attention``."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError
from tests.support.effort import covering, sampled

NumpyArray = np.ndarray[Any, Any]

TOLERANCES = {"f4": 3e-6, "f8": 1e-14}
LENGTHS = ((1, 1), (3, 5), (16, 6), (64, 64), (65, 49), (70, 200), (200, 70))
"""Of the queries and the keys."""
WIDTH, COLUMNS = 20, 9


def numbers(*shape: int, dtype: str = "f4") -> NumpyArray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype(dtype)


def exact(
    q: NumpyArray, k: NumpyArray, v: NumpyArray, mask: Any = 0, *, causal: bool = False
) -> NumpyArray:
    """Attention in f64; queries that see no key get zeros, as in torch."""
    wide = [array.astype("f8") for array in (q, k, v)]
    scores = wide[0] @ wide[1].swapaxes(-1, -2) / np.sqrt(q.shape[-1])
    if getattr(mask, "dtype", None) == np.bool_:
        mask = np.where(mask, 0, -np.inf)
    scores = scores + mask
    if causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    with np.errstate(all="ignore"):
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        weights = powers / powers.sum(-1, keepdims=True)
    weights[np.isneginf(scores).all(-1)] = 0
    result: NumpyArray = weights @ wide[2]
    return result


@covering(
    1, lengths=[LENGTHS[::2], LENGTHS[1::2]], **{"dtype, causal": [("f4", False), ("f8", True)]}
)
def test_any_lengths(lengths: Sequence[tuple[int, int]], dtype: str, causal: bool) -> None:
    for queries, keys in lengths:
        q, k = numbers(2, queries, WIDTH, dtype=dtype), numbers(2, keys, WIDTH, dtype=dtype)
        v = numbers(2, keys, COLUMNS, dtype=dtype)
        found = ps.attention(q, k, v, causal=causal, threads=1)
        assert found.dtype == q.dtype
        np.testing.assert_allclose(
            found, exact(q, k, v, causal=causal), rtol=0, atol=TOLERANCES[dtype]
        )


def test_threads_share_heads_or_queries() -> None:
    for heads in (4, 1):
        q, k, v = numbers(heads, 450, WIDTH), numbers(heads, 210, WIDTH), numbers(heads, 210, 9)
        found = ps.attention(q, k, v, threads=2)
        np.testing.assert_array_equal(found, ps.attention(q, k, v, threads=1))


@pytest.mark.parametrize(
    "shape",
    sampled([(70,), (90, 70), (90, 1), (3, 90, 70), (3, 1, 70), (2, 1, 1, 70), (2, 3, 90, 70)], 2),
)
def test_masks_are_broadcast(shape: tuple[int, ...]) -> None:
    q, k, v = numbers(2, 3, 90, WIDTH), numbers(2, 3, 70, WIDTH), numbers(2, 3, 70, COLUMNS)
    added = numbers(*shape)
    for mask in (added, added > -0.5, np.where(added > 0, added, np.float32(-np.inf))):
        found = ps.attention(q, k, v, mask=mask, threads=1)
        np.testing.assert_allclose(found, exact(q, k, v, mask), rtol=0, atol=3e-6)


def test_queries_that_see_no_key_get_zeros() -> None:
    q, k, v = numbers(5, WIDTH), numbers(60, WIDTH), numbers(60, COLUMNS)
    mask = np.ones((5, 60), bool)
    mask[1], mask[2, :50], mask[3, 1:] = False, False, False
    found = ps.attention(q, k, v, mask=mask)
    np.testing.assert_allclose(found, exact(q, k, v, mask), rtol=0, atol=3e-6)
    assert not found[1].any()
    assert found[3].tolist() == v[0].tolist()
    assert not ps.attention(q, k[:0], v[:0]).any()
    # The lowest finite number hides keys only beside others: all keys have one weight then.
    lowest = np.full((5, 60), np.finfo("f4").min)
    np.testing.assert_allclose(ps.attention(q, k, v, mask=lowest)[0], v.mean(0), atol=3e-6)


def test_leading_dimensions_are_broadcast() -> None:
    q, k, v = numbers(2, 3, 30, WIDTH), numbers(2, 1, 40, WIDTH), numbers(40, COLUMNS)
    np.testing.assert_allclose(ps.attention(q, k, v), exact(q, k, v), rtol=0, atol=3e-6)
    one = ps.attention(q[0, 0], k, v)
    np.testing.assert_allclose(one, exact(q[0, 0], k, v), rtol=0, atol=3e-6)
    apart = ps.attention(q.swapaxes(0, 1)[::-1], k.repeat(2, -1)[..., ::2].swapaxes(0, 1), v)
    expected = exact(q, k, v).swapaxes(0, 1)[::-1]
    np.testing.assert_allclose(apart, expected, rtol=0, atol=3e-6)


def test_out_and_scale() -> None:
    for queries in (32, 33):
        q, k, v = numbers(2, queries, WIDTH), numbers(2, 40, WIDTH), numbers(2, 40, COLUMNS)
        out = np.full((2, queries, COLUMNS), np.nan, "f4")
        assert ps.attention(q, k, v, scale=2 / np.sqrt(WIDTH), out=out) is out
        np.testing.assert_allclose(out, exact(2 * q, k, v), rtol=0, atol=3e-6)


def test_large_scores_do_not_overflow() -> None:
    q, k, v = 1e3 * numbers(20, WIDTH), 1e3 * numbers(100, WIDTH), numbers(100, COLUMNS)
    np.testing.assert_allclose(ps.attention(q, k, v), exact(q, k, v), rtol=0, atol=3e-6)


def test_nan_and_infinity_pass_through() -> None:
    q, k, v = numbers(40, WIDTH), numbers(60, WIDTH), numbers(60, COLUMNS)
    q[3, 1], q[30, 0] = np.nan, np.inf
    assert np.isnan(ps.attention(q, k, v)).all(-1).nonzero()[0].tolist() == [3, 30]
    q, v[50, 2] = numbers(40, WIDTH), np.inf
    found = ps.attention(q, k, v)
    assert np.isinf(found[:, 2]).all()
    assert np.isfinite(np.delete(found, 2, axis=1)).all()
    k[10, 0] = np.nan
    wide = (array.astype("f8") for array in (q, k, numbers(60, COLUMNS)))
    hidden = ps.attention(*wide, causal=True)
    assert np.isnan(hidden).all(-1).nonzero()[0].tolist() == list(range(10, 40))


@pytest.mark.parametrize("shape", [(0, 4, 5), (2, 0, 5), (2, 4, 0)])
def test_empty_results(shape: tuple[int, ...]) -> None:
    q, v = numbers(*shape[:2], WIDTH), numbers(shape[0], 6, shape[2])
    assert ps.attention(q, numbers(shape[0], 6, WIDTH), v).shape == shape


def test_half_types_are_computed_in_f32() -> None:
    bfloat16 = ps.bf16.numpy()
    for dtype in (np.dtype("f2"), bfloat16):
        q, k, v = (numbers(40, n).astype(dtype) for n in (WIDTH, WIDTH, COLUMNS))
        found = ps.attention(q, k, v)
        wide = ps.attention(*(array.astype("f4") for array in (q, k, v)))
        assert found.dtype == dtype
        np.testing.assert_array_equal(found, wide.astype(dtype))


Q, K, V = numbers(2, 8, 4), numbers(2, 6, 4), numbers(2, 6, 5)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ps.attention(Q.astype("i4"), K, V), "'q' has elements of type int32; expected"),
        (lambda: ps.attention(Q, K.astype("f8"), V), "'k' has elements of type float64; expected"),
        (lambda: ps.attention(Q[0, 0], K, V), r"'q' has shape \(4,\); expected at least 2"),
        (lambda: ps.attention(Q, K[..., :3], V), r"'q' has shape .* and 'k' \(2, 6, 3\); expected"),
        (lambda: ps.attention(Q[..., :0], K[..., :0], V), "rows of 'q' have no elements"),
        (lambda: ps.attention(Q, K, V[:, 1:]), "expected as many rows in each"),
        (lambda: ps.attention(Q, K, numbers(3, 6, 5)), "leading dimensions that can be broadcast"),
        (lambda: ps.attention(Q, K, V, mask=Q), r"'mask' has shape \(2, 8, 4\); expected one"),
        (lambda: ps.attention(Q, K, V, mask=numbers(3, 2, 8, 6)), "'mask' has shape"),
        (lambda: ps.attention(Q, K, V, mask=np.ones(6, "i4")), "'mask' has elements of type int32"),
        (lambda: ps.attention(Q, K, V, causal=1), "causal=1; expected True or False"),
        (lambda: ps.attention(Q, K, V, scale=np.nan), "scale=nan; expected a finite number"),
        (lambda: ps.attention(Q, K, V, scale="1"), "scale='1'; expected a finite number"),  # type: ignore[arg-type]
        (lambda: ps.attention(Q, K, V, out=Q), r"out has shape \(2, 8, 4\) .* expected \(2, 8, 5"),
        (lambda: ps.attention(Q, K, Q[:, :6], out=Q), "arrays 'q' and 'out' overlap in memory"),
        (lambda: ps.attention(Q, K, V, out=np.empty((2, 8, 10), "f4")[..., ::2]), "out "),
        (lambda: ps.attention(Q, K, V, out=[1]), "out is of type list"),
        (lambda: ps.attention(Q, K, V, threads=0), "threads=0"),
        (lambda: ps.attention(Q, K, "v"), "attention: array 'v' is of type str"),
    ],
)
def test_bad_arguments_are_named(call: Callable[[], object], message: str) -> None:
    with pytest.raises(CallError, match=message):
        call()

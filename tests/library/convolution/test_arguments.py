"""Arguments of convolutions that are refused."""

from typing import Any

import numpy as np
import pytest

import polysched as ps
from polysched.errors import CallError

X, W = np.ones((2, 6, 7, 8), "f4"), np.ones((3, 3, 8, 12), "f4")
X8, W8 = X.astype("i1"), W.astype("i1")
OUT = np.zeros((2, 4, 5, 12), "f4")


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: ps.conv2d(X.astype("i4"), W), "'x' has elements of type int32; expected f32, f64"),
        (lambda: ps.conv2d(X.astype("f2"), W), "of float16; expected weights of float16"),
        (lambda: ps.conv2d(X, W.astype("u1")), "'weight' has elements of type uint8; expected f32"),
        (lambda: ps.conv2d(X, W.astype("f8")), "'weight' has elements of type float64, and 'x' of"),
        (lambda: ps.conv2d(X.astype("u1"), W), "expected weights of int8"),
        (lambda: ps.conv2d(X, W, scale=2), "expected a scale for int8 only"),
        (
            lambda: ps.conv2d(X8, W8, scale=np.ones(11, "f4")),
            r"'scale' has shape \(11,\) .*\(12,\)",
        ),
        (lambda: ps.conv2d(X8, W8, scale=np.ones(12)), "'scale' has .* float64; expected"),
        (lambda: ps.conv2d(X8, W8, X[0, 0, 0]), "'bias' has .* float32; expected .* and int32"),
        (lambda: ps.conv2d(X8, W8, activation="tanh"), "for a result of int32; expected None or o"),
        (lambda: ps.conv2d(X8, W8, out=OUT), "'out' has .* float32; expected .* and int32"),
        (lambda: ps.conv2d(X[0], W), r"'x' has shape \(6, 7, 8\); expected 4 dimensions"),
        (lambda: ps.conv2d(X, W[0]), "'weight' has shape .* expected 4 dimensions"),
        (lambda: ps.conv2d("no", W), "array 'x' is of type str"),
        (
            lambda: ps.conv2d(X, W[:, :, :7]),
            "7 input channels; expected 7 channels of 'x' with layout='NHWC'",
        ),
        (lambda: ps.conv2d(X, W[:0]), "'weight' has shape .* expected positive extents"),
        (lambda: ps.conv2d(X, W, groups=3), "groups=3 does not divide the 8 channels of 'x'"),
        (lambda: ps.conv2d(X, W, groups=8), "groups=8 does not divide the 12 channels of 'weight'"),
        (lambda: ps.conv2d(X, W, groups=0), "groups=0; expected a positive integer"),
        (lambda: ps.conv2d(X, W, groups=True), "groups=True; expected a positive integer"),
        (lambda: ps.conv2d(X, W, padding=-1), "padding=-1; expected an integer >= 0, or a pair"),
        (lambda: ps.conv2d(X, W, padding=((1, -1), (0, 0))), r"padding=\(1, -1\); expected"),
        (lambda: ps.conv2d(X, W, padding="same"), "padding='same'; expected"),  # type: ignore[arg-type]
        (lambda: ps.conv2d(X, W, padding=((1, 1), (1, 1), (1, 1))), "expected pairs for rows"),  # type: ignore[arg-type]
        (lambda: ps.conv2d(X, W, stride=0), "stride=0; expected an integer >= 1, or a pair"),
        (lambda: ps.conv2d(X, W, stride=(1, 0)), r"stride=\(1, 0\); expected"),
        (lambda: ps.conv2d(X, W, stride=1.0), r"stride=1\.0; expected"),  # type: ignore[arg-type]
        (lambda: ps.conv2d(X, W, stride=(1, 1, 1)), r"stride=\(1, 1, 1\)"),  # type: ignore[arg-type]
        (lambda: ps.conv2d(X, W, dilation=0), "dilation=0; expected an integer >= 1"),
        (lambda: ps.conv2d(X, W, dilation=3), "the image has 6 rows and 0 of padding; expected"),
        (lambda: ps.conv2d(X[:, :0], W, padding=9), "the image has 0 rows and 18 of padding"),
        (lambda: ps.conv2d(X, W, layout="CHWN"), "layout='CHWN'; expected 'NHWC' or 'NCHW'"),
        (lambda: ps.conv2d(X, W, layout=None), "layout=None; expected"),  # type: ignore[arg-type]
        (
            lambda: ps.conv2d(X, W, activation="swish"),
            "activation='swish' for a result of float32; expected",
        ),
        (lambda: ps.conv2d(X, W, W[0, 0, 0, :5]), r"'bias' has shape \(5,\) .* expected \(12,\)"),
        (lambda: ps.conv2d(X, W, np.ones(12)), "'bias' has shape .* type float64"),
        (lambda: ps.conv2d(X, W, residual=X), "'residual' has shape"),
        (lambda: ps.conv2d(X, W, out=OUT[:1]), r"'out' has shape \(1, 4, 5, 12\)"),
        (lambda: ps.conv2d(X, W, out=OUT.astype("f8")), "'out' has shape .* type float64"),
        (lambda: ps.conv2d(X, W, out=OUT[::-1]), "out is not contiguous"),
        (lambda: ps.conv2d(X, W, out=[1]), "out is of type list"),
        (lambda: ps.conv2d(X, W, residual=OUT, out=OUT), "'residual' and 'out' overlap in memory"),
        (
            lambda: ps.conv2d(X, W, X.ravel()[:12], out=X.ravel()[:480].reshape(OUT.shape)),
            "overlap",
        ),
        (lambda: ps.conv2d(X, W, threads=0), "threads=0"),
        (lambda: ps.conv2d(X, W, specialize=1), "specialize=1; expected True, False or None"),  # type: ignore[arg-type]
        (lambda: ps.conv2d(X, ps.prepare(W), layout="NCHW"), "prepared with layout='NHWC'"),
        (lambda: ps.conv2d(X, ps.prepare(W), groups=2), "prepared with .* groups=1; expected"),
        (lambda: ps.conv2d(X, W, padding=10**10), "the result has shape .* less than 2\\*\\*63"),
        (lambda: ps.conv1d(X, W), r"conv1d: 'x' has shape \(2, 6, 7, 8\); expected 3 dimensions"),
        (lambda: ps.conv3d(X, W), "conv3d: 'x' has shape .* expected 5 dimensions"),
        (lambda: ps.conv1d(X[0], W[0], layout="NHWC"), "conv1d: layout='NHWC'; expected 'NWC' or"),
        (lambda: ps.conv1d(X[0], W[0], stride=(1, 1)), "expected an integer >= 1, or a tuple of o"),
        (lambda: ps.conv1d(X[0], W[0], dilation=4), "the image has 7 columns and 0 of padding"),
        (lambda: ps.conv1d(X[0], ps.prepare(W)), "prepared of shape .* expected 3 dimensions"),
        (lambda: ps.conv3d(X[None], W[None], padding=(1, 1)), "or a tuple of 3 of them"),
        (lambda: ps.conv3d(X[None], W[None], padding=((1, 1),)), "pairs for planes and rows and"),
        (lambda: ps.prepare(W[0, 0]), r"prepare: 'weight' has shape \(8, 12\); expected 3, 4 or"),
        (lambda: ps.prepare(W, groups=5), "prepare: groups=5 does not divide the 12 output"),
        (lambda: ps.prepare(W.astype("i2")), "prepare: 'weight' has elements of type int16"),
        (lambda: ps.prepare(W, layout="OIHW"), "prepare: layout='OIHW'; expected"),
    ],
)
def test_bad_arguments(call: Any, message: str) -> None:
    for _ in range(2):  # a refused call is not remembered
        with pytest.raises(CallError, match=message):
            call()


def test_an_option_that_equals_a_valid_one_is_refused_after_it() -> None:
    ps.conv2d(X, W, groups=1, stride=(1, 1))
    with pytest.raises(CallError, match="groups=True"):
        ps.conv2d(X, W, groups=True, stride=(1, 1))
    with pytest.raises(CallError, match=r"stride=\(1\.0, 1\)"):
        ps.conv2d(X, W, groups=1, stride=(1.0, 1))  # type: ignore[arg-type]

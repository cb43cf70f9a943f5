"""Benchmark of convolutions of known networks: layers, data and contestants."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from polysched.bench.measure.contestant import Contestant, Runner, UnavailableError, returning, warm
from polysched.bench.measure.peer_libraries import torch_kernels, torch_on
from polysched.bench.measure.speedup import OWN
from polysched.library.convolution.call import conv2d
from polysched.library.convolution.prepare import prepare
from polysched.runtime.memory import aligned_zeros

PEER = "oneDNN"
WINOGRAD = f"{OWN} winograd"

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class Layer:
    """One square image in f32, with as much padding as keeps its size at stride 1.

    Attributes:
        extent: rows and columns of the image.
        channels: the channels in and out.
        depthwise: whether each channel has a filter of its own.
    """

    network: str
    extent: int
    channels: tuple[int, int]
    kernel: int
    stride: int = 1
    depthwise: bool = False

    def __str__(self) -> str:
        before, after = self.channels
        stride = f" stride {self.stride}" if self.stride > 1 else ""
        form = " depthwise" if self.depthwise else ""
        kernel = f"{self.kernel}x{self.kernel}"
        return f"{self.network} {kernel} {before}->{after} {self.extent}{stride}{form}"

    @property
    def padding(self) -> int:
        """Zeros around the image on each side."""
        return (self.kernel - 1) // 2

    @property
    def takes_winograd(self) -> bool:
        """Whether Winograd's algorithm computes this layer."""
        return (self.kernel, self.stride, self.groups) == (3, 1, 1)

    @property
    def groups(self) -> int:
        """The groups of channels."""
        return self.channels[0] if self.depthwise else 1

    @property
    def extent_out(self) -> int:
        """Rows and columns of the result."""
        return (self.extent + 2 * self.padding - self.kernel) // self.stride + 1

    @property
    def terms(self) -> int:
        """The terms of each sum, padding included."""
        return self.kernel**2 * self.channels[0] // self.groups

    @property
    def flops(self) -> int:
        """A multiplication and an addition for each term, padding included."""
        return 2 * self.extent_out**2 * self.channels[1] * self.terms


_LAYERS = MappingProxyType(
    {
        "ResNet-50": (
            (224, (3, 64), 7, 2),
            (56, (64, 64), 1),
            (56, (64, 64), 3),
            (56, (256, 64), 1),
            (56, (256, 512), 1, 2),
            (28, (128, 128), 3),
            (28, (512, 128), 1),
            (28, (256, 256), 3, 2),
            (14, (256, 256), 3),
            (14, (256, 1024), 1),
            (7, (512, 512), 3),
            (7, (512, 2048), 1),
        ),
        "MobileNet": (
            (112, (32, 32), 3, 1, True),
            (112, (64, 64), 3, 2, True),
            (14, (512, 512), 3, 1, True),
            (56, (64, 128), 1),
            (14, (512, 512), 1),
        ),
        "U-Net": ((128, (64, 64), 3), (64, (128, 128), 3), (128, (128, 64), 3)),
    }
)

SUITE = tuple(Layer(network, *layer) for network, layers in _LAYERS.items() for layer in layers)
"""Twenty layers: large and small images, few and many channels, all kernels and strides in use."""


@dataclass(frozen=True)
class LayerData:
    """Operands in NHWC and HWIO: an image, weights and a bias from [-1, 1)."""

    layer: Layer
    image: Array
    weights: Array
    bias: Array


def random_data(layer: Layer, seed: int = 0) -> LayerData:
    """Random operands."""
    generator = np.random.default_rng(seed)
    before, after = layer.channels
    shapes = (
        (1, layer.extent, layer.extent, before),
        (layer.kernel, layer.kernel, before // layer.groups, after),
        (after,),
    )
    arrays = []
    for shape in shapes:
        array = aligned_zeros(shape, np.float32)
        array[...] = generator.uniform(-1, 1, shape)
        arrays.append(array)
    return LayerData(layer, *arrays)


def reference(data: LayerData) -> Array:
    """The right result, in float64, tap by tap."""
    layer, side = data.layer, data.layer.extent_out
    padded = np.pad(data.image[0].astype(np.float64), [(layer.padding,) * 2] * 2 + [(0, 0)])
    result = np.zeros((side, side, layer.channels[1]))
    reach = layer.stride * (side - 1) + 1
    for row, column in np.ndindex(layer.kernel, layer.kernel):
        taps = padded[row : row + reach : layer.stride, column : column + reach : layer.stride]
        weights = data.weights[row, column].astype(np.float64)
        result += taps * weights[0] if layer.depthwise else taps @ weights
    return np.maximum(result + data.bias, 0)[None]


def tolerance(layer: Layer) -> float:
    """The largest rounding error: products are below 1, each sum has one per term."""
    return (layer.terms + 2) * 4 * float(np.finfo(np.float32).eps)


def contestants(data: LayerData) -> tuple[Contestant, ...]:
    """``ps.conv2d`` and oneDNN, with prepared weights, bias and ReLU, on one thread."""
    racers = (
        Contestant(OWN, partial(prepare_own, data)),
        Contestant(PEER, partial(prepare_onednn, data), torch_kernels),
    )
    if not data.layer.takes_winograd:
        return racers
    return (*racers, Contestant(WINOGRAD, partial(prepare_own, data, "winograd")))


def prepare_own(data: LayerData, algorithm: str | None = None) -> Runner:
    """``ps.conv2d`` with code for this size, which writes to an output array."""
    layer = data.layer
    out = aligned_zeros((1, layer.extent_out, layer.extent_out, layer.channels[1]), np.float32)
    weights = prepare(data.weights, groups=layer.groups, algorithm=algorithm)
    run = partial(
        conv2d,
        *(data.image, weights, data.bias),
        stride=layer.stride,
        padding=layer.padding,
        groups=layer.groups,
        activation="relu",
        out=out,
        threads=1,
        specialize=True,
    )
    return warm(Runner(run, lambda: out))


def prepare_onednn(data: LayerData) -> Runner:
    """oneDNN at its best: channels last, weights in its own format, ReLU fused."""
    torch = torch_on(1)
    operators = torch.ops.mkldnn
    if not torch.backends.mkldnn.is_available():
        raise UnavailableError(f"torch {torch.__version__} has no oneDNN")
    layer = data.layer
    image = torch.from_numpy(data.image).permute(0, 3, 1, 2)
    weights = torch.from_numpy(np.ascontiguousarray(data.weights.transpose(3, 2, 0, 1)))
    shape = [layer.padding] * 2, [layer.stride] * 2, [1, 1], layer.groups
    with torch.inference_mode():
        packed = operators._reorder_convolution_weight(weights, *shape, list(image.shape))
    bias = torch.from_numpy(data.bias)

    def convolve() -> Any:
        with torch.inference_mode():
            return operators._convolution_pointwise(image, packed, bias, *shape, "relu", [], "")

    return returning(convolve, lambda result: result.permute(0, 2, 3, 1).numpy())

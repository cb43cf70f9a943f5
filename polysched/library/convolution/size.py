"""Sizes of a convolution in one, two or three dimensions, and the operations on its sums."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import TypeAlias

from polysched.errors import KernelError
from polysched.library.extents import require_sizes

Padding: TypeAlias = tuple[tuple[int, int], ...]
"""For each dimension, the zeros before and after the image."""

AXES = "zyx"
"""Names of the dimensions of an image: the last two of them are those of a plane."""

AXIS_NAMES = ("planes", "rows", "columns")
"""The dimensions of an image in messages."""


@dataclass(frozen=True)
class Convolution:
    """The sizes of a convolution over one, two or three dimensions: planes, rows and columns.

    Attributes:
        pixels: the extents of an output image.
        filter: the extents of the filter.
        stride: distance of neighboring output pixels in the input: one number for all dimensions,
            or a tuple.
        dilation: distance of neighboring filter taps in the input, likewise.
        groups: number of equal parts of the input channels and of the output channels. Each part
            of the output reads one part of the input. As many groups as channels are a depthwise
            convolution.
        padding: for each dimension, zeros before and after the image; () for none. A negative
            number after it counts rows or columns that no output pixel reads.
    """

    images: int
    pixels: tuple[int, ...]
    channels_in: int
    channels_out: int
    filter: tuple[int, ...]
    stride: int | tuple[int, ...] = 1
    dilation: int | tuple[int, ...] = 1
    groups: int = 1
    padding: Padding = ()

    def __post_init__(self) -> None:
        """Check the sizes.

        Raises:
            KernelError: a field is not a positive integer or has another number of dimensions, or
                the groups do not divide the channels; the message names the field.
        """
        who, dimensions = self.name, len(self.pixels)
        if not 1 <= dimensions <= len(AXES):
            raise KernelError(
                f"{who}: pixels is {self.pixels!r}; expected 1 to {len(AXES)} extents"
            )
        fields = {
            "pixels": self.pixels,
            "filter": self.filter,
            "stride": self.strides,
            "dilation": self.dilations,
        }
        for name, values in (*fields.items(), ("padding", self.paddings)):
            if len(values) != dimensions:
                raise KernelError(f"{who}: {name} is {values!r}; expected {dimensions} dimensions")
        for name in ("images", "channels_in", "channels_out", "groups"):
            require_sizes(who, least=1, **{name: getattr(self, name)})
        for axis, word in enumerate(AXIS_NAMES[-dimensions:]):
            sizes = {f"{name} of {word}": values[axis] for name, values in fields.items()}
            require_sizes(who, least=1, **sizes)
            require_sizes(who, **{f"padding before the {word}": self.paddings[axis][0]})
            require_sizes(who, least=1, **{f"image extent of {word}": self.image[axis]})
        for name in ("channels_in", "channels_out"):
            if (value := getattr(self, name)) % self.groups:
                raise KernelError(
                    f"{who}: {name} is {value}; expected a multiple of groups, {self.groups}"
                )

    @property
    def name(self) -> str:
        """The name of the kernel: ``conv1d``, ``conv2d`` or ``conv3d``."""
        return f"conv{len(self.pixels)}d"

    @property
    def strides(self) -> tuple[int, ...]:
        """The stride of each dimension."""
        return self._of_each(self.stride)

    @property
    def dilations(self) -> tuple[int, ...]:
        """The dilation of each dimension."""
        return self._of_each(self.dilation)

    @property
    def paddings(self) -> Padding:
        """The padding of each dimension."""
        return self.padding or ((0, 0),) * len(self.pixels)

    @property
    def products(self) -> int:
        """Multiplications of the whole convolution."""
        pixels = self.images * prod(self.pixels)
        return pixels * self.channels_out * prod(self.filter) * self.group_in

    @property
    def group_in(self) -> int:
        """Input channels that each output channel reads."""
        return self.channels_in // self.groups

    @property
    def group_out(self) -> int:
        """Output channels that read the same input channels."""
        return self.channels_out // self.groups

    @property
    def spans(self) -> tuple[int, ...]:
        """Extents of the part of the input that one output pixel reads."""
        steps = zip(self.filter, self.dilations, strict=True)
        return tuple((taps - 1) * dilation + 1 for taps, dilation in steps)

    @property
    def padded(self) -> tuple[int, ...]:
        """Extents of an input image and of its padding, as far as they are read."""
        steps = zip(self.pixels, self.strides, self.spans, strict=True)
        return tuple((pixels - 1) * stride + span for pixels, stride, span in steps)

    @cached_property
    def image(self) -> tuple[int, ...]:
        """Extents of an input image, without padding."""
        sides = zip(self.padded, self.paddings, strict=True)
        return tuple(extent - sum(padding) for extent, padding in sides)

    @property
    def has_bare_pixels(self) -> bool:
        """Whether an output pixel may read nothing of the image, only padding.

        If a dilation is larger than the image, the taps of some pixels may skip it.
        """
        axes = zip(self.pixels, self.image, self.spans, strict=True)
        steps = zip(axes, self.strides, self.dilations, self.paddings, strict=True)
        return any(
            dilation > extent or first >= span or (outputs - 1) * stride - first >= extent
            for (outputs, extent, span), stride, dilation, (first, _) in steps
        )

    def _of_each(self, value: int | tuple[int, ...]) -> tuple[int, ...]:
        return value if isinstance(value, tuple) else (value,) * len(self.pixels)


@dataclass(frozen=True)
class Epilogue:
    """Operations on the sums of a convolution: ``activation(sums * scale + bias + residual)``.

    Attributes:
        scale: whether the sums of each output channel are multiplied by a number.
        bias: whether a bias is added.
        residual: whether an array with the shape of the output is added.
        activation: a name of :data:`polysched.library.matmul.kernel.epilogue.ACTIVATIONS`, or None.
    """

    scale: bool = False
    bias: bool = False
    residual: bool = False
    activation: str | None = None


PLAIN = Epilogue()
"""The sums are the result."""

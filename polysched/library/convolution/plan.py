"""Plans of convolutions: the code for arrays of known layouts, and how the arrays reach it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, partial
from itertools import chain, count
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import as_dtype
from polysched.library.convolution.arguments import Options, Request, checked
from polysched.library.convolution.format import Format, multiplied_as, total_of
from polysched.library.convolution.kernel import convolution_kernel
from polysched.library.convolution.prepare import (
    NumpyArray,
    Prepared,
    PreparedWeight,
    channels_last_order,
    stored_weights,
)
from polysched.library.convolution.schedule import (
    channel_tile,
    convolution_schedule,
    is_worth_threads,
)
from polysched.library.convolution.size import Convolution, Epilogue, Padding
from polysched.library.matmul.generic.compiled import NativeCode, is_stored, native_code
from polysched.library.matmul.generic.specialize import Specializer
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.array_layout import Layout, layout_of
from polysched.runtime.memory import addresses, contiguous

if TYPE_CHECKING:
    from polysched.library.convolution.winograd_plan import WinogradPlan
    from polysched.user import Schedule


@dataclass(frozen=True)
class ConvolutionCode:
    """The properties of a call that its code depends on.

    Attributes:
        form: the element types.
        block: output channels side by side in prepared weights; 0 if they are not blocked.
        is_parallel: whether it runs on several threads.
        any_size: whether the code is for images of any number and size; those of ``size`` are then
            without effect.
    """

    size: Convolution
    epilogue: Epilogue
    form: Format
    block: int
    is_parallel: bool
    any_size: bool = False

    @property
    def name(self) -> str:
        """The name of the kernel."""
        return self.size.name

    def kernel(self) -> Kernel:
        """The kernel that a call schedules."""
        return convolution_kernel(
            self.size, self.epilogue, dtype=self.form, block=self.block, any_size=self.any_size
        )

    def schedule(self, machine: Machine | str | None = None) -> Schedule:
        """The schedule that a call compiles, to be shown, edited or exported."""
        return convolution_schedule(self.kernel(), machine, 2 if self.is_parallel else 1)


@dataclass(frozen=True)
class Plan:
    """A call whose arrays have known layouts.

    Attributes:
        shape: the shape of the result, channels last.
        is_first: whether images and results are given with channels first.
        moved: for each array, the order of its axes in the kernel; None if they have this order.
        shapes: for each array and the result, the shape in the kernel.
        zeros: the padding of an image that is copied between zeros; None if the kernel skips it.
        packs: whether the weights are copied as ``prepare`` does, in each call.
        generic: the code for images of any size.
        specialize: whether ``code`` runs at once (True), never, or after some calls (None).
        calls: counts the calls.
    """

    code: ConvolutionCode
    result: np.dtype[Any]
    shape: tuple[int, ...]
    is_first: bool
    moved: tuple[tuple[int, ...] | None, ...]
    shapes: tuple[tuple[int, ...], ...]
    threads: int
    zeros: Padding | None
    packs: bool
    generic: ConvolutionCode
    specialize: bool | None
    calls: Iterator[int] = field(default_factory=count, compare=False)

    def run(self, arrays: Mapping[str, NumpyArray], result: NumpyArray) -> None:
        """Compute the result; arrays in another order or with gaps are copied."""
        ordered = [
            array if order is None else array.transpose(order)
            for array, order in zip(arrays.values(), self.moved, strict=True)
        ]
        if self.packs:
            ordered[1], _ = stored_weights(ordered[1], self.code.size.groups, load_machine(None))
        inputs = [
            contiguous(array if array.ndim else np.full(shape, array)).reshape(shape)
            for array, shape in zip(ordered, self.shapes, strict=False)
        ]
        if self.zeros is not None:
            padded = np.pad(inputs[0], ((0, 0), *self.zeros, (0, 0)))
            inputs[0] = padded.reshape(_image_shape(self.code.size))
        out = result.reshape(self.shapes[-1])
        native, extents = self.specialized if self._is_specialized() else self.for_any_size
        native.run(addresses((*inputs, out)), extents, self.threads)

    @cached_property
    def specialized(self) -> tuple[NativeCode, tuple[int, ...]]:
        """The code for the sizes of this call, which has no parameters."""
        return native_code(self.code), ()

    @cached_property
    def for_any_size(self) -> tuple[NativeCode, tuple[int, ...]]:
        """The code for any size, and its parameters."""
        size = self.code.size
        pairs = zip(size.pixels, size.image, strict=True)
        return native_code(self.generic), (size.images, *chain.from_iterable(pairs))

    def _is_specialized(self) -> bool:
        """Count a call; returns whether the code for these sizes is to run.

        Code for one size is made in less than half of the time. So it is made where the disk lacks
        the code for any size, which follows with the second size: most layers have one.
        """
        if self.specialize is not None:
            return self.specialize
        at_once = _at_once(self.generic)
        if not at_once:
            has_generic = is_stored(self.generic)
            at_once.append(None if has_generic else self.code)
        if self.code in at_once:
            return True
        if next(self.calls) == GENERIC_CALLS:
            SPECIALIZER.submit(self.code, partial(native_code, self.code))
        return SPECIALIZER.is_done(self.code)


def planned(
    dimensions: int, arrays: Mapping[str, NumpyArray], weight: Any, out: Any, options: Options
) -> Plan | WinogradPlan:
    """The plan of a call, which is kept for arrays of the same layouts."""
    layouts = [(name, layout_of(array)) for name, array in arrays.items()]
    if out is not None:
        layouts.append(("out", layout_of(out)))
    prepared = weight.properties if isinstance(weight, PreparedWeight) else None
    chosen = _OptionsAsText(repr(tuple(vars(options).values())), options)
    return _plan(dimensions, tuple(layouts), prepared, chosen)


@dataclass(frozen=True)
class _OptionsAsText:
    """Options that are compared as text: 1, True and 1.0 are equal, and lists are not hashable."""

    text: str
    options: Options = field(compare=False)


@lru_cache(maxsize=512)
def _plan(
    dimensions: int,
    layouts: tuple[tuple[str, Layout], ...],
    prepared: Prepared | None,
    chosen: _OptionsAsText,
) -> Plan | WinogradPlan:
    request = checked(dimensions, dict(layouts), prepared, chosen.options)
    if prepared is not None and prepared.algorithm is not None:
        # Imports the products of matrices, for which direct sums do not wait.
        from polysched.library.convolution.winograd_plan import winograd_plan  # noqa: PLC0415

        return winograd_plan(request, load_machine(None), _threads(request), prepared.block)
    zeros = _zeros(request)
    code = _code(request, zeros, is_prepared=prepared is not None)
    packs = prepared is None and code.form.stored != code.form.total
    size, is_first = code.size, request.is_first
    filter_order = channels_last_order(dimensions) if is_first and prepared is None else None
    image_order = (0, *range(2, 2 + dimensions), 1) if is_first else None
    orders = {"x": image_order, "weight": filter_order, "residual": image_order}
    result = (size.images, *size.pixels, size.channels_out)
    shapes = {
        "x": _image_shape(request.size if zeros else size),
        "weight": _filter_shape(code),
        "scale": result[-1:],
        "bias": result[-1:],
        "residual": result,
        "out": result,
    }
    names = [name for name, _ in layouts if name != "out"]
    return Plan(
        code,
        request.result,
        request.shape,
        is_first,
        tuple(orders.get(name) for name in names),
        tuple(shapes[name] for name in (*names, "out")),
        request.threads,
        zeros,
        packs,
        _for_any_size(code, None if zeros else request.sides),
        request.specialize,
    )


def _threads(request: Request) -> int:
    is_worth = is_worth_threads(request.size.products, load_machine(None))
    return request.threads if is_worth else 1


def _image_shape(size: Convolution) -> tuple[int, ...]:
    return size.images, *size.image, size.channels_in


def _zeros(request: Request) -> Padding | None:
    """The padding of an image that is smaller than the filter, or of which a pixel reads nothing.

    The taps over such an image have too few values for the loops of a register tile, so it is
    copied between zeros. None for other images. The code for any size has the padding that was
    chosen for, of which the stride of this image may leave a part unread.
    """
    size = request.size
    steps = zip(size.image, size.spans, request.sides, strict=True)
    is_small = any(extent < span or max(sides) >= span for extent, span, sides in steps)
    if not is_small and not size.has_bare_pixels:
        return None
    return tuple((first, max(last, 0)) for first, last in size.paddings)


def _code(request: Request, zeros: Padding | None, *, is_prepared: bool) -> ConvolutionCode:
    size, machine, is_parallel = request.size, load_machine(None), _threads(request) > 1
    if zeros is not None:
        size = replace(size, padding=tuple((0, min(last, 0)) for _, last in size.paddings))
    is_product = {*size.filter, *size.strides} == {1}
    if is_product and not any(map(any, size.paddings)) and not is_parallel:
        # Without neighbors, all pixels are one row, of which fewer tiles are cut off.
        ones = (1,) * (len(size.pixels) - 1)
        size = replace(size, images=1, pixels=(*ones, size.images * prod(size.pixels)))
    vectors, lanes = channel_tile(size.channels_out, machine, total_of(request.weight))
    multiplied, total, terms = multiplied_as(request.weight, lanes, size.groups, machine)
    form = Format(request.image, multiplied, total, as_dtype(request.result), terms)
    is_blocked = size.groups == 1 and (is_prepared or form.stored != total)
    block = vectors * lanes if is_blocked else 0
    return ConvolutionCode(size, request.epilogue, form, block, is_parallel)


def _for_any_size(code: ConvolutionCode, sides: Padding | None) -> ConvolutionCode:
    """The code for images of any number and size, with the given padding or none."""
    size = code.size
    padding = sides or ((0, 0),) * len(size.pixels)
    pixels = tuple(sum(zeros) + 1 for zeros in padding)
    return replace(
        code, size=replace(size, images=1, pixels=pixels, padding=padding), any_size=True
    )


def _filter_shape(code: ConvolutionCode) -> tuple[int, ...]:
    """The shape of the filter in the kernel."""
    size, terms = code.size, code.form.terms
    shape = (*size.filter, -(-size.group_in // terms))
    if not code.block:
        return (*shape, size.channels_out)
    blocks = -(-size.channels_out // code.block)
    return (blocks, *shape, code.block, *((terms,) if terms > 1 else ()))


GENERIC_CALLS = 4
"""Calls of one kind that run the code for any size before that for its sizes is compiled."""

SPECIALIZER = Specializer()


@lru_cache(maxsize=512)
def _at_once(generic: ConvolutionCode) -> list[ConvolutionCode | None]:
    """The code for one size that runs instead of code for any size from its first call on.

    Empty before the first call; None if the disk had the code for any size then.
    """
    del generic  # only the key
    return []

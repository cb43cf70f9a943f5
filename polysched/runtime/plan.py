"""Plan of a call: all that follows from the layouts of its arrays, without their addresses.

All checks but those of addresses and index values are made here, once for each combination of
layouts; :mod:`polysched.runtime.kernel` caches the plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from polysched.errors import CallError, KernelError, suggestion
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.printing import values_text
from polysched.ir.core.strides import concrete_strides, elements_spanned
from polysched.ir.expr.comparisons import display
from polysched.ir.expr.evaluate import evaluate
from polysched.runtime.array_layout import (
    ALIGNED,
    C_CONTIGUOUS,
    WRITEABLE,
    Layout,
    has_buffer,
    is_simple,
)
from polysched.runtime.buffers import buffer_rank, buffer_shape, buffer_text, buffer_type
from polysched.runtime.inference import Bindings, infer_parameters
from polysched.runtime.signature import Signature, tuple_text
from polysched.runtime.strided import check_strides, element_strides, require_apart


class RangeCheck(NamedTuple):
    """An index array: its position among the arguments passed, and the range of its values.

    ``declared`` is the range as it was declared, for messages.
    """

    name: str
    source: int
    lower: int
    upper: int
    declared: str


class OverlapCheck(NamedTuple):
    """Two arguments of which at least one is written.

    Attributes:
        first: position of an argument among the kernel's arrays.
        second: position of the other argument.
        first_bytes: bytes from the first element's begin to the last element's end.
        second_bytes: the same for the other argument.
    """

    first: int
    second: int
    first_bytes: int
    second_bytes: int


class Allocation(NamedTuple):
    """An output that the call leaves out: its name, shape, element type and strides in elements."""

    name: str
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    strides: tuple[int, ...]


@dataclass(frozen=True)
class Plan:
    """Checked plan of a call.

    The *passed* arrays are the arguments in the caller's order, those by position first, followed
    by the ``allocations``.

    Attributes:
        sources: for each array of the signature, its position among the passed arrays.
        is_simple: for each passed array, whether it is writable and contiguous in row-major order,
            so that its address is found fast.
        parameters: the values of the parameters, in the signature's order.
        overlaps: the pairs of arrays that must not share memory.
        allocations: the outputs that the caller leaves out.
        ranges: the index arrays, whose values are checked at every call.
    """

    sources: tuple[int, ...]
    is_simple: tuple[bool, ...]
    parameters: tuple[int, ...]
    overlaps: tuple[OverlapCheck, ...]
    allocations: tuple[Allocation, ...] = ()
    ranges: tuple[RangeCheck, ...] = ()

    @cached_property
    def is_direct(self) -> bool:
        """Whether the kernel takes the passed arrays as they are, without further checks."""
        return self.in_order and not self.allocations and not self.ranges

    @cached_property
    def all_simple(self) -> bool:
        """Whether all passed arrays are simple."""
        return all(self.is_simple)

    @cached_property
    def in_order(self) -> bool:
        """Whether the passed arrays have the signature's order."""
        return self.sources == tuple(range(len(self.sources)))


def bind_names(signature: Signature, positional: int, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names of the arrays that a call passes: those by position first, then those by name.

    Arguments by position are, in the order of declaration, the arrays not given by name: all of
    them, or all but the outputs.

    Args:
        positional: the number of arrays passed by position.
        names: the arrays passed by name.

    Raises:
        CallError: an unknown name, a name given twice, too few or too many arguments.
    """
    for name in names:
        if name not in signature.array_names:
            known = (*signature.array_names, *signature.parameters)
            raise CallError(
                f"kernel '{signature.name}' has no argument '{name}'{suggestion(name, known)}"
            )
    everything = [name for name in signature.array_names if name not in names]
    required = [name for name in signature.required_names if name not in names]
    for candidates in (everything, required):
        if positional == len(candidates):
            return (*candidates, *names)
    if names and positional > len(everything):
        twice = [name for name in signature.array_names[:positional] if name in names]
        if twice:
            raise CallError(
                f"kernel '{signature.name}': array '{twice[0]}' is given twice, by position "
                "and by name"
            )
    arrays = "1 array is" if positional == 1 else f"{positional} arrays are"
    raise CallError(
        f"kernel '{signature.name}': {arrays} given by position; expected "
        f"{_expected(everything, required)}"
    )


def _expected(everything: list[str], required: list[str]) -> str:
    text = f"{len(everything)}: {tuple_text(everything)}"
    if required != everything:
        text += f", or {len(required)} to have the outputs allocated: {tuple_text(required)}"
    return text


def make_plan(
    signature: Signature,
    layouts: tuple[Layout, ...],
    names: tuple[str, ...] = (),
    parameters: tuple[tuple[str, int], ...] = (),
) -> Plan:
    """Check everything that the layouts of the arrays decide, and plan the call.

    Args:
        signature: of the kernel.
        layouts: of the arrays passed, those by position first.
        names: the arrays passed by name; they are the last ones.
        parameters: the parameters passed by name, with their values.

    Raises:
        CallError: an argument does not fit; the message names the argument and its expected form.
    """
    names = bind_names(signature, len(layouts) - len(names), names)
    given = dict(zip(names, layouts, strict=True))
    arrays = {array.name: array for array in signature.arrays}
    for name, layout in given.items():
        _check_type(signature, arrays[name], layout)
    shapes = {name: shape for name, (_, shape, _, _) in given.items()}
    apart = {
        name: element_strides(
            _subject(signature, arrays[name]), arrays[name], shapes[name], strides
        )
        for name, (_, _, _, strides) in given.items()
        if arrays[name].strides is not None
    }
    bindings = infer_parameters(signature, dict(parameters), shapes, apart)
    _check_conditions(signature, bindings)
    expected = {
        name: buffer_shape(array, expected_shape(signature, array, bindings))
        for name, array in arrays.items()
    }
    required_strides = {
        n: concrete_strides(arrays[n], expected[n], bindings.values) for n in arrays
    }
    for name, layout in given.items():
        _check_shape(signature, arrays[name], layout, expected[name], bindings)
        _check_flags(signature, arrays[name], layout)
    where = f" with {bindings.text()}" if bindings.values else ""
    for name, strides in apart.items():
        subject = _subject(signature, arrays[name])
        check_strides(subject, arrays[name], expected[name], strides, required_strides[name], where)
    for name, array in arrays.items():
        if array.strides is not None:
            require_apart(_subject(signature, array), expected[name], required_strides[name])
    omitted = [name for name in arrays if name not in given]
    sizes = {
        n: elements_spanned(expected[n], required_strides[n]) * buffer_type(arrays[n]).itemsize
        for n in given
    }
    allocations = tuple(
        Allocation(n, expected[n], buffer_type(arrays[n]), required_strides[n]) for n in omitted
    )
    return Plan(
        sources=tuple([*names, *omitted].index(name) for name in arrays),
        is_simple=(
            *map(is_simple, layouts),
            *(
                arrays[name].strides is None and has_buffer(buffer_type(arrays[name]))
                for name in omitted
            ),
        ),
        parameters=tuple(bindings.values.values()),
        overlaps=overlaps(signature, sizes),
        allocations=allocations,
        ranges=tuple(_ranges(signature, names, bindings)),
    )


def overlaps(signature: Signature, sizes: Mapping[str, int]) -> tuple[OverlapCheck, ...]:
    """The pairs of nonempty arguments of which at least one is written.

    Args:
        sizes: the bytes of each argument passed, by name, from its first element to its last.
    """
    arrays = [(i, a) for i, a in enumerate(signature.arrays) if sizes.get(a.name, 0)]
    return tuple(
        OverlapCheck(i, j, sizes[a.name], sizes[b.name])
        for k, (i, a) in enumerate(arrays)
        for j, b in arrays[k + 1 :]
        if a.is_written or b.is_written
    )


def _ranges(
    signature: Signature, names: tuple[str, ...], bindings: Bindings
) -> Iterator[RangeCheck]:
    for array in signature.arrays:
        if array.values is not None:
            lower, upper = (evaluate(end, bindings.values) for end in array.values)
            if lower <= array.dtype.lowest and array.dtype.highest < upper:
                continue  # every value of the type is allowed
            declared = values_text(array.values)
            yield RangeCheck(array.name, names.index(array.name), lower, upper, declared)


def expected_shape(signature: Signature, array: Array, bindings: Bindings) -> tuple[int, ...]:
    """The extents of an array for these parameters."""
    try:
        shape = tuple(evaluate(extent, bindings.values) for extent in array.shape)
    except KernelError as error:
        raise CallError(
            f"kernel '{signature.name}': shape of array '{array.name}': {error}"
        ) from error
    for extent, expression in zip(shape, array.shape, strict=True):
        if extent < 0:
            raise CallError(
                f"kernel '{signature.name}': array '{array.name}' would have "
                f"{display(expression)} = {extent} elements in a dimension, {_where(bindings)}; "
                "expected parameters that make it at least 0"
            )
    return shape


def _check_type(signature: Signature, array: Array, layout: Layout) -> None:
    dtype, shape, _, _ = layout
    expected = buffer_type(array)
    if dtype != expected:
        if dtype == expected.newbyteorder():
            raise CallError(
                f"{_subject(signature, array)} has its bytes swapped ({dtype.str}); expected the "
                f"native order ({expected.str}): convert with .astype('{expected.name}')"
            )
        if array.is_packed:
            advice = ": pack them with pack_bits()"
        elif array.role is Role.INPUT:
            advice = f" ({array.dtype}): convert with .astype('{expected.name}')"
        else:  # a converted copy would receive the writes
            advice = f" ({array.dtype})"
        raise CallError(
            f"{_subject(signature, array)}{buffer_text(array)} has elements of type {dtype}; "
            f"expected {expected.name}{advice}"
        )
    if len(shape) != buffer_rank(array):
        plural = "" if len(shape) == 1 else "s"
        raise CallError(
            f"{_subject(signature, array)}{buffer_text(array)} has {len(shape)} dimension{plural}, "
            f"shape {shape}; expected {buffer_rank(array)}: {_shape_text(array)}"
        )


def _check_conditions(signature: Signature, bindings: Bindings) -> None:
    for condition in signature.conditions:
        if not evaluate(condition.expression, bindings.values):
            raise CallError(
                f"kernel '{signature.name}' requires {condition.text}; got {bindings.text()}"
            )


def _check_shape(
    signature: Signature,
    array: Array,
    layout: Layout,
    expected: tuple[int, ...],
    bindings: Bindings,
) -> None:
    _, shape, _, _ = layout
    if shape == expected:
        return
    symbolic = "" if array.is_packed else _shape_text(array)
    numbers = tuple_text([str(extent) for extent in expected])
    meaning = "" if symbolic in ("", numbers) else f"{symbolic} = "
    where = f" with {bindings.text()}" if bindings.values else ""
    raise CallError(
        f"{_subject(signature, array)}{buffer_text(array)} has shape {shape}; expected "
        f"{meaning}{numbers}{where}"
    )


def _check_flags(signature: Signature, array: Array, layout: Layout) -> None:
    _, _, flags, _ = layout
    subject = _subject(signature, array)
    if array.strides is None and not flags & C_CONTIGUOUS:
        advice = (
            "write into a contiguous array and copy it back"
            if array.is_written
            else "pass numpy.ascontiguousarray(...) of it"
        )
        raise CallError(f"{subject} is not contiguous in row-major order; {advice}")
    if array.is_written and not flags & WRITEABLE:
        raise CallError(f"{subject} is read-only; it is an {array.role.value} and must be writable")
    if not flags & ALIGNED:
        raise CallError(
            f"{subject} is misaligned; expected an address that is a multiple of its element size, "
            f"{array.dtype.bytes} bytes: pass a copy of it"
        )


def _subject(signature: Signature, array: Array) -> str:
    return f"kernel '{signature.name}': array '{array.name}'"


def _shape_text(array: Array) -> str:
    return tuple_text([display(extent) for extent in array.shape])


def _where(bindings: Bindings) -> str:
    return f"with {bindings.text()}" if bindings.values else "without parameters"

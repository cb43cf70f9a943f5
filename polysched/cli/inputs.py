"""Inputs of a kernel: parameter values from the command line, and random arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click
import numpy as np

from polysched.errors import CallError, suggestion
from polysched.frontends.scop.declare.shapes import UNKNOWN
from polysched.ir.core.conditions import conditions_of
from polysched.ir.core.kernel import Array, Kernel, Role
from polysched.ir.core.printing import values_text
from polysched.ir.core.strides import concrete_strides
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.semantics.memory import AnyArray, concrete_shape
from polysched.runtime.buffers import buffer_shape, buffer_type
from polysched.runtime.memory import aligned_zeros

_Command = TypeVar("_Command", bound=Callable[..., Any])


def sizes_option(text: str) -> Callable[[_Command], _Command]:
    """Return the repeated option ``--size NAME=NUMBER``, as mapping `sizes`, with its help."""
    return click.option(
        *("--size", "sizes"), multiple=True, callback=_sizes, metavar="NAME=NUMBER", help=text
    )


def _sizes(
    context: click.Context, parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, int]:
    """Parse the values; a `click.BadParameter` if one has another form or a name occurs twice."""
    sizes: dict[str, int] = {}
    for value in values:
        name, _, number = map(str.strip, value.partition("="))
        try:
            size = int(number)
        except ValueError:
            message = f"'{value}' is not NAME=NUMBER, such as N=64"
            raise click.BadParameter(message, context, parameter) from None
        if name in sizes:
            raise click.BadParameter(f"'{name}' is given twice", context, parameter)
        sizes[name] = size
    return sizes


def parameter_values(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, int]:
    """Values for all parameters of a kernel.

    Raises:
        CallError: a name is not a parameter, a parameter has no value, or the kernel's context
            excludes the values.
    """
    for name in sizes:
        if name not in kernel.parameters:
            raise CallError(
                f"kernel '{kernel.name}' has no parameter '{name}'"
                f"{suggestion(name, kernel.parameters)}"
            )
        if not -(2**63) <= sizes[name] < 2**63:
            raise CallError(
                f"kernel '{kernel.name}': parameter '{name}' is {sizes[name]}; expected a 64-bit "
                "integer"
            )
    missing = [name for name in kernel.parameters if name not in sizes]
    if missing:
        options = " ".join(f"--size {name}=..." for name in missing)
        raise CallError(
            f"kernel '{kernel.name}' needs values of {', '.join(map(repr, missing))}; "
            f"pass {options}"
        )
    values = {name: sizes[name] for name in kernel.parameters}
    for condition in conditions_of(kernel.context):
        if not evaluate(condition.expression, values):
            received = ", ".join(f"{name} = {value}" for name, value in values.items())
            raise CallError(f"kernel '{kernel.name}' requires {condition.text}; got {received}")
    return values


def random_arrays(kernel: Kernel, parameters: Mapping[str, int], seed: int) -> dict[str, AnyArray]:
    """Make all argument arrays: random inputs, zeroed outputs.

    Arrays are 64-byte aligned and have their declared strides. Floating-point values are uniform in
    [-1, 1). Integers lie in their declared range of values, else in [-8, 8) (signed) or [0, 16)
    (unsigned). Packed integers take any value of their type.

    Raises:
        CallError: there is not enough memory, a declared range of values is empty, or an array's
            extent depends on data.
    """
    generator = np.random.default_rng(seed)
    arrays = {}
    for name, array in kernel.arrays.items():
        if array.role is Role.TEMPORARY:
            continue
        if array.guarded and array.shape[:1] == (UNKNOWN,):
            raise CallError(
                f"the extent of '{name}' depends on data, so there are no random inputs for it; "
                f"declare it, as in '{name}[n]'"
            )
        arrays[name] = _empty(array, parameters)
        arrays[name][...] = (
            0
            if array.role is Role.OUTPUT
            else generator.integers(0, 256, arrays[name].shape, dtype=np.uint8)
            if array.is_packed
            else _random(generator, array, arrays[name].shape, parameters)
        )
    return arrays


def _empty(array: Array, parameters: Mapping[str, int]) -> AnyArray:
    shape = buffer_shape(array, concrete_shape(array.shape, parameters))
    strides = None if array.is_packed else concrete_strides(array, shape, parameters)
    try:
        return aligned_zeros(shape, buffer_type(array), strides=strides)
    except (MemoryError, ValueError) as error:
        raise CallError(
            f"array '{array.name}' of shape {shape} does not fit into memory: {error}"
        ) from error


def _random(
    generator: np.random.Generator,
    array: Array,
    shape: tuple[int, ...],
    parameters: Mapping[str, int],
) -> AnyArray:
    dtype = array.dtype
    if array.values is not None:
        lower, upper = (evaluate(end, parameters) for end in array.values)
        if lower >= upper:
            raise CallError(
                f"array '{array.name}': no value lies in its declared range "
                f"{values_text(array.values)}; choose other sizes"
            )
        return generator.integers(lower, upper, shape, dtype=dtype.numpy())
    if dtype.is_half:
        return (generator.random(shape, np.float32) * 2 - 1).astype(dtype.numpy())
    if dtype.is_float:
        return generator.random(shape, dtype=dtype.numpy()) * 2 - 1  # type: ignore[arg-type]
    if dtype.is_integer:
        lowest = -8 if dtype.is_signed else 0
        return generator.integers(lowest, lowest + 16, shape, dtype=dtype.numpy())
    return generator.integers(0, 2, shape, dtype=np.bool_)

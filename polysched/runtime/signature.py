"""Signature of a compiled kernel: argument arrays, parameters and conditions on them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import index, itemgetter
from typing import Any, Protocol

import islpy as isl
import numpy as np

from polysched.errors import CallError
from polysched.ir.core.conditions import Condition, conditions_of
from polysched.ir.core.kernel import Array, Role
from polysched.ir.core.printing import strides_text
from polysched.ir.expr.comparisons import display


class Declaration(Protocol):
    """Declarations of a kernel, as a ``Kernel`` and a ``LoopProgram`` have them."""

    @property
    def name(self) -> str:
        """The symbol of the compiled function."""

    @property
    def parameters(self) -> tuple[str, ...]:
        """The names of the integer parameters."""

    @property
    def context(self) -> isl.Set:
        """The values of the parameters for which the kernel is defined."""

    @property
    def arrays(self) -> Mapping[str, Array]:
        """Arguments, temporaries and buffers in the order of declaration."""


@dataclass(frozen=True)
class Signature:
    """Arguments of a call: ``arrays`` in order, without temporaries, then ``parameters``."""

    name: str
    arrays: tuple[Array, ...]
    parameters: tuple[str, ...]
    conditions: tuple[Condition, ...]

    @cached_property
    def array_names(self) -> tuple[str, ...]:
        """The names of the arrays in the order of the arguments."""
        return tuple(array.name for array in self.arrays)

    @cached_property
    def has_strides(self) -> bool:
        """Whether an array is declared with strides."""
        return any(array.strides is not None for array in self.arrays)

    @cached_property
    def required_names(self) -> tuple[str, ...]:
        """The arrays that a call must pass: all but the outputs."""
        return tuple(array.name for array in self.arrays if array.role is not Role.OUTPUT)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The positions of the outputs among the arrays."""
        return tuple(i for i, array in enumerate(self.arrays) if array.role is Role.OUTPUT)

    @cached_property
    def result_of(self) -> Callable[[Sequence[Any]], Any]:
        """Function from a call's arrays, in order, to its output, a tuple of them, or None."""
        return itemgetter(*self.outputs) if self.outputs else lambda _: None

    @cached_property
    def by_name(self) -> dict[str, Array]:
        """The arrays by name."""
        return {array.name: array for array in self.arrays}

    def lines(self) -> list[str]:
        """Return the arguments and the conditions on them, one a line."""
        return [
            *map(str, self.arrays),
            *(f"parameter {name}" for name in self.parameters),
            *(condition.text for condition in self.conditions),
        ]

    def inspected(self) -> inspect.Signature:
        """Return the arguments of a call as Python's signature; a default means optional."""
        roles = [array.role for array in self.arrays]
        arrays = [
            inspect.Parameter(
                array.name,
                inspect.Parameter.POSITIONAL_OR_KEYWORD,
                # Python allows optional arguments last only.
                default=None if set(roles[position:]) == {Role.OUTPUT} else inspect.Parameter.empty,
            )
            for position, array in enumerate(self.arrays)
        ]
        named = [
            inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
            for name in dict.fromkeys((*self.parameters, "threads"))
            if name not in self.array_names
        ]
        return inspect.Signature([*arrays, *named])

    def with_named_parameters(
        self, arguments: tuple[Any, ...], named: dict[str, Any]
    ) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """Name the parameters that follow the arrays, in the order of the C interface.

        If there are more arguments than parameters, or one is given by name too, change nothing.
        """
        count = len(self.arrays)
        sizes = dict(zip(self.parameters, arguments[count:], strict=False))
        if len(sizes) < len(arguments) - count or sizes.keys() & named.keys():
            return arguments, named
        return arguments[:count], {**named, **sizes}

    def __str__(self) -> str:
        given = [f"{array.name}: {array.dtype}{_described(array)}" for array in self.arrays]
        return f"{self.name}({', '.join((*given, *self.parameters))})"


def signature_of(declaration: Declaration) -> Signature:
    """The signature of a kernel or of a program in loops."""
    arguments = (a for a in declaration.arrays.values() if a.role is not Role.TEMPORARY)
    return Signature(
        name=declaration.name,
        arrays=tuple(arguments),
        parameters=tuple(declaration.parameters),
        conditions=conditions_of(declaration.context),
    )


def _described(array: Array) -> str:
    rows = "" if array.rows is None else f" packed in bytes, rows {array.rows.value}"
    return f"{shape_text(array)}{rows}{strides_text(array)}"


def shape_text(array: Array) -> str:
    """The declared shape, e.g. ``[N, H + 2]``."""
    return f"[{', '.join(map(display, array.shape))}]"


def tuple_text(items: Sequence[str]) -> str:
    """Format items as a Python tuple: ``(a,)``, ``(a, b)``."""
    return f"({items[0]},)" if len(items) == 1 else f"({', '.join(items)})"


def integer_parameter(signature: Signature, name: str, value: Any) -> int:
    """Return the value of a parameter; a `CallError` if it is not an integer."""
    try:
        if not isinstance(value, bool | np.bool_):
            return index(value)
    except TypeError:
        pass
    raise CallError(
        f"kernel '{signature.name}': parameter '{name}' is {value!r} of type "
        f"{type(value).__name__}; expected an integer"
    )


def overlap_error(signature: Signature, first: int, second: int) -> CallError:
    """Return the error of two arrays that overlap, of which at least one is written."""
    a, b = signature.arrays[first], signature.arrays[second]
    written = a if a.is_written else b
    return CallError(
        f"kernel '{signature.name}': arrays '{a.name}' and '{b.name}' overlap in memory, and "
        f"'{written.name}' is written; expected separate memory: pass a copy of one of them"
    )

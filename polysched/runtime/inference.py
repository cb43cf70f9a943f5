"""Infer the parameters that a call does not pass from the shapes of its arrays."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from types import MappingProxyType

from polysched.errors import CallError
from polysched.ir.core.kernel import Array
from polysched.ir.core.strides import closest_strides
from polysched.ir.expr.comparisons import display, parameter_names, solve, without
from polysched.ir.expr.evaluate import evaluate
from polysched.ir.expr.expressions import Expression, Parameter
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import LinearForm
from polysched.ir.semantics.memory import concrete_shape
from polysched.runtime.buffers import counted_dimensions
from polysched.runtime.signature import Signature

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1

NO_STRIDES: Mapping[str, tuple[int, ...]] = MappingProxyType({})


@dataclass(frozen=True)
class Bindings:
    """The value of each parameter, and its origin for messages."""

    values: Mapping[str, int]
    origins: Mapping[str, str]

    def text(self) -> str:
        """``N = 4 (from dimension 'i' of 'x'), H = 80 (given)``; empty without parameters."""
        return ", ".join(f"{n} = {v} ({self.origins[n]})" for n, v in self.values.items())


@dataclass(frozen=True)
class _Equation:
    """``form == extent``: the equation of one dimension or stride of an array.

    Attributes:
        form: the declared extent or stride.
        extent: the passed array's extent or stride, in elements.
        array: the array's name.
        label: the dimension or stride, for messages: ``dimension 'i'``.
        text: the declared extent or stride, for messages.
    """

    form: LinearForm
    extent: int
    array: str
    label: str
    text: str


def infer_parameters(
    signature: Signature,
    given: Mapping[str, int],
    shapes: Mapping[str, tuple[int, ...]],
    strides: Mapping[str, tuple[int, ...]] = NO_STRIDES,
) -> Bindings:
    """Infer the parameters' values from those ``given`` and from the ``shapes`` of the arrays.

    Extents are solved in the order of the arrays, repeatedly, as long as an extent has a single
    unknown parameter and is linear in it. Byte counts of packed rows are not used, because they are
    rounded up. Next come the ``strides``, in elements, of the arrays with declared strides, and
    last the strides of outputs left out, which are allocated without gaps. This function does not
    check that all extents agree.

    Raises:
        CallError: a parameter that no extent determines, an extent that no integer explains, or a
            value that does not fit 64 bits.
    """
    values, origins = dict(given), dict.fromkeys(given, "given")
    passed = [*_extents(signature, shapes), *_strides(signature, shapes, strides)]
    _solve(signature, passed, values, origins)
    if len(values) < len(signature.parameters):
        _solve(signature, list(_chosen_strides(signature, shapes, values)), values, origins)
    missing = [name for name in signature.parameters if name not in values]
    if missing:
        pass_ = ", ".join(f"{name}=..." for name in missing)
        raise CallError(
            f"kernel '{signature.name}': the {'shapes and strides' if strides else 'shapes'} of "
            "the arrays passed do not determine "
            f"{' and '.join(map(repr, missing))}; pass {pass_}"
        )
    for name, value in values.items():
        if not _SMALLEST <= value <= _LARGEST:
            raise CallError(
                f"kernel '{signature.name}': parameter '{name}' is {value}; "
                "expected a 64-bit integer"
            )
    return Bindings({name: values[name] for name in signature.parameters}, origins)


def _extents(signature: Signature, shapes: Mapping[str, tuple[int, ...]]) -> list[_Equation]:
    return [
        _equation(array, f"dimension '{dimension}'", expression, extent)
        for array in signature.arrays
        if array.name in shapes
        for expression, dimension, extent in islice(
            zip(array.shape, array.dimensions, shapes[array.name], strict=False),
            counted_dimensions(array),
        )
    ]


def _strides(
    signature: Signature,
    shapes: Mapping[str, tuple[int, ...]],
    strides: Mapping[str, tuple[int, ...]],
) -> list[_Equation]:
    """Equations of the strides, those of dimensions of several indices first.

    The stride of a dimension of one index may be anything, such as 0. It counts as at least the
    stride of an array without gaps.
    """
    certain, free = [], []
    for array in signature.arrays:
        if array.name not in strides:
            continue
        shape = shapes[array.name]
        shortest = closest_strides(array, shape)
        for position, stride in enumerate(strides[array.name]):
            if shape[position] > 1 and 0 not in shape:
                certain.append(_stride(array, position, stride))
            else:
                free.append(_stride(array, position, max(stride, shortest[position])))
    return [*certain, *free]


def _chosen_strides(
    signature: Signature, shapes: Mapping[str, tuple[int, ...]], values: Mapping[str, int]
) -> Iterator[_Equation]:
    """Equations of the strides of outputs left out whose extents are known."""
    for array in signature.arrays:
        forms = [linear_form(extent, {}) for extent in array.shape]
        is_known = all(parameter_names(form) <= values.keys() for form in forms)
        if array.strides is not None and array.name not in shapes and is_known:
            chosen = closest_strides(array, concrete_shape(array.shape, values))
            yield from (_stride(array, position, stride) for position, stride in enumerate(chosen))


def _stride(array: Array, position: int, elements: int) -> _Equation:
    assert array.strides is not None
    label = f"the stride of dimension '{array.dimensions[position]}'"
    return _equation(array, label, array.strides[position], elements)


def _equation(array: Array, label: str, expression: Expression, elements: int) -> _Equation:
    return _Equation(linear_form(expression, {}), elements, array.name, label, display(expression))


def _solve(
    signature: Signature,
    equations: list[_Equation],
    values: dict[str, int],
    origins: dict[str, str],
) -> None:
    """Add the parameters that the equations determine to the values, in the equations' order."""
    while solvable := _first_solvable(equations, values):
        name, equation = solvable
        values[name] = _solution(signature, equation, name, values)
        origins[name] = f"from {equation.label} of '{equation.array}'"


def _first_solvable(
    equations: list[_Equation], values: Mapping[str, int]
) -> tuple[str, _Equation] | None:
    return next(((n, e) for e in equations if (n := _unknown(e, values)) is not None), None)


def _unknown(equation: _Equation, values: Mapping[str, int]) -> str | None:
    """The only unknown parameter of the equation if the equation is linear in it; else None."""
    unknown = parameter_names(equation.form) - values.keys()
    if len(unknown) != 1:
        return None
    (name,) = unknown
    rest = linear_form(without(equation.form, name), {})
    determined = Parameter(name) in dict(equation.form.terms) and name not in parameter_names(rest)
    return name if determined else None


def _solution(
    signature: Signature, equation: _Equation, name: str, values: Mapping[str, int]
) -> int:
    rest = evaluate(without(equation.form, name), values)
    solution = solve(equation.form, equation.extent, name, rest)
    if solution is None:
        known = ", ".join(
            f"{n} = {values[n]}" for n in sorted(parameter_names(equation.form) & values.keys())
        )
        raise CallError(
            f"kernel '{signature.name}': {equation.label} of array "
            f"'{equation.array}' has {equation.extent} elements; expected {equation.text}, which "
            f"no integer '{name}' gives{f' with {known}' if known else ''}"
        )
    return solution

"""The values of a call's parameters: those given, the rest inferred from the arrays' shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polysched.errors import CallError
from polysched.ir.evaluate import evaluate
from polysched.ir.expressions import Parameter
from polysched.ir.linear import LinearForm, linear_form
from polysched.runtime.linear import display, parameter_names, solve, without
from polysched.runtime.signature import Signature

_SMALLEST, _LARGEST = -(2**63), 2**63 - 1


@dataclass(frozen=True)
class Bindings:
    """A value for every parameter, and where each came from, for messages."""

    values: Mapping[str, int]
    origins: Mapping[str, str]

    def text(self) -> str:
        """``N = 4 (from dimension 'i' of 'x'), H = 80 (given)``; empty without parameters."""
        return ", ".join(f"{n} = {v} ({self.origins[n]})" for n, v in self.values.items())


@dataclass(frozen=True)
class _Equation:
    """``form == extent``: what one dimension of one array says about the parameters."""

    form: LinearForm
    extent: int
    array: str
    dimension: str
    text: str


def infer_parameters(
    signature: Signature, given: Mapping[str, int], shapes: Mapping[str, tuple[int, ...]]
) -> Bindings:
    """The parameters' values from those ``given`` and the ``shapes`` of the arrays passed.

    Extents are used in the order of the arrays, again and again, as long as one of them holds a
    single unknown parameter and that linearly. Whether every extent then agrees is not checked
    here.

    Raises:
        CallError: a parameter that no extent determines, an extent that no integer explains, or a
            value that does not fit 64 bits.
    """
    values, origins = dict(given), dict.fromkeys(given, "given")
    equations = list(_equations(signature, shapes))
    while solvable := _first_solvable(equations, values):
        name, equation = solvable
        values[name] = _solution(signature, equation, name, values)
        origins[name] = f"from dimension '{equation.dimension}' of '{equation.array}'"
    missing = [name for name in signature.parameters if name not in values]
    if missing:
        pass_ = ", ".join(f"{name}=..." for name in missing)
        raise CallError(
            f"kernel '{signature.name}': the shapes of the arrays passed do not determine "
            f"{' and '.join(map(repr, missing))}; pass {pass_}"
        )
    for name, value in values.items():
        if not _SMALLEST <= value <= _LARGEST:
            raise CallError(
                f"kernel '{signature.name}': parameter '{name}' is {value}; "
                "expected a 64-bit integer"
            )
    return Bindings({name: values[name] for name in signature.parameters}, origins)


def _equations(signature: Signature, shapes: Mapping[str, tuple[int, ...]]) -> list[_Equation]:
    return [
        _Equation(linear_form(expression, {}), extent, array.name, dimension, display(expression))
        for array in signature.arrays
        if array.name in shapes
        for expression, dimension, extent in zip(
            array.shape, array.dimensions, shapes[array.name], strict=True
        )
    ]


def _first_solvable(
    equations: list[_Equation], values: Mapping[str, int]
) -> tuple[str, _Equation] | None:
    return next(((n, e) for e in equations if (n := _unknown(e, values)) is not None), None)


def _unknown(equation: _Equation, values: Mapping[str, int]) -> str | None:
    """The one parameter that the equation determines, or None."""
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
    found = solve(equation.form, equation.extent, name, rest)
    if found is None:
        known = ", ".join(
            f"{n} = {values[n]}" for n in sorted(parameter_names(equation.form) & values.keys())
        )
        raise CallError(
            f"kernel '{signature.name}': dimension '{equation.dimension}' of array "
            f"'{equation.array}' has {equation.extent} elements; expected {equation.text}, which "
            f"no integer '{name}' gives{f' with {known}' if known else ''}"
        )
    return found

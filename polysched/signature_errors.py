"""Errors of calls whose arguments do not fit a function's signature, with the expected ones."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from types import MappingProxyType
from typing import ParamSpec, TypeVar

from polysched.errors import suggestion

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_NONE: Mapping[str, str] = MappingProxyType({})


def with_signature_errors(
    function: Callable[_Parameters, _Result], words: Mapping[str, str] = _NONE
) -> Callable[_Parameters, _Result]:
    """Return the function with a message that shows its parameters if arguments do not fit them.

    Args:
        words: arguments of other systems, each with its replacement.
    """

    @wraps(function)
    def call(*arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        try:
            return function(*arguments, **named)
        except TypeError:
            name, signature = function.__name__, inspect.signature(function)
            reason = mismatch(name, signature, arguments, named, words)
            if reason is None:
                raise
            raise TypeError(f"{name}: {reason}") from None

    return call


def mismatch(
    name: str,
    signature: inspect.Signature,
    arguments: tuple[object, ...],
    named: Mapping[str, object],
    words: Mapping[str, str] = _NONE,
) -> str | None:
    """Return why arguments do not fit a function's signature; None if they do."""
    try:
        signature.bind(*arguments, **named)
    except TypeError as error:
        reason = str(error)
    else:
        return None
    parameters = [
        parameter.replace(annotation=inspect.Parameter.empty)
        for parameter in signature.parameters.values()
        if parameter.name != "self"
    ]
    names = [parameter.name for parameter in parameters]
    unknown = next((name for name in named if name not in names), None)
    if unknown is not None:
        hint = f"; {words[unknown]}" if unknown in words else suggestion(unknown, names)
        return f"there is no argument '{unknown}'{hint}"
    expected = str(signature.replace(parameters=parameters, return_annotation=signature.empty))
    return f"{reason}; expected {name}{expected}"

"""Type check of a step's arguments against the fields of its record."""

from __future__ import annotations

import reprlib
import types
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from functools import cache
from operator import is_
from types import MappingProxyType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

from polysched.errors import StepError
from polysched.instructions.declaration import Instruction
from polysched.integers import as_integer

_Record = TypeVar("_Record")

LONGEST_NAME = 200
"""Largest number of characters of a name in a step."""
_LARGEST_BITS = 128
"""Larger integers are refused here; smaller ones reach the primitive, which has its own limits."""


def with_checked_arguments(name: str, record: _Record) -> _Record:
    """Return the step with every argument checked against the type of its field, and normalized.

    Lists become tuples, numpy integers become Python integers, and enumeration members become their
    values, so that the step can be read back from text.

    Args:
        name: the primitive's name, for messages.
        record: the step, a dataclass.
    """
    hints = _hints(type(record))  # type: ignore[arg-type]
    changed = {}
    for field in fields(record):  # type: ignore[arg-type]
        argument = getattr(record, field.name)
        value = _plain(argument)
        if not _fits(value, hints[field.name]):
            expected = _described(hints[field.name])
            raise StepError(name, f"{field.name}={_shown(argument)}; expected {expected}")
        if value is not argument:
            changed[field.name] = value
    return replace(record, **changed) if changed else record  # type: ignore[type-var]


def require_names(name: str, parameter: str, given: tuple[object, ...], example: str) -> None:
    """Check the loops of a primitive that takes any number of them, before its first step.

    Args:
        name: the primitive's name.
        example: arguments of a call, for the message.
    """
    for argument in given:
        if not _fits(_plain(argument), str):
            raise StepError(
                name, f"{parameter}: {_shown(argument)}; expected names, as in {name}{example}"
            )


@cache
def _hints(record: type) -> Mapping[str, Any]:
    """Return the field types of a step's record; reading them takes longer than many steps."""
    return get_type_hints(record)


def _plain(argument: object) -> object:
    if isinstance(argument, list | tuple):
        elements = tuple(map(_plain, argument))
        is_plain = isinstance(argument, tuple) and all(map(is_, elements, argument))
        return argument if is_plain else elements
    if isinstance(argument, str) and type(argument) is not str:
        return str.__str__(argument)
    number = as_integer(argument)
    return argument if number is None else number


def _fits(value: object, hint: Any) -> bool:
    if isinstance(hint, types.UnionType):
        return any(_fits(value, member) for member in get_args(hint))
    if get_origin(hint) is tuple:
        return isinstance(value, tuple) and _elements_fit(value, get_args(hint))
    return _SIMPLE[hint][1](value)


def _elements_fit(value: tuple[object, ...], hints: tuple[Any, ...]) -> bool:
    if hints[-1] is Ellipsis:
        return all(_fits(element, hints[0]) for element in value)
    return len(value) == len(hints) and all(map(_fits, value, hints))


def _is_name(value: object) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_NAME


def _is_integer(value: object) -> bool:
    number = as_integer(value)
    return number is not None and number.bit_length() <= _LARGEST_BITS


_SIMPLE: Mapping[Any, tuple[str, Callable[[object], bool]]] = MappingProxyType(
    {
        str: ("a name such as 'i'", _is_name),
        int: ("an integer", _is_integer),
        bool: ("True or False", lambda value: isinstance(value, bool)),
        types.NoneType: ("None", lambda value: value is None),
        Instruction: ("a ps.Instruction", lambda value: isinstance(value, Instruction)),
    }
)
"""For each elementary field type: its description in messages, and the test for its values."""


def _described(hint: Any) -> str:
    if isinstance(hint, types.UnionType):
        return " or ".join(map(_described, get_args(hint)))
    if get_origin(hint) is not tuple:
        return _SIMPLE[hint][0]
    first, *rest = get_args(hint)
    example = "(4, 8)" if first is int else "('i', 'j')"
    count = "" if rest == [Ellipsis] else f" of {1 + len(rest)}"
    return f"a tuple{count} such as {example}"


def _shown(value: object) -> str:
    if isinstance(value, int) and value.bit_length() > 1000:  # Python does not write all of them
        return f"a huge {type(value).__name__}"
    return reprlib.repr(value)

"""How a C file is to be read: preprocessor options, and promises that its text does not make."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Promises:
    """Facts that hold at every call, and options of the preprocessor, from the command line.

    Attributes:
        no_alias: no two pointers of the function lead to the same element, unless both only read.
        conditions: conditions on the sizes in C, such as ``"n >= 1 && m < n"``.
        strict_bounds: inferred conditions on the sizes are errors.
        preprocessor: options of the C preprocessor, such as ``-DN=100``.
    """

    no_alias: bool = False
    conditions: tuple[str, ...] = ()
    strict_bounds: bool = False
    preprocessor: tuple[str, ...] = ()


NO_PROMISES = Promises()

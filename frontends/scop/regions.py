"""Translate every region of a C file that can be translated."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from polysched.errors import FrontendError
from polysched.frontends.scop.parse import ParsedSource, parse
from polysched.frontends.scop.program import CProgram, program_of
from polysched.frontends.scop.promises import Promises
from polysched.frontends.scop.region import Region, functions_of, regions_of, whole_function
from polysched.frontends.scop.rewriting import Edit, edits_of, require_replaceable
from polysched.frontends.scop.text import read_source, with_assumptions


@dataclass(frozen=True)
class Replacement:
    """Region that a generated function replaces.

    Attributes:
        program: the region as a kernel.
        symbol: the name of the generated function.
        edits: the edits of the file.
    """

    program: CProgram
    symbol: str
    edits: tuple[Edit, ...]


@dataclass(frozen=True)
class Refusal:
    """Region that stays as it is.

    Attributes:
        function: the name of its function.
        error: why it has no translation.
    """

    function: str
    error: FrontendError


def replacements_of(
    path: Path, function: str | None, promises: Promises
) -> tuple[list[Replacement], list[Refusal]]:
    """Translate the regions of a file: those between pragmas, and functions without any.

    Args:
        path: the C file.
        function: the only function to translate; None for all.
        promises: what the callers promise beyond the text of the file.

    Raises:
        FrontendError: the file cannot be parsed, or does not define the function.
    """
    parsed = parse(with_assumptions(read_source(path), promises.conditions), function)
    functions = functions_of(parsed)
    if function is not None and function not in functions:
        raise FrontendError(f"{path} defines no function '{function}'")
    replaced: list[Replacement] = []
    refused: list[Refusal] = []
    for name, node in functions.items():
        if function not in (None, name):
            continue
        regions = list(regions_of(parsed, node)) or [whole_function(node)]
        for number, region in enumerate(regions, start=1):
            suffix = f"_{number}" if len(regions) > 1 else ""
            symbol = f"polysched_{re.sub(r'[^A-Za-z0-9]', '_', path.stem)}_{name}{suffix}"
            try:
                replaced.append(_replacement(parsed, region, symbol, promises))
            except FrontendError as error:
                refused.append(Refusal(name, error))
    return replaced, refused


def _replacement(
    parsed: ParsedSource, region: Region, symbol: str, promises: Promises
) -> Replacement:
    program = program_of(parsed, region, promises)
    require_replaceable(program)
    return Replacement(program, symbol, edits_of(program, symbol))

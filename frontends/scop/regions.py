"""Translate every region of a C file that can be translated."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pycparser import c_ast

from polysched.errors import FrontendError, suggestion
from polysched.frontends.scop.found_regions import found_regions
from polysched.frontends.scop.program import CProgram, program_of
from polysched.frontends.scop.rewrites.region import (
    Region,
    functions_of,
    regions_of,
    whole_function,
)
from polysched.frontends.scop.rewriting import Edit, edits_of, require_replaceable
from polysched.frontends.scop.source.names import Names
from polysched.frontends.scop.source.parse import ParsedSource, parse
from polysched.frontends.scop.source.promises import Promises
from polysched.frontends.scop.source.text import read_source, with_assumptions


@dataclass(frozen=True)
class Replacement:
    """Region that a generated function replaces.

    Attributes:
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
        has_translation: whether it has a translation, but no schedule that pays, or arrays whose
            overlap cannot be checked.
    """

    function: str
    error: FrontendError
    has_translation: bool = False


def replacements_of(
    path: Path, function: str | None, promises: Promises
) -> tuple[list[Replacement], list[Refusal]]:
    """Translate the regions of a file: those between pragmas, and functions without any.

    Args:
        function: the only function to translate; None for all.
        promises: what the callers promise beyond the text of the file.

    Raises:
        FrontendError: the file cannot be parsed, or does not define the function.
    """
    source = with_assumptions(read_source(path, promises.preprocessor), promises.conditions)
    parsed = parse(source, function, skips_refused=True)
    functions = functions_of(parsed)
    if function is not None and function not in functions:
        known = {*functions, *parsed.skipped}
        raise parsed.refused.get(function) or FrontendError(
            f"{path} defines no function '{function}'{suggestion(function, known)}"
        )
    refused = [Refusal(name, error) for name, error in parsed.refused.items()]
    replaced: list[Replacement] = []

    def parts(region: Region) -> tuple[list[Replacement], list[Refusal]]:
        return parts_of(parsed, region, path, [region.symbol for region in replaced], promises)

    for name, region in _chosen(parsed, functions, function):
        symbol = _symbol(path, name, [region.symbol for region in replaced])
        try:
            replacement = _replacement(parsed, region, symbol, promises)
        except FrontendError as error:
            refused.append(Refusal(name, error))
            if region.is_function:
                found, left = parts(region)
                replaced += found
                refused += left
            continue
        is_useless = region.is_function and replacement.program.without_use is not None
        found = parts(region)[0] if is_useless else []
        replaced += found or [replacement]
    return replaced, refused


def parts_of(
    parsed: ParsedSource, whole: Region, path: Path, taken: list[str], promises: Promises
) -> tuple[list[Replacement], list[Refusal]]:
    """Translate the loops of a function that has no translation as a whole, or no proof.

    If no loop can be replaced, loops that would always run as written are refused with the reason.

    Args:
        whole: the function.
        taken: the symbols of other regions.
        promises: what the callers promise beyond the text of the file.
    """

    refused: list[Refusal] = []

    def translate(region: Region) -> CProgram:
        program = program_of(parsed, region, promises)
        error = program.without_use
        if error is not None:  # a loop inside may have a use
            refused.append(Refusal(whole.name, error, has_translation=bool(program.unlimited)))
            raise error
        require_replaceable(program)
        edits_of(program, whole.name)
        return program

    used = [*taken]
    found: list[Replacement] = []
    for program in found_regions(whole.function, translate):
        symbol = _symbol(path, whole.name, used)
        used.append(symbol)
        found.append(Replacement(program, symbol, edits_of(program, symbol)))
    return found, [] if found else refused


def _chosen(
    parsed: ParsedSource, functions: Mapping[str, c_ast.FuncDef], function: str | None
) -> list[tuple[str, Region]]:
    """Return the regions of a file with their functions; without any, the whole functions."""
    chosen = {name: node for name, node in functions.items() if function in (None, name)}
    regions = [
        (name, region) for name, node in chosen.items() for region in regions_of(parsed, node)
    ]
    return regions or [(name, whole_function(node)) for name, node in chosen.items()]


def _symbol(path: Path, function: str, taken: list[str]) -> str:
    """Return a name for a generated function that no other file is likely to use."""
    stem = re.sub(r"[^A-Za-z0-9]", "_", path.stem)
    return Names(frozenset(taken)).fresh(f"polysched_{stem}_{function}")


def _replacement(
    parsed: ParsedSource, region: Region, symbol: str, promises: Promises
) -> Replacement:
    program = program_of(parsed, region, promises)
    require_replaceable(program)
    return Replacement(program, symbol, edits_of(program, symbol))

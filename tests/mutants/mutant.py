"""A mutant: one deliberate mistake in one file, which the tests or the fuzzer must notice."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Mutant:
    """A wrong version of one file.

    Attributes:
        name: of the mutant, unique.
        what: the mistake, in a few words.
        file: from the root of the repository.
        before: the exact text, which occurs once in the file.
        after: what stands there instead.
        hints: the tests that are likely to notice first, as pytest names them.
    """

    name: str
    what: str
    file: str
    before: str
    after: str
    hints: tuple[str, ...]

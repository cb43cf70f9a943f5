"""A mutant: one deliberate mistake in one module, which the tests or the fuzzer must notice."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Mutant:
    """A wrong version of one module.

    The mistake is anchored in the syntax tree of the module, so white space, comments and line
    breaks do not matter: ``find`` is an expression, or one or more statements, which stand once
    inside the definition ``where``. See `tests.mutants.anchor`.

    Attributes:
        name: of the mutant, unique.
        what: the mistake, in a few words.
        module: dotted name, such as ``polysched.legality.checks.order``.
        where: qualified name of a function, a class or an assigned variable; "" for the module.
        find: Python code; if `in_text`, a part of one string.
        replace: the code or the text that takes its place; "" removes statements.
        hints: the tests that are likely to notice first, as pytest names them.
        index: which match is meant, counted from 0 in the order of the source, if there are
            several; None if there must be one.
        in_text: the anchor is a part of a string in ``where``, such as a line of LLVM IR.
    """

    name: str
    what: str
    module: str
    where: str
    find: str
    replace: str
    hints: tuple[str, ...]
    index: int | None = None
    in_text: bool = False

    @property
    def file(self) -> str:
        """The file of the module, from the root of the repository."""
        # The folder `frontends` is installed as `polysched.frontends`.
        parts = self.module.removeprefix("polysched.frontends.").split(".")
        if len(parts) < len(self.module.split(".")):
            parts = ["frontends", *parts]
        return str(PurePosixPath(*parts).with_suffix(".py"))

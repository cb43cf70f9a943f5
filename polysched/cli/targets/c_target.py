"""Load a command-line TARGET that is a C file: ``FILE.c[:FUNCTION]``."""

from __future__ import annotations

from pathlib import Path

from polysched.errors import TargetError
from polysched.frontends.scop import NO_PROMISES, CProgram, Promises, load_c

SUFFIXES = (".c", ".i")


def is_c_target(text: str) -> bool:
    """Whether a target names a C file (``.c``) or a preprocessed C file (``.i``)."""
    path, _ = parted_c_target(text)
    return path.endswith(SUFFIXES)


def load_c_target(text: str, function: str | None, promises: Promises = NO_PROMISES) -> CProgram:
    """Read the kernel of ``FILE.c`` or ``FILE.c:FUNCTION``."""
    path, name = parted_c_target(text)
    if name is not None and function is not None:
        raise TargetError(f"'{text}' names a function, and so does --function {function}; use one")
    return load_c(Path(path), name or function, promises)


def parted_c_target(text: str) -> tuple[str, str | None]:
    """Split ``FILE.c:FUNCTION`` into the file and the function; None if it names none."""
    path, colon, name = text.rpartition(":")
    return (path, name) if colon and path.endswith(SUFFIXES) else (text, None)

"""A user's Python file as a module, and errors in it in the user's own terms: file and line."""

from __future__ import annotations

import contextlib
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import polysched
from polysched import frontends
from polysched.errors import PolyschedError, TargetError
from polysched.ir.source import SourceLocation

_OWN_FOLDERS = tuple(
    Path(str(package.__file__)).resolve().parent for package in (polysched, frontends)
)
_MODULE_NAME = "polysched_target"
"""The module's name; not ``__main__``, so that the main part of a script does not run."""


def load_source_file(path: Path) -> ModuleType:
    """Run a Python file as a module. What it prints goes to the error output.

    It is compiled afresh, and nothing is written beside it.

    Raises:
        TargetError: there is no such file, it is no Python, or running it fails.
    """
    if path.suffix != ".py":
        raise TargetError(
            f"'{path}' is no Python file and no C file; expected FILE.py, FILE.py:NAME or "
            "FILE.c:NAME"
        )
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TargetError(f"cannot read '{path}': {error.strerror}") from error
    module = ModuleType(_MODULE_NAME)
    module.__file__ = str(path)
    with users_code(path):
        code = compile(text, str(path), "exec", dont_inherit=True)
        # Dataclasses and type hints look their module up by its name.
        sys.modules[_MODULE_NAME] = module
        exec(code, vars(module))
    return module


@contextlib.contextmanager
def users_code(path: Path) -> Iterator[None]:
    """Run code of the file at `path`: its neighbors can be imported, its errors are reported.

    Raises:
        TargetError: whatever the code raises, with the lines of the user's that led there.
    """
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        # Whatever a user's file may raise is an error of the input, not a defect of polysched.
        raise TargetError(_report(path, error)) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _report(path: Path, error: BaseException) -> str:
    """The error and, the innermost first, the user's lines."""
    lines = [f"{path}: {_message(error)}"]
    if isinstance(error, SyntaxError) and error.filename is not None and error.lineno is not None:
        lines.append(f"  {SourceLocation(error.filename, error.lineno, error.offset)}")
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if _is_users(frame.filename)
    ]
    lines += [f"  {frame.filename}:{frame.lineno} in {frame.name}" for frame in reversed(frames)]
    return "\n".join(lines)


def _message(error: BaseException) -> str:
    if isinstance(error, PolyschedError):
        return str(error)
    if isinstance(error, SystemExit):
        return f"the file ends the process (exit code {error.code}); expected it only to define"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_users(filename: str) -> bool:
    if filename.startswith("<"):
        return False
    path = Path(filename).resolve()
    return not any(path.is_relative_to(folder) for folder in _OWN_FOLDERS)

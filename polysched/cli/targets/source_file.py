"""Load a user's Python file as a module, and report its errors with the user's file and line."""

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
from polysched.ir.expr.source import SourceLocation

_OWN_FOLDERS = tuple(
    Path(str(package.__file__)).resolve().parent for package in (polysched, frontends)
)
_MODULE_NAME = "polysched_target"
"""Name of the module; not ``__main__``, so that the main block of a script does not run."""


def load_source_file(path: Path) -> ModuleType:
    """Run a Python file as a module; its standard output goes to the error output.

    The file is always compiled, without reading or writing bytecode files.
    """
    if path.suffix != ".py":
        raise TargetError(
            f"'{path}' is not a Python or C file; expected FILE.py, FILE.py:NAME or FILE.c:NAME"
        )
    try:
        text = path.read_bytes()
    except OSError as error:
        raise TargetError(f"cannot read '{path}': {error.strerror}") from error
    module = ModuleType(_MODULE_NAME)
    module.__file__ = str(path)
    with users_code(path):
        code = compile(text, str(path), "exec", dont_inherit=True)
        # Dataclasses and type hints look up their module by its name.
        sys.modules[_MODULE_NAME] = module
        exec(code, vars(module))
    return module


@contextlib.contextmanager
def users_code(path: Path) -> Iterator[None]:
    """Run code of the file at `path`, with its folder importable, and report its errors.

    Raises:
        TargetError: the code raised an exception; the message has the user's lines of the
            traceback.
    """
    folder = str(path.parent.resolve())
    sys.path.insert(0, folder)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    except (Exception, SystemExit) as error:
        # An exception in a user's file is an error in the input, not a defect of polysched.
        raise TargetError(_report(path, error)) from error
    finally:
        if folder in sys.path:
            sys.path.remove(folder)


def _report(path: Path, error: BaseException) -> str:
    """The error, and the user's lines of the traceback, innermost first."""
    message = _message(error)
    # Errors of the Python frontend begin with the file and the line.
    lines = [message if message.startswith(f"{path}:") else f"{path}: {message}"]
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
        return f"the file ends the process (exit code {error.code}); expected only definitions"
    text = error.msg if isinstance(error, SyntaxError) else str(error)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _is_users(filename: str) -> bool:
    if filename.startswith("<"):
        return False
    path = Path(filename).resolve()
    return not any(path.is_relative_to(folder) for folder in _OWN_FOLDERS)

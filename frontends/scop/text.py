"""C text as the parser takes it, and where each of its lines comes from.

What a C preprocessor leaves is taken as it is: its line markers say from which file and line a line
comes, and what comes from system headers is left out. A text that needs a preprocessor is put
through the C compiler's (``cc -E``, or what ``CC`` says, with the options in ``CPPFLAGS``, such as
``-DN=100``); for constants of C's headers, ``INT_MAX``, it needs none. Comments, attributes and
GNU's spellings are blanked or replaced in place, so that columns stay what they are.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from polysched.errors import FrontendError
from polysched.frontends.scop.constants import with_constants
from polysched.frontends.source_text import Span

PREPROCESSOR_SECONDS = 30
LARGEST_TEXT = 2_000_000
"""Characters of a text, after the preprocessor, without system headers."""

_MARKER = re.compile(r'\s*#\s*(?:line\s+)?(\d+)\s+"((?:[^"\\]|\\.)*)"((?:\s+\d+)*)\s*$')
_DIRECTIVE = re.compile(r"\s*#\s*([A-Za-z_]\w*)?")
_SYSTEM_INCLUDE = re.compile(r"\s*#\s*include\s*<([^>]*)>\s*$")
_COMMENT_OR_TEXT = re.compile(
    r"//(?:\\[ \t]*\n|[^\n])*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL
)
_CONTINUED = re.compile(r"\\([ \t]*)\n")
_CONTINUED_PRAGMA = re.compile(r"\s*#\s*pragma\b.*\\\s*$")
_SPELLINGS = {
    "__restrict__": "restrict",
    "__restrict": "restrict",
    "__inline__": "inline",
    "__inline": "inline",
    "__const": "const",
    "__volatile__": "volatile",
    "__extension__": "",
}
_SPELLING = re.compile(rf"\b(?:{'|'.join(_SPELLINGS)})\b")
_ATTRIBUTE = re.compile(r"\b(?:__attribute__|__attribute|__asm__)\s*(?=\()")


@dataclass(frozen=True)
class SourceText:
    """A C text, ready to be parsed.

    Attributes:
        path: the file that the user named.
        lines: what is parsed.
        places: for each line the file and the line (from 1) that it comes from.
        originals: the lines of those files, as far as they can be read.
    """

    path: str
    lines: tuple[str, ...]
    places: tuple[tuple[str, int], ...]
    originals: Mapping[str, tuple[str, ...]] = field(repr=False)

    def span(self, line: int, column: int, end_column: int) -> Span:
        """The stretch of the user's own file that a stretch of a parsed line comes from.

        Where a macro stands in the line before it, the line is shown as the preprocessor left it.

        Args:
            line: of the parsed text, from 1.
            column, end_column: from 1; the end is excluded.
        """
        parsed = self.lines[line - 1]
        file, number = self.places[line - 1]
        lines = self.originals.get(file, ())
        original = lines[number - 1] if number <= len(lines) else parsed
        first = _same_place(parsed, original, column - 1)
        last = _same_place(parsed, original, end_column - 2)
        if first is None or last is None:
            return Span(file, number, column, end_column, parsed)
        return Span(file, number, first + 1, max(last, first) + 2, original)


def _same_place(parsed: str, original: str, position: int) -> int | None:
    """Where the character of a parsed line stands in the original, whose blanks may be others."""
    blanked = _without_comments(original) if original != parsed else parsed
    if blanked[: position + 1] == parsed[: position + 1]:
        return position
    wanted = "".join(parsed[: position + 1].split())
    seen = 0
    for place, character in enumerate(blanked):
        if character.isspace():
            continue
        if seen >= len(wanted) or character != wanted[seen]:
            return None
        seen += 1
        if seen == len(wanted):
            return place
    return None


def read_source(path: Path) -> SourceText:
    """The text of a C file.

    Raises:
        FrontendError: the file cannot be read, is no text, or the preprocessor refuses it.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"cannot read '{path}': {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FrontendError(
            f"'{path}' is no C text: byte {content[error.start]:#04x} at offset {error.start} is "
            "not UTF-8; expected a C source file"
        ) from None
    if "\0" in text:
        raise FrontendError(
            f"'{path}' is no C text: it holds a null character; expected a C source file"
        )
    return source_text(text, str(path), preprocessed=_preprocessed(text, path))


def source_text(text: str, path: str, *, preprocessed: str | None = None) -> SourceText:
    """A text as it is parsed.

    Args:
        text: what the user wrote.
        path: how messages name it.
        preprocessed: what a preprocessor has made of it; None: there is nothing to preprocess.

    Raises:
        FrontendError: it is too large, or a comment does not end.
    """
    own = _split(text)
    read = text if preprocessed is None else preprocessed
    lines, places = _own_lines(read, path)
    for line, (file, number) in zip(lines, places, strict=True):
        if _CONTINUED_PRAGMA.match(line):
            raise Span(file, number, 1, len(line) + 1, line).error(
                "a pragma on several lines; expected it on one"
            )
    parsed = _without_comments("\n".join(lines))
    if preprocessed is None:
        parsed = with_constants(parsed, _system_headers(text))
    lines = list(_split(parsed))
    if sum(map(len, lines)) > LARGEST_TEXT:
        raise FrontendError(f"'{path}' is too large; expected at most {LARGEST_TEXT:,} characters")
    originals = {path: own}
    for file in {file for file, _ in places} - {path}:
        originals[file] = _lines_of(Path(file))
    result = SourceText(path, tuple(lines), tuple(places), originals)
    for number, line in enumerate(lines, start=1):
        column = line.find("/*")
        if column >= 0 and not _COMMENT_OR_TEXT.search(line):
            raise result.span(number, column + 1, column + 3).error(
                "this comment does not end; expected '*/'"
            )
    return result


def _system_headers(text: str) -> list[str]:
    """The headers that a text includes in ``<>``."""
    lines = _split(_without_comments(text))
    return [found[1].strip() for line in lines if (found := _SYSTEM_INCLUDE.match(line))]


def _lines_of(path: Path) -> tuple[str, ...]:
    try:
        return _split(path.read_text(errors="replace"))
    except OSError:
        return ()


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _without_comments(text: str) -> str:
    """The text with blanks for comments, joined lines and attributes; every place stays."""

    def blanked(match: re.Match[str]) -> str:
        found = match.group()
        return found if found[0] in "\"'" else _blanks(found)

    text = _CONTINUED.sub(r" \1\n", _COMMENT_OR_TEXT.sub(blanked, text))
    text = _SPELLING.sub(lambda found: _SPELLINGS[found[0]].ljust(len(found[0])), text)
    while (match := _ATTRIBUTE.search(text)) is not None:
        end = _closing(text, match.end())
        text = text[: match.start()] + _blanks(text[match.start() : end]) + text[end:]
    return text


def _closing(text: str, opening: int) -> int:
    """The place behind the bracket that closes the one at a place, or the text's end."""
    depth = 0
    for position in range(opening, len(text)):
        depth += {"(": 1, ")": -1}.get(text[position], 0)
        if depth == 0:
            return position + 1
    return len(text)


def _blanks(text: str) -> str:
    return "".join(one if one in "\n\t" else " " for one in text)


def _own_lines(text: str, path: str) -> tuple[list[str], list[tuple[str, int]]]:
    """The lines that come from no system header, without markers, and whence they come."""
    lines: list[str] = []
    places: list[tuple[str, int]] = []
    file, number = path, 0
    # Inside the user's files the flag 3 marks what a macro of the system stands for.
    system: set[str] = set()
    for line in _split(text):
        number += 1
        marker = _MARKER.match(line)
        if marker is not None:
            file, number = re.sub(r"\\(.)", r"\1", marker[2]), int(marker[1]) - 1
            if {"1", "3"} <= set(marker[3].split()):
                system.add(file)
        elif file == path or (file not in system and not file.startswith("<")):
            lines.append("" if _SYSTEM_INCLUDE.match(line) else line)
            places.append((file, number))
    return lines, places


def _preprocessed(text: str, path: Path) -> str | None:
    """What the C compiler's preprocessor makes of a file, None if it has nothing to do."""
    options = shlex.split(os.environ.get("CPPFLAGS", ""))
    if not options and not any(_directives(text)):
        return None
    compiler = shlex.split(os.environ.get("CC", "cc"))
    command = [*compiler, *options, "-E", "-x", "c", str(path)]
    try:
        done = subprocess.run(
            command, capture_output=True, check=False, timeout=PREPROCESSOR_SECONDS, text=True
        )
    except FileNotFoundError:
        raise FrontendError(
            f"'{path}' needs a C preprocessor, and there is no '{compiler[0]}'; install a C "
            "compiler, set CC, or give the preprocessor's output (cc -E)"
        ) from None
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise FrontendError(f"'{path}': the C preprocessor fails: {error}") from None
    if done.returncode != 0:
        raise FrontendError(f"'{path}': the C preprocessor refuses it:\n{done.stderr.strip()}")
    return done.stdout


def _directives(text: str) -> Iterator[str]:
    """The preprocessor's directives, but for pragmas, markers and includes of system headers."""
    for line in _split(_without_comments(text)):
        match = _DIRECTIVE.match(line)
        if match is None or _MARKER.match(line) or _SYSTEM_INCLUDE.match(line):
            continue
        if match[1] not in (None, "pragma"):
            yield line

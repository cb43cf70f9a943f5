"""Preprocess C source text for the parser, keeping the file and line of every line.

If the text has directives other than pragmas and includes of system headers, it is preprocessed by
the C compiler: ``cc -E``, or the compiler in ``CC``, with the options in ``CPPFLAGS``, such as
``-DN=100``. Text that is already preprocessed is accepted: line markers give the file and line of
each line, and lines of system headers are dropped. Constants of the standard headers, such as
``INT_MAX``, need no preprocessor. Comments, attributes and GNU spellings are blanked or replaced
in place, so that columns are preserved.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from polysched.errors import FrontendError
from polysched.frontends.scop.source.constants import with_constants
from polysched.frontends.source_text import Span

PREPROCESSOR_SECONDS = 30
ASSUME_OPTION = "--assume"
"""File name in messages about a condition that an option gives."""
LARGEST_TEXT = 2_000_000
"""Largest number of characters after preprocessing, without system headers."""

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
_BRACKET = re.compile(r"[()]")
_ATTRIBUTE = re.compile(r"\b(?:__attribute__|__attribute|__asm__)\s*(?=\()")


@dataclass(frozen=True)
class SourceText:
    """C source text, ready to be parsed.

    Attributes:
        path: the user's file.
        lines: the lines to parse.
        origins: the file and line number (from 1) that each line comes from.
        originals: the lines of these files; empty for files that cannot be read.
    """

    path: str
    lines: tuple[str, ...]
    origins: tuple[tuple[str, int], ...]
    originals: Mapping[str, tuple[str, ...]] = field(repr=False)

    def span(self, line: int, column: int, end_column: int) -> Span:
        """Map a range of columns of a parsed line to the user's file.

        If an expanded macro precedes the range, the span shows the preprocessed line instead.

        Args:
            line: line number in the parsed text, from 1.
            column: first column, from 1.
            end_column: column after the last one.
        """
        parsed = self.lines[line - 1]
        file, number = self.origins[line - 1]
        lines = self.originals.get(file, ())
        original = lines[number - 1] if number <= len(lines) else parsed
        first = _original_offset(parsed, original, column - 1)
        last = _original_offset(parsed, original, end_column - 2)
        if first is None or last is None:
            return Span(file, number, column, end_column, parsed)
        return Span(file, number, first + 1, max(last, first) + 2, original)

    def character(self, line: int, column: int) -> Span:
        """Map one character of a parsed line, also if an expanded macro precedes or follows it."""
        span = self.span(line, column, column + 1)
        parsed = self.lines[line - 1]
        lines = self.originals.get(span.path, ())
        if span.line > len(lines) or span.text == lines[span.line - 1]:
            return span
        original = lines[span.line - 1]
        offset = _original_offset_from_end(parsed, original, column - 1)
        if offset is None:
            return span
        return Span(span.path, span.line, offset + 1, offset + 2, original)


def _offset_within(parsed: str, blanked: str, position: int) -> int | None:
    """Map an offset by the text before it, which may differ in white space."""
    wanted = "".join(parsed[: position + 1].split())
    seen = 0
    for offset, character in enumerate(blanked):
        if character.isspace():
            continue
        if seen >= len(wanted) or character != wanted[seen]:
            return None
        seen += 1
        if seen == len(wanted):
            return offset
    return None


def _original_offset_from_end(parsed: str, original: str, position: int) -> int | None:
    """Map an offset in a parsed line to the original line, by the text from there to its end."""
    blanked = _without_comments(original)
    last = _offset_within(parsed[::-1], blanked[::-1], len(parsed) - 1 - position)
    return None if last is None else len(blanked) - 1 - last


def _original_offset(parsed: str, original: str, position: int) -> int | None:
    """Map an offset in a parsed line to the original line, which may differ in white space."""
    blanked = _without_comments(original) if original != parsed else parsed
    if blanked[: position + 1] == parsed[: position + 1]:
        return position
    return _offset_within(parsed, blanked, position)


def read_source(path: Path, options: Sequence[str] = ()) -> SourceText:
    """Read and preprocess a C file.

    Args:
        options: options of the preprocessor, such as ``-DN=100``, beside those in ``CPPFLAGS``.
    """
    try:
        content = path.read_bytes()
    except OSError as error:
        raise FrontendError(f"cannot read '{path}': {error.strerror}") from error
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise FrontendError(
            f"'{path}' is not C text: byte {content[error.start]:#04x} at offset {error.start} is "
            "not UTF-8; expected a C source file"
        ) from None
    if "\0" in text:
        raise FrontendError(
            f"'{path}' is not C text: it contains a null character; expected a C source file"
        )
    return source_text(text, str(path), preprocessed=_preprocessed(text, path, options))


def source_text(text: str, path: str, *, preprocessed: str | None = None) -> SourceText:
    """Prepare C text for the parser.

    Args:
        path: the file name that messages show.
        preprocessed: the output of the preprocessor; None if the text needs none.
    """
    original = _split(text)
    lines, origins = _own_lines(text if preprocessed is None else preprocessed, path)
    for line, (file, number) in zip(lines, origins, strict=True):
        if _CONTINUED_PRAGMA.match(line):
            raise Span(file, number, 1, len(line) + 1, line).error(
                "a pragma on several lines; expected it on one line"
            )
    parsed = _without_comments("\n".join(lines))
    if preprocessed is None:
        parsed = with_constants(parsed, _system_headers(text))
    lines = list(_split(parsed))
    if sum(map(len, lines)) > LARGEST_TEXT:
        raise FrontendError(f"'{path}' is too large; expected at most {LARGEST_TEXT:,} characters")
    originals = {path: original}
    for file in {file for file, _ in origins} - {path}:
        originals[file] = _lines_of(Path(file))
    result = SourceText(path, tuple(lines), tuple(origins), originals)
    for number, line in enumerate(lines, start=1):
        column = line.find("/*")
        if column >= 0 and not _COMMENT_OR_TEXT.search(line):
            raise result.span(number, column + 1, column + 3).error(
                "this comment does not end; expected '*/'"
            )
    return result


def with_assumptions(source: SourceText, conditions: Sequence[str]) -> SourceText:
    """Append conditions on sizes, as pragmas at file scope; messages show them as ``--assume``."""
    if not conditions:
        return source
    lines = tuple(f"#pragma polysched assume {condition}" for condition in conditions)
    origins = tuple((ASSUME_OPTION, number) for number in range(1, len(lines) + 1))
    return replace(
        source,
        lines=(*source.lines, *lines),
        origins=(*source.origins, *origins),
        originals={**source.originals, ASSUME_OPTION: lines},
    )


def _system_headers(text: str) -> list[str]:
    """Return the headers that a text includes in ``<>``."""
    lines = _split(_without_comments(text))
    return [match[1].strip() for line in lines if (match := _SYSTEM_INCLUDE.match(line))]


def _lines_of(path: Path) -> tuple[str, ...]:
    try:
        return _split(path.read_text(errors="replace"))
    except OSError:
        return ()


def _split(text: str) -> tuple[str, ...]:
    return tuple(text.replace("\r\n", "\n").replace("\r", "\n").split("\n"))


def _without_comments(text: str) -> str:
    """Blank out comments, line continuations and attributes; columns are preserved."""

    def blanked(match: re.Match[str]) -> str:
        token = match.group()
        return token if token[0] in "\"'" else _blanks(token)

    text = _CONTINUED.sub(r" \1\n", _COMMENT_OR_TEXT.sub(blanked, text))
    text = _SPELLING.sub(lambda match: _SPELLINGS[match[0]].ljust(len(match[0])), text)
    return _without_attributes(text)


def _without_attributes(text: str) -> str:
    parts, position = [], 0
    for match in _ATTRIBUTE.finditer(text):
        if match.start() >= position:
            end = _closing(text, match.end())
            parts += [text[position : match.start()], _blanks(text[match.start() : end])]
            position = end
    return "".join([*parts, text[position:]])


def _closing(text: str, opening: int) -> int:
    """Return the offset after the bracket that closes the one at `opening`, or the text's end."""
    depth = 0
    for match in _BRACKET.finditer(text, opening):
        depth += 1 if match.group() == "(" else -1
        if depth == 0:
            return match.end()
    return len(text)


def _blanks(text: str) -> str:
    return "".join(character if character in "\n\t" else " " for character in text)


def _own_lines(text: str, path: str) -> tuple[list[str], list[tuple[str, int]]]:
    """Return the lines that are not from system headers, with their file and line number."""
    lines: list[str] = []
    origins: list[tuple[str, int]] = []
    file, number = path, 0
    # Files entered (flag 1) as system headers (flag 3). Inside the user's files, flag 3 alone marks
    # the expansion of a system macro.
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
            origins.append((file, number))
    return lines, origins


def _preprocessed(text: str, path: Path, given: Sequence[str]) -> str | None:
    """Run the C preprocessor on a file; None if the file needs no preprocessing."""
    options = [*shlex.split(os.environ.get("CPPFLAGS", "")), *given]
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
            f"'{path}' needs a C preprocessor, and '{compiler[0]}' is not found; install a C "
            "compiler, set CC, or pass the preprocessor's output (cc -E)"
        ) from None
    except (OSError, subprocess.TimeoutExpired, UnicodeDecodeError) as error:
        raise FrontendError(f"'{path}': the C preprocessor fails: {error}") from None
    if done.returncode != 0:
        raise FrontendError(f"'{path}': the C preprocessor fails:\n{done.stderr.strip()}")
    return done.stdout


def _directives(text: str) -> Iterator[str]:
    """Yield the directives except pragmas, line markers and includes of system headers."""
    for line in _split(_without_comments(text)):
        match = _DIRECTIVE.match(line)
        if match is None or _MARKER.match(line) or _SYSTEM_INCLUDE.match(line):
            continue
        if match[1] not in (None, "pragma"):
            yield line

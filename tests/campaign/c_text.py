"""Random C functions as trees that can be printed and made smaller."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from tests.campaign.drawing import Affine


@dataclass(frozen=True)
class X:
    """An expression of C: its kind ("int" or "float") and text with expressions inside."""

    kind: str
    parts: tuple[str | X, ...]

    def __str__(self) -> str:
        return "".join(map(str, self.parts))


@dataclass(frozen=True)
class S:
    """A statement: text with expressions inside, and what stands in braces behind it."""

    parts: tuple[str | X, ...]
    body: tuple[S, ...] | None = None

    def lines(self, indent: str) -> Iterator[str]:
        head = indent + "".join(map(str, self.parts))
        if self.body is None:
            yield head + ";"
            return
        yield head + " {"
        for one in self.body:
            yield from one.lines(indent + "    ")
        yield indent + "}"


@dataclass(frozen=True)
class Argument:
    """A parameter: a size or a number by value, or an array of affine extents."""

    name: str
    type: str
    role: str
    extents: tuple[Affine, ...] = ()
    flat: bool = False


@dataclass(frozen=True)
class Function:
    """A C function with what stands before it in its file."""

    name: str
    returns: str
    arguments: tuple[Argument, ...]
    before: tuple[str, ...]
    body: tuple[S, ...]
    widths: tuple[tuple[str, Affine], ...] = ()
    """Sizes that are at least so large."""

    def sizes(self) -> tuple[str, ...]:
        widths = dict(self.widths)
        return tuple(
            one.name for one in self.arguments if one.role == "size" and one.name not in widths
        )

    def text(self) -> str:
        passed = ", ".join(_declared(one) for one in self.arguments)
        lines = [f"{self.returns} {self.name}({passed})", "{"]
        lines += [
            f"#pragma polysched shape {one.name}{_brackets(one)}"
            for one in self.arguments
            if one.flat
        ]
        if self.widths:
            lines += [f"#pragma polysched assume {one} >= 0" for one in self.sizes()]
        lines += [
            f"#pragma polysched assume {name} >= {affine_text(least)}"
            for name, least in self.widths
        ]
        for statement in self.body:
            lines += statement.lines("    ")
        return "\n".join([*self.before, *lines, "}", ""])


def affine_text(form: Affine) -> str:
    shown = ""
    for name, coefficient in form.items():
        if not name or not coefficient:
            continue
        term = name if abs(coefficient) == 1 else f"{abs(coefficient)} * {name}"
        sign = "-" if coefficient < 0 else "+"
        shown = f"{shown} {sign} {term}" if shown else (f"-{term}" if sign == "-" else term)
    constant = form.get("", 0)
    if not shown:
        return str(constant)
    return shown if not constant else f"{shown} {'-' if constant < 0 else '+'} {abs(constant)}"


def _brackets(one: Argument) -> str:
    return "".join(f"[{affine_text(extent)}]" for extent in one.extents)


def _declared(one: Argument) -> str:
    if one.role in ("size", "number"):
        return f"{one.type} {one.name}"
    const = "const " if one.role == "const" else ""
    if one.flat:
        return f"{const}{one.type} *restrict {one.name}"
    first, *rest = (affine_text(extent) for extent in one.extents)
    more = "".join(f"[{extent}]" for extent in rest)
    return f"{const}{one.type} {one.name}[restrict {first}]{more}"


# Making smaller


def smaller(function: Function) -> Iterator[Function]:
    """Functions that are a little smaller, the smallest first."""
    for body in _smaller_bodies(function.body):
        yield replace(function, body=body)


def _smaller_bodies(body: tuple[S, ...]) -> Iterator[tuple[S, ...]]:
    for at, one in enumerate(body):
        if not _is_return(one):
            yield body[:at] + body[at + 1 :]
    for at, one in enumerate(body):
        if one.body is not None:
            yield body[:at] + one.body + body[at + 1 :]
            for inner in _smaller_bodies(one.body):
                yield (*body[:at], replace(one, body=inner), *body[at + 1 :])
        for parts in _smaller_parts(one.parts):
            yield (*body[:at], replace(one, parts=parts), *body[at + 1 :])


def _is_return(one: S) -> bool:
    return str(one.parts[0]).startswith("return")


def _smaller_parts(parts: tuple[str | X, ...]) -> Iterator[tuple[str | X, ...]]:
    for at, one in enumerate(parts):
        if isinstance(one, X):
            for less in _smaller_expressions(one):
                yield (*parts[:at], less, *parts[at + 1 :])


def _smaller_expressions(one: X) -> Iterator[X]:
    if not any(isinstance(part, X) for part in one.parts):
        if str(one) not in ("1", "1.0f"):
            yield X(one.kind, ("1" if one.kind == "int" else "1.0f",))
        return
    for part in one.parts:
        if isinstance(part, X) and part.kind == one.kind:
            yield part
    for parts in _smaller_parts(one.parts):
        yield replace(one, parts=parts)

"""Smaller programs and schedules that show the same fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TypeVar

from tests.campaign.description import E, Loop, Node, Program, Statement, loads, statements
from tests.campaign.modelled_steps import Step

Shown = Callable[[Program, tuple[Step, ...]], bool]
T = TypeVar("T")


def shrunk(
    program: Program, steps: tuple[Step, ...], shows: Shown, tries: int = 80
) -> tuple[Program, tuple[Step, ...]]:
    """The smallest of the programs and schedules tried that still shows the fault."""
    left = tries
    changed = True
    while changed:
        changed = False
        for candidate in _smaller(program, steps):
            left -= 1
            if left < 0:
                return program, steps
            if shows(*candidate):
                program, steps = candidate
                changed = True
                break
    return program, steps


def _smaller(
    program: Program, steps: tuple[Step, ...]
) -> Iterator[tuple[Program, tuple[Step, ...]]]:
    for at in reversed(range(len(steps))):
        yield program, steps[:at] + steps[at + 1 :]
    for body in _bodies(program.body):
        if any(True for _ in statements(body)):
            yield _used(replace(program, body=body)), steps


def _used(program: Program) -> Program:
    """The program without the arrays that nothing touches."""
    names: set[object] = set()
    for one in statements(program.body):
        names.add(one.array)
        names |= {load.args[0] for part in (*one.subscripts, one.value) for load in loads(part)}
    return replace(program, arrays=tuple(one for one in program.arrays if one.name in names))


def _bodies(body: tuple[Node, ...]) -> Iterator[tuple[Node, ...]]:
    for at, node in enumerate(body):
        if len(body) > 1:
            yield body[:at] + body[at + 1 :]
        if isinstance(node, Statement):
            for value in _values(node.value):
                yield (*body[:at], replace(node, value=value), *body[at + 1 :])
            continue
        if not isinstance(node, Loop):
            yield body[:at] + node.body + body[at + 1 :]
        for inner in _bodies(node.body):
            yield (*body[:at], replace(node, body=inner), *body[at + 1 :])


def _values(value: E) -> Iterator[E]:
    for at, part in enumerate(value.args):
        if not isinstance(part, E) or value.op == "load":
            continue
        if part.type == value.type and part.op != "lit":
            yield part
        for less in _values(part):
            yield replace(value, args=(*value.args[:at], less, *value.args[at + 1 :]))

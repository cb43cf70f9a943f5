"""What the steps that change order alone do to a tree, as notes/primitives.md describes them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from tests.campaign.orders import Leaf, Loop, Node, Seq, Value, path, rewrite, sequence


class Unmodelled(Exception):
    """The model does not say what this step does."""


@dataclass(frozen=True)
class Step:
    """A call of a method of `polysched.Schedule`."""

    method: str
    args: tuple[Any, ...]
    options: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        shown = [*map(repr, self.args), *(f"{k}={v!r}" for k, v in self.options.items())]
        return f"{self.method}({', '.join(shown)})"


_ASIDE = frozenset({"stream", "transpose"})
"""Steps that change neither order nor memory."""


def applied(tree: Node, step: Step) -> Node:
    """The tree after a step that was accepted.

    Raises:
        Unmodelled: the step does more than change order.
    """
    if step.method in _ASIDE:
        return tree
    known = _STEPS.get(step.method)
    if known is None:
        raise Unmodelled
    return known(tree, *step.args, **step.options)


def find(tree: Node, reference: str) -> Loop:
    statement, _, name = reference.rpartition(".")
    if statement:
        found = [loop for loop in path(tree, statement) if loop.name == name]
    else:
        found = list({id(loop): loop for loop in _loops(tree) if loop.name == name}.values())
    if len(found) != 1 or found[0].opaque:
        raise Unmodelled
    return found[0]


def _loops(node: Node) -> list[Loop]:
    if isinstance(node, Leaf):
        return []
    if isinstance(node, Seq):
        return [loop for part in node.parts for loop in _loops(part)]
    return [node, *_loops(node.body)]


def _base(reference: str) -> str:
    return reference.rpartition(".")[2]


def _mapped(loop: Loop, change: Callable[[Value], Value]) -> dict[str, Value]:
    return {name: change(value) for name, value in loop.values.items()}


def _quotient(factor: int) -> Callable[[Value], Value]:
    return lambda value: lambda env: value(env) // factor


def _rest(factor: int) -> Callable[[Value], Value]:
    return lambda value: lambda env: value(env) % factor


def _cut(loop: Loop, factor: int, outer: str, inner: str, kind: str = "for") -> Loop:
    inside = replace(loop, name=inner, values=_mapped(loop, _rest(factor)), kind=kind)
    return Loop(outer, _mapped(loop, _quotient(factor)), inside)


def split(tree: Node, loop: str, factor: int, into: tuple[str, str] | None = None) -> Node:
    base = _base(loop)
    outer, inner = into or (f"{base}o", f"{base}i")
    return rewrite(tree, find(tree, loop), lambda old: _cut(old, factor, outer, inner))


def vectorize(tree: Node, loop: str, lanes: int, into: str | None = None) -> Node:
    old = find(tree, loop)
    lane = into or f"{old.name}v"
    return rewrite(tree, old, lambda _: _cut(old, lanes, old.name, lane, "vector"))


def tile(tree: Node, loops: tuple[str, ...], factors: tuple[int, ...]) -> Node:
    outer = find(tree, loops[0])
    nest = [find(tree, loop) for loop in loops]
    body: Node = outer
    for loop in nest:
        if body is not loop:
            raise Unmodelled
        body = loop.body
    for loop, factor in reversed(list(zip(nest, factors, strict=True))):
        body = Loop(f"{loop.name}i", _mapped(loop, _rest(factor)), body)
    for loop, factor in reversed(list(zip(nest, factors, strict=True))):
        body = Loop(f"{loop.name}o", _mapped(loop, _quotient(factor)), body)
    return rewrite(tree, outer, lambda _: body)


def reorder(tree: Node, *order: str) -> Node:
    named = [find(tree, loop) for loop in order]
    statement = named[0].names[0]
    around = [loop for loop in path(tree, statement) if any(loop is one for one in named)]
    nest = path(tree, statement)
    first = next(i for i, loop in enumerate(nest) if loop is around[0])
    last = next(i for i, loop in enumerate(nest) if loop is around[-1])
    coming = iter(named)
    placed = [
        next(coming) if any(loop is one for one in named) else loop
        for loop in nest[first : last + 1]
    ]
    body = nest[last].body
    for loop in reversed(placed):
        body = replace(loop, body=body)
    return rewrite(tree, nest[first], lambda _: body)


def skew(tree: Node, loop: str, by: str, factor: int = 1, into: str | None = None) -> Node:
    old, other = find(tree, loop), find(tree, by)

    def delayed(name: str) -> Value:
        own, added = old.values[name], other.values[name]
        return lambda env: own(env) + factor * added(env)

    values = {name: delayed(name) for name in old.values}
    return rewrite(tree, old, lambda _: replace(old, values=values, name=into or old.name))


def shift(tree: Node, loop: str, amount: int, statement: str | None = None) -> Node:
    old = find(tree, loop)

    def later(value: Value) -> Value:
        return lambda env: value(env) + amount

    values = {
        name: later(value) if statement in (None, name) else value
        for name, value in old.values.items()
    }
    return rewrite(tree, old, lambda _: replace(old, values=values))


def reverse(tree: Node, loop: str) -> Node:
    old = find(tree, loop)

    def negative(value: Value) -> Value:
        return lambda env: -value(env)

    return rewrite(tree, old, lambda _: replace(old, values=_mapped(old, negative)))


def _of_kind(tree: Node, loop: str, kind: str) -> Node:
    return rewrite(tree, find(tree, loop), lambda old: replace(old, kind=kind))


def parallel(tree: Node, loop: str) -> Node:
    return _of_kind(tree, loop, "parallel")


def unroll(tree: Node, *loops: str, factor: int | None = None) -> Node:
    for loop in loops:
        if factor is not None:
            name = _base(loop)
            tree = rewrite(
                tree,
                find(tree, loop),
                lambda old, name=name: _cut(old, factor, f"{name}o", f"{name}i", "unrolled"),
            )
        else:
            tree = _of_kind(tree, loop, "unrolled")
    return tree


def fuse(tree: Node, first: str, second: str, into: str | None = None) -> Node:
    one, other = find(tree, first), find(tree, second)
    merged = Loop(
        into or one.name, {**one.values, **other.values}, sequence([one.body, other.body])
    )

    def joined(node: Seq) -> Node:
        at = next(i for i, part in enumerate(node.parts) if part is one)
        if node.parts[at + 1] is not other:
            raise Unmodelled
        return sequence([*node.parts[:at], merged, *node.parts[at + 2 :]])

    parent = _parent(tree, one)
    if parent is None:
        raise Unmodelled
    return rewrite(tree, parent, joined)


def _parent(node: Node, child: Node) -> Seq | None:
    if isinstance(node, Leaf):
        return None
    if isinstance(node, Loop):
        return _parent(node.body, child)
    if any(part is child for part in node.parts):
        return node
    found = (_parent(part, child) for part in node.parts)
    return next((one for one in found if one is not None), None)


def distribute(tree: Node, loop: str, after: str | None = None) -> Node:
    old = find(tree, loop)
    if not isinstance(old.body, Seq):
        raise Unmodelled
    parts = old.body.parts
    if after is not None:
        at = 1 + next(i for i, part in enumerate(parts) if after in part.names)
        parts = tuple(sequence(half) for half in (parts[:at], parts[at:]) if half)

    def loop_of(part: Node) -> Node:
        values = {name: old.values[name] for name in part.names}
        return replace(old, values=values, body=part)

    return rewrite(tree, old, lambda _: sequence([loop_of(part) for part in parts]))


_STEPS: dict[str, Callable[..., Node]] = {
    "split": split,
    "tile": tile,
    "reorder": reorder,
    "skew": skew,
    "shift": shift,
    "reverse": reverse,
    "parallel": parallel,
    "unroll": unroll,
    "vectorize": vectorize,
    "fuse": fuse,
    "distribute": distribute,
}

"""Names in the blocks of loops and branches."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from polysched.frontends.python.expressions.array_calls import copied
from polysched.frontends.python.scope.array_values import ArrayValue, whole
from polysched.frontends.python.scope.bindings import EndedBinding, LocalNumber, indices_of
from polysched.frontends.python.source.liveness import is_changed
from polysched.frontends.python.source.stored_names import assigned, rebound
from polysched.frontends.python.statements.element_stores import ElementStores
from polysched.frontends.python.values.value import Value
from polysched.ir.core.kernel import Role
from polysched.ir.declare.array_handle import ArrayHandle


@contextmanager
def nested_block(
    stores: ElementStores, body: list[ast.stmt], kind: str, indices: tuple[str, ...] | None = None
) -> Iterator[None]:
    """Enter a nested block, and end the bindings of the affine values that it assigns.

    A name assigned in the block has a single value only inside. After the block, and in a loop
    also before the assignment, it has none, so a number that is read there is kept in memory.

    Args:
        kind: the name of the block in messages.
        indices: the indices of the loops that it opens; None for a branch.
    """
    scope = stores.reader.scope
    ended = EndedBinding(
        f"is read outside of a {kind} that gives it a value; give it one before the {kind}"
    )
    changed = [name for name in assigned(body) if name not in indices_of(scope.names.get(name))]
    kept = _kept_arrays(stores, body)
    if indices is not None:
        for name in changed:
            if isinstance(scope.names.get(name), Value):
                scope.names[name] = ended
    before, conditional = dict(scope.names), set(scope.conditional)
    enclosing, scope.kept = scope.kept, scope.kept | kept
    yield
    scope.kept = enclosing
    scope.conditional |= conditional
    for name in changed:
        binding = scope.names.get(name)
        if isinstance(binding, LocalNumber) and not isinstance(before.get(name), LocalNumber):
            scope.conditional.add(name)
        elif isinstance(binding, Value):
            scope.names[name] = ended
        elif isinstance(binding, ArrayHandle | ArrayValue) and before.get(name) is not binding:
            shown = whole(binding) if isinstance(binding, ArrayHandle) else binding
            is_new = indices is None or scope.owned.get(name) is binding
            array = shown if is_new else None
            scope.names[name] = replace(ended, is_number=False, array=array)
    for name in indices or ():
        scope.names[name] = replace(ended, is_number=False)


def _kept_arrays(stores: ElementStores, body: list[ast.stmt]) -> frozenset[str]:
    """The arrays that a block binds anew; an argument that nothing writes is copied first."""
    scope = stores.reader.scope
    kept = []
    for name in rebound(body):
        binding = scope.names.get(name)
        is_array = isinstance(binding, ArrayHandle) and bool(binding.array.shape)
        if not is_array and not isinstance(binding, ArrayValue):
            continue
        kept.append(name)
        if name in scope.kept or not isinstance(binding, ArrayHandle):
            continue
        name_there = name.removeprefix(scope.inlined)
        is_input = binding.array.role is Role.INPUT
        source = stores.reader.source
        if is_input and not is_changed(source.node, name_there, source.outer):
            copy = stores.arrays.temporary(body[0], copied(whole(binding)), name)
            scope.names[name] = scope.owned[name] = copy
    return frozenset(kept)

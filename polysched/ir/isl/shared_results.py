"""Results of pure functions that one search asks for again and again.

Recipes apply the first steps of their proposals to see whether they fit, the search applies all of
them, and later starts propose the same for the nests that they have in common. Statements, trees
and schedules are immutable and compared by identity, so a result holds as long as its arguments
live: :func:`shared_results` keeps both until the search ends.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from typing import Any, TypeVar

import islpy as isl

_Result = TypeVar("_Result")

_RESULTS: ContextVar[dict[Hashable, tuple[tuple[object, ...], Any]] | None] = ContextVar(
    "results", default=None
)
"""For each key the objects whose identities are in it, which are kept alive, and the result."""


@contextmanager
def shared_results() -> Iterator[None]:
    """Keep the results of :func:`remembered` until the end of the block."""
    token = _RESULTS.set({})
    try:
        yield
    finally:
        _RESULTS.reset(token)


def remembered(
    compute: Callable[[], _Result],
    function: Callable[..., object],
    same: tuple[object, ...],
    equal: Hashable = (),
) -> _Result:
    """Compute a result, or return the one of an earlier call in the same block.

    Args:
        function: the function whose result it is, as part of the key.
        same: the arguments that are compared by identity.
        equal: the arguments that are compared by value.
    """
    results = _RESULTS.get()
    if results is None:
        return compute()
    key = (function, tuple(map(id, same)), equal)
    if key not in results:
        results[key] = (same, compute())
    return results[key][1]  # type: ignore[no-any-return]


def equal_values(source: isl.PwAff, sink: isl.PwAff) -> isl.Map:
    """Return the pairs for which two functions have equal values; a search derives them once."""
    return remembered(partial(isl.PwAff.eq_map, source, sink), isl.PwAff.eq_map, (source, sink))

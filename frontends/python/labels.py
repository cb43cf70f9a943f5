"""Names for statements, in a function that runs as plain Python too."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def statement(name: str, order: str | None = None) -> AbstractContextManager[None]:
    """Name the one assignment inside, and say in which order a reduction may combine.

    In plain Python it does nothing; :func:`polysched.kernel` reads it::

        with ps.statement("update", order="any"):
            c[i, j] += a[i, k] * b[k, j]

    Args:
        name: the statement's name.
        order: ``"exact"``, or ``"any"`` where a sum may be reassociated; by default that of the
            kernel.
    """
    del name, order
    return nullcontext()

"""``polysched.statement``: name a statement of a Python kernel, and set its order policy."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext


def statement(name: str, order: str | None = None) -> AbstractContextManager[None]:
    """Name the single assignment inside, and set the order policy of its reduction.

    In plain Python it has no effect; :func:`polysched.kernel` reads it from the source::

        with ps.statement("update", order="any"):
            c[i, j] += a[i, k] * b[k, j]

    Args:
        name: the statement's name.
        order: ``"exact"`` to keep the program's order of combination, ``"any"`` to allow
            reassociation; by default the policy of the kernel.
    """
    del name, order
    return nullcontext()

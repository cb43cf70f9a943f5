"""Advice on making a picture smaller, in the names of the user's kernel."""

from __future__ import annotations

from collections.abc import Sequence


def ways_to_shrink(shown: Sequence[str], parameters: Sequence[str]) -> str:
    """Suggest ways to make a picture smaller, as an imperative sentence.

    Args:
        shown: the statements in the picture.
        parameters: the parameters of the kernel.
    """
    ways = [f"use a smaller '{name}' (--size {name}=...)" for name in parameters[:1]]
    if len(shown) > 1:
        ways.append(f"show one statement (statements=('{shown[0]}',), or --statement {shown[0]})")
    return ", or ".join(ways) or "declare the kernel with smaller sizes"

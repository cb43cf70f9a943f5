"""Dependences as a table for people."""

from __future__ import annotations

from polysched.dependence.relations import Dependence, Reference


def format_dependences(dependences: tuple[Dependence, ...]) -> str:
    """One line for each dependence: kind, array, the two accesses, the relation."""
    rows = [("kind", "array", "source", "sink", "order", "relation")]
    rows += [
        (
            found.kind.value,
            found.array,
            _reference(found.source),
            _reference(found.sink),
            "any" if found.reorderable else "kept",
            found.relation.coalesce().to_str(),
        )
        for found in dependences
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=False)]
        lines.append("  ".join([*cells, row[-1]]))
    return "\n".join(lines) + "\n"


def _reference(reference: Reference) -> str:
    action = "write" if reference.position == 0 else f"read {reference.position}"
    return f"{reference.statement} ({action})"

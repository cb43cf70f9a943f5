"""How much of a source text a frontend takes."""

MOST_STATEMENTS = 1_000
"""Assignments of a kernel: isl takes seconds for more."""
TOO_MANY_STATEMENTS = (
    f"these are more than {MOST_STATEMENTS:,} assignments; expected fewer: use loops, or several "
    "functions"
)

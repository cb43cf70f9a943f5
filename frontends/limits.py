"""Size limits of the source that a frontend accepts."""

MOST_STATEMENTS = 1_000
"""Largest number of assignments in a kernel: isl takes seconds for more."""
TOO_MANY_STATEMENTS = (
    f"the kernel has more than {MOST_STATEMENTS:,} assignments; expected fewer: use loops, or "
    "several functions"
)

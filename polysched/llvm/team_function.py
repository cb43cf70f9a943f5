"""The function that runs a parallel region on a team of threads."""

TEAM = "GOMP_parallel"
"""Its name: that of libgomp, so that exported code links with ``-fopenmp``."""

"""Shortest paths between all pairs of nodes."""

# ruff: noqa: F821  (the sizes in annotations are names of their own)

import polysched as ps


@ps.kernel
def floyd_warshall(path: "i32[n, n]"):
    n = len(path)
    for k in range(n):
        for i in range(n):
            for j in range(n):
                path[i, j] = min(path[i, j], path[i, k] + path[k, j])

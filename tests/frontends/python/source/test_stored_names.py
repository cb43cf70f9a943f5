"""Which names statements assign to."""

import ast

from polysched.frontends.python.source.stored_names import assigned


def test_variables_arrays_and_indices() -> None:
    body = ast.parse(
        """
s = a[i]
b[i][j] = 1
c[k] += 1
for i, j in product(x, y):
    if t > 0:
        u: int = 2
v.w = 3
"""
    ).body
    assert assigned(body) == {"s", "b", "c", "i", "j", "u"}
    assert assigned([]) == frozenset()

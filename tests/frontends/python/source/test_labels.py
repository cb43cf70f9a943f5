"""A label does nothing in plain Python."""

import polysched as ps
from polysched.frontends.python.source.labels import statement


def test_it_is_a_context_that_does_nothing() -> None:
    assert ps.statement is statement
    with statement("update", order="any") as nothing:
        assert nothing is None

from __future__ import annotations

import pytest
from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import EndedBinding, IntegerBinding, size
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.source.parse import parse
from polysched.frontends.scop.source.text import source_text
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index, Parameter


@pytest.fixture
def scope() -> Scope:
    parsed = parse(source_text("int height;", "a.c"))
    found = Scope(parsed.source_map, {}, frozenset({"height"}))
    found.add_parameter("n")
    return found


def test_what_is_proved_depends_on_what_is_around(scope: Scope) -> None:
    n, i = Parameter("n"), Index("i")
    assert not scope.proves(n >= 1)
    with scope.assuming(n >= 3):
        assert scope.proves(n >= 1)
    assert not scope.proves(n >= 1)
    with scope.loop("i", n - 1, n - 9, -2):
        assert scope.proves(i <= n - 1)
        assert scope.proves(i > n - 9)
        assert not scope.proves(i >= 0)
    with scope.loop("i", n, n, 1):
        assert not scope.is_reached()
    assert scope.is_reached()


def test_what_is_not_affine_is_not_proved(scope: Scope) -> None:
    assert not scope.proves(Parameter("n") * Parameter("n") >= 0)


def test_names_end_with_their_block(scope: Scope) -> None:
    scope.bind("n", size("n", i32))
    with scope.block():
        scope.bind("n", IntegerBinding(Index("i"), i32))
        found = scope.find("n")
        assert isinstance(found, IntegerBinding)
        assert found.is_index
    assert scope.find("n") == size("n", i32)
    assert scope.find("m") is None


def test_messages_of_unknown_names(scope: Scope) -> None:
    with pytest.raises(FrontendError, match="'heigth' is not declared; did you mean 'height'?"):
        scope.lookup(c_ast.ID("heigth"))
    scope.bind("i", EndedBinding(c_ast.ID("i"), i32))
    with pytest.raises(FrontendError, match="'i' is a loop variable and is used outside"):
        scope.lookup(c_ast.ID("i"))

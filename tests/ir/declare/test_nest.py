import islpy as isl

from polysched.ir.core.tree import Leaf, Loop, Sequence
from polysched.ir.declare.nest import Nest
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.expressions import Constant, Expression, Index, Parameter
from polysched.ir.expr.functions import equal

n, i, j = Parameter("n"), Index("i"), Index("j")


def count(nest: Nest, index: str, lower: int = 0, upper: int | Expression = 4) -> None:
    end = upper if isinstance(upper, Expression) else Constant(upper)
    nest.open_loop(index, Constant(lower), end, 1)


def test_the_tree_is_the_nest_as_written() -> None:
    nest = Nest()
    nest.add("s")
    with nest.scope():
        count(nest, "i")
        nest.add("a")
        with nest.scope():
            count(nest, "j")
            nest.open_condition(j < 2)
            nest.add("b")
    spaces = {
        name: instance_space((), name, indices)
        for name, indices in (("s", ()), ("a", ("i",)), ("b", ("i", "j")))
    }
    body = nest.tree(spaces)
    assert isinstance(body, Sequence)
    first, outer = body.children
    assert isinstance(first, Leaf)
    assert isinstance(outer, Loop)
    assert (outer.name, list(outer.values)) == ("i", ["a", "b"])
    assert outer.values["b"].is_equal(isl.PwAff("{ b[i, j] -> [i] }"))
    assert isinstance(outer.body, Sequence)
    leaf, inner = outer.body.children
    assert isinstance(leaf, Leaf)
    assert isinstance(inner, Loop)
    assert (leaf.statement, inner.name, list(inner.values)) == ("a", "j", ["b"])


def test_instances_are_what_loops_and_conditions_leave() -> None:
    nest = Nest()
    count(nest, "i", upper=n)
    nest.open_condition(equal(i % 2, 0))
    nest.open_loop("j", Constant(1), i + 1, 3)
    expected = "[n] -> { s[i, j] : 0 <= i < n and i mod 2 = 0 and 1 <= j <= i and j mod 3 = 1 }"
    assert nest.indices == ("i", "j")
    assert nest.instances(instance_space(("n",), "s", nest.indices)).is_equal(isl.Set(expected))


def test_what_literals_alone_leave() -> None:
    nest = Nest()
    count(nest, "i", lower=5, upper=n)
    count(nest, "j", lower=2)
    nest.open_condition(j < n)
    literal = nest.instances(instance_space(("n",), "s", nest.indices), literal=True)
    assert literal.is_equal(isl.Set("[n] -> { s[i, j] : 2 <= j < 4 }"))


def test_a_scope_closes_what_is_opened_inside() -> None:
    nest = Nest()
    count(nest, "i")
    with nest.scope():
        count(nest, "j")
        nest.open_condition(j < 2)
    assert nest.is_open
    assert nest.indices == ("i",)
    assert [nest.has_had(name) for name in "ijk"] == [True, True, False]


def test_a_scope_ends_with_an_error() -> None:
    nest = Nest()
    scope = nest.scope()
    scope.__enter__()
    count(nest, "i")
    passed_on = not scope.__exit__(ValueError, ValueError("from inside"), None)
    assert passed_on
    assert not nest.is_open

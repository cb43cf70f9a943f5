import pytest

from polysched.ir.expr.dtypes import f32, i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Parameter
from polysched.ir.expr.functions import cast
from polysched.ir.expr.traversal import (
    children,
    depth,
    loads,
    node_count,
    rebuild,
    transform,
    walk,
)

i, j, n = Index("i"), Index("j"), Parameter("n")
x, y = Load("x", (i, j + 1), f32), Load("y", (), f32)


def test_walk_visits_operands_first() -> None:
    tree = x + Constant(2.0, f32)
    assert [str(node) for node in walk(tree)] == [
        "i",
        "j",
        "1",
        "(j + 1)",
        "x[i, (j + 1)]",
        "2.0",
        "(x[i, (j + 1)] + 2.0)",
    ]


def test_loads_in_evaluation_order() -> None:
    assert loads(y * x + y) == (y, x, y)


@pytest.mark.parametrize("node", [i, x, x + y, cast(x, i32), Constant(1)])
def test_rebuild_of_the_children_is_the_node(node: Expression) -> None:
    assert rebuild(node, children(node)) == node


def test_transform_replaces_bottom_up() -> None:
    renamed = transform(x + cast(i, f32), lambda node: n if node == i else None)
    assert renamed == Load("x", (n, j + 1), f32) + cast(n, f32)


def test_depth_and_count_of_shared_subtrees() -> None:
    shared: Expression = y
    for _ in range(60):
        shared = shared + shared
    assert depth(shared) == 61
    assert node_count(shared) == 2**61 - 1


def test_what_nothing_is_replaced_in_stays_the_same_object() -> None:
    i, j = Index("i"), Index("j")
    kept = i + 1
    expression = kept * (j + 2)
    assert transform(expression, lambda node: None) is expression
    made = transform(expression, lambda node: i if node == j else None)
    assert made == kept * (i + 2)
    assert children(made)[0] is kept

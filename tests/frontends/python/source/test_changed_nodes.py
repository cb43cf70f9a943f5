"""Changed copies of syntax trees."""

import ast

from polysched.frontends.python.source.changed_nodes import with_fields


def test_a_changed_copy_leaves_the_node_as_it_is() -> None:
    node = ast.parse("x[i]", mode="eval").body
    assert isinstance(node, ast.Subscript)
    changed = with_fields(node, slice=ast.Constant(3))
    assert (ast.unparse(changed), ast.unparse(node)) == ("x[3]", "x[i]")
    assert changed.value is node.value


def test_the_same_fields_give_the_same_node() -> None:
    node = ast.parse("x[i]", mode="eval").body
    assert isinstance(node, ast.Subscript)
    assert with_fields(node, slice=node.slice) is node

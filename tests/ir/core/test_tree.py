from polysched.ir.core.tree import (
    Leaf,
    Loop,
    LoopKind,
    Node,
    Sequence,
    executed,
    loops,
    map_children,
    path,
    replace_node,
    restrict,
    sequence,
    statements,
    time_columns,
)
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def leaf(name: str) -> Leaf:
    return Leaf(name)


def around(name: str, body: Node, kind: LoopKind = LoopKind.SEQUENTIAL) -> Loop:
    lanes = 4 if kind is LoopKind.VECTOR else 1
    value = next(iter(Schedule(kernels.scale()).program.statements.values())).domain
    zero = value.dim_max(0)
    return Loop(name, dict.fromkeys(statements(body), zero), body, kind, lanes)


def shape(node: Node) -> object:
    match node:
        case Leaf(statement=statement):
            return statement
        case Loop(name=name, body=body):
            return {name: shape(body)}
        case Sequence(children=children):
            return [shape(child) for child in children]


S, T, U, V = leaf("S"), leaf("T"), leaf("U"), leaf("V")
INNER = around("j", sequence([S, T]))
TREE = around("i", sequence([INNER, U]))


def test_sequences_are_flat() -> None:
    assert shape(sequence([S, sequence([T, U])])) == ["S", "T", "U"]
    assert sequence([S]) is S


def test_statements_in_order() -> None:
    assert statements(TREE) == ("S", "T", "U")


def test_loops_from_the_outside() -> None:
    assert [loop.name for loop in loops(TREE)] == ["i", "j"]


def test_path_to_a_statement() -> None:
    assert path(TREE, "T") == (TREE, INNER)
    assert path(TREE, "U") == (TREE,)


def test_one_node_is_replaced() -> None:
    changed = replace_node(TREE, INNER, around("k", INNER.body))
    assert shape(changed) == {"i": [{"k": ["S", "T"]}, "U"]}
    assert shape(TREE) == {"i": [{"j": ["S", "T"]}, "U"]}


def test_replacing_a_stranger_changes_nothing() -> None:
    assert replace_node(TREE, around("j", S), S) is TREE


def test_a_sequence_in_the_place_of_a_node_is_flat() -> None:
    changed = replace_node(TREE, INNER, INNER.body)
    assert shape(changed) == {"i": ["S", "T", "U"]}


def test_children_are_mapped_and_their_sequence_is_flat() -> None:
    assert shape(map_children(TREE.body, lambda child: sequence([child, V]))) == [
        {"j": ["S", "T"]},
        "V",
        "U",
        "V",
    ]
    assert map_children(S, lambda child: V) is S


def test_restricted_to_some_statements() -> None:
    kept = restrict(TREE, {"S", "U"})
    assert kept is not None
    assert shape(kept) == {"i": [{"j": "S"}, "U"]}
    assert all(set(loop.values) <= {"S", "U"} for loop in loops(kept))
    assert restrict(TREE, {"nothing"}) is None


def test_vector_loops_run_around_each_statement() -> None:
    inner = around("k", sequence([S, T]))
    tree = around("v", sequence([inner, U]), LoopKind.VECTOR)
    made = executed(tree)
    assert shape(made) == [{"k": [{"v": "S"}, {"v": "T"}]}, {"v": "U"}]
    assert all(len(loop.values) == 1 for loop in loops(made) if loop.kind is LoopKind.VECTOR)


def test_times_are_loops_and_positions() -> None:
    assert time_columns(TREE, "S") == (TREE.values["S"], 0, INNER.values["S"], 0)
    assert time_columns(TREE, "T") == (TREE.values["T"], 0, INNER.values["T"], 1)
    assert time_columns(TREE, "U") == (TREE.values["U"], 1)
    assert time_columns(S, "S") == ()

from polysched.dependence.relations import DependenceKind
from polysched.plot.palette import line_of, marker


def test_each_kind_of_dependence_looks_different() -> None:
    lines = [line_of(kind, reorderable=False) for kind in DependenceKind]
    assert len({(line.style, line.color) for line in lines}) == 3
    assert len({line.bend for line in lines}) == 3


def test_what_may_be_reordered_is_paler() -> None:
    for kind in DependenceKind:
        assert line_of(kind, reorderable=True).alpha < line_of(kind, reorderable=False).alpha


def test_statements_have_shapes_of_their_own() -> None:
    assert len({marker(position) for position in range(8)}) == 8
    assert marker(8) == marker(0)

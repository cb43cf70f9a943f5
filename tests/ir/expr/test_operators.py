import pickle

from polysched.ir.expr.operators import (
    COMPARISONS,
    FLOAT_ONLY,
    INTEGER_ONLY,
    LIBRARY_BINARY,
    LIBRARY_UNARY,
    LOGICAL,
    Operator,
)


def test_no_operation_is_for_floats_only_and_for_integers_only() -> None:
    assert not FLOAT_ONLY & INTEGER_ONLY
    assert not COMPARISONS & LOGICAL


def test_calls_of_the_c_library_are_of_floats() -> None:
    assert LIBRARY_UNARY | LIBRARY_BINARY <= FLOAT_ONLY
    assert not LIBRARY_UNARY & LIBRARY_BINARY


def test_a_spelling_means_one_operation() -> None:
    assert Operator("<=") is Operator.LESS_EQUAL
    assert len({one.value for one in Operator}) == len(Operator)


def test_they_are_found_by_identity() -> None:
    """Expressions that are keys are hashed some hundred thousand times in a compilation."""
    assert hash(Operator.ADD) == object.__hash__(Operator.ADD)
    assert pickle.loads(pickle.dumps(Operator.ADD)) is Operator.ADD

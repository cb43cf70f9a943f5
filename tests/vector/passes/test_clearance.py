"""Whether an access that moves ever comes to a box that stays."""

from collections.abc import Sequence

from polysched.ir.expr.expressions import Index, Operand, Parameter, as_expression
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.linear_form import Intervals
from polysched.loops.ir.nodes import For
from polysched.vector.passes.clearance import is_clear
from tests.loops.programs import assign, load, loop, vector

i, j, k, v, n = Index("i"), Index("j"), Index("k"), Index("v"), Parameter("n")
BODY = assign("y", (0,), load("y", 0))


def clear(
    place: Sequence[Operand],
    access: Sequence[Operand],
    *around: For,
    extents: Sequence[int] | None = None,
    known: Intervals | None = None,
) -> bool:
    return is_clear(
        [linear_form(as_expression(one), {}) for one in place],
        extents or [1] * len(place),
        [as_expression(one) for one in access],
        around,
        known or {},
    )


def test_up_to_the_place_and_behind_it() -> None:
    assert clear([n], [k], loop("k", 0, n, BODY))
    assert not clear([n], [k], loop("k", 0, n + 1, BODY))
    assert clear([n], [k], loop("k", n + 1, 2 * n, BODY))
    assert not clear([n], [k], loop("k", n, 2 * n, BODY))


def test_a_box_has_an_end() -> None:
    behind = loop("k", n + 8, 2 * n, BODY)
    assert clear([n], [k], behind, extents=[8])
    assert not clear([n], [k], behind, extents=[9])
    assert clear([n], [k - 1], behind, extents=[7])


def test_one_dimension_is_enough() -> None:
    assert clear([i, n], [i, k], loop("k", 0, n, BODY))
    assert not clear([i, n], [i, k], loop("k", 0, 2 * n, BODY))
    assert clear([i, n], [i + 1, k], loop("k", 0, 2 * n, BODY))


def test_of_a_minimum_every_operand_bounds() -> None:
    assert clear([8 * i], [k], loop("k", 0, minimum(minimum(n, 8 * i), j), BODY))
    assert not clear([8 * i], [k], loop("k", 0, maximum(n, 8 * i), BODY))
    assert clear([8 * i], [k], loop("k", maximum(n, 8 * i + 1), 2 * n, BODY))
    assert not clear([8 * i], [k], loop("k", minimum(n, 8 * i + 1), 2 * n, BODY))


def test_bounds_by_loops_further_out() -> None:
    outer = loop("j", 0, i, BODY)
    assert clear([8 * i], [k], outer, loop("k", 8 * j, 8 * j + 8, BODY))
    assert not clear([8 * i], [k], outer, loop("k", 8 * j, 8 * j + 9, BODY))
    assert clear([i], [k - 2 * j], outer, loop("k", j, 2 * j, BODY), known={"i": (0, None)})
    assert not clear([0], [k - 2 * j], outer, loop("k", j, 2 * j + 1, BODY))


def test_lanes_count() -> None:
    block = loop("j", 0, i, BODY)
    assert clear([8 * i], [8 * j + v], block, vector("v", 0, 8, BODY))
    assert not clear([8 * i], [8 * j + v + 1], block, vector("v", 0, 8, BODY))


def test_what_is_known_of_a_name_outside_says_nothing_of_a_loop() -> None:
    """A loop of the region may be called as one before it."""
    known = {"k": (0, 3), "n": (4, None)}
    assert clear([n], [k], known=known)
    assert not clear([n], [k // 2 + k // 3], loop("k", 0, 2 * n, BODY), known=known)
    assert not clear([n], [k], loop("k", 0, 2 * n, BODY), known=known)


def test_what_cannot_be_told() -> None:
    assert not clear([0], [load("q", k)], loop("k", 0, 9, BODY))
    assert not clear([n], [k], loop("k", 0, load("q", 0), BODY))
    assert not clear([n], [n])

from itertools import product

import islpy as isl
import pytest
from hypothesis import assume, given

from polysched.errors import KernelError
from polysched.ir.expr.affine import (
    from_aff,
    from_pw_aff,
    from_set,
    instance_space,
    to_pw_aff,
    to_set,
    weighted_sum,
)
from polysched.ir.expr.dtypes import f32, i64
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Parameter
from polysched.ir.expr.functions import equal, maximum, minimum, not_equal, select, sqrt
from polysched.ir.semantics.points import evaluate_many
from tests.support.expression_strategies import index_expressions

i, j, n = Index("i"), Index("j"), Parameter("n")
SPACE = instance_space(["n"], "S", ["i", "j"])
SAMPLES = [
    {"i": a, "j": b, "n": c} for a, b, c in product((-5, -1, 0, 2, 7), (-4, 0, 3), (0, 1, 6))
]


def value_at(function: isl.PwAff, point: dict[str, int]) -> int:
    place = isl.Set(f"[n] -> {{ S[{point['i']}, {point['j']}] : n = {point['n']} }}")
    image = isl.Map.from_pw_aff(function).intersect_domain(place).range()
    return int(image.dim_max_val(0).to_python())


def test_instance_space_names_everything() -> None:
    universe = isl.Set.universe(instance_space(["n", "m"], "S", ["i"]))
    assert universe.is_equal(isl.Set("[n, m] -> { S[i] }"))


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (2 * i - j + n + 3, "[n] -> { S[i, j] -> [2i - j + n + 3] }"),
        (-i, "[n] -> { S[i, j] -> [-i] }"),
        ((i + 2 * j) // 3, "[n] -> { S[i, j] -> [floor((i + 2j)/3)] }"),
        ((i - n) % 4, "[n] -> { S[i, j] -> [(i - n) mod 4] }"),
        (minimum(i, j), "[n] -> { S[i, j] -> [i] : i <= j; S[i, j] -> [j] : i > j }"),
        (maximum(i, 0), "[n] -> { S[i, j] -> [i] : i >= 0; S[i, j] -> [0] : i < 0 }"),
        (
            select((i < j) & (i >= 0), i, n),
            "[n] -> { S[i, j] -> [i] : 0 <= i < j; S[i, j] -> [n] : i < 0 or i >= j }",
        ),
        (
            select(~(i < 3) | equal(j, 1), 1, 2),
            "[n] -> { S[i, j] -> [1] : i >= 3 or j = 1; S[i, j] -> [2] : i < 3 and j != 1 }",
        ),
    ],
)
def test_to_pw_aff(expression: Expression, expected: str) -> None:
    assert to_pw_aff(expression, SPACE).is_equal(isl.PwAff(expected))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        (i * j, r"'\(i \* j\)' is not affine: one factor of a product must be a literal"),
        (i // n, r"'\(i // n\)' is not affine: a divisor must be a positive literal"),
        (i % -2, "a divisor must be a positive literal"),
        (Constant(0.5), "'0.5' is not affine: only indices, parameters and integers"),
        (Load("x", (i,), i64) + 1, r"'x\[i\]' is not affine"),
        (sqrt(Load("x", (i,), f32)), r"is not affine"),
        (Index("k") + 1, "index 'k' is not in scope here; in scope are i, j"),
        (Parameter("m"), "parameter 'm' is not in scope here; in scope are n"),
    ],
)
def test_what_is_not_affine(expression: Expression, message: str) -> None:
    with pytest.raises(KernelError, match=message):
        to_pw_aff(expression, SPACE)


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        (i < j, "i < j"),
        (i <= n, "i <= n"),
        (equal(i % 2, 1), "i mod 2 = 1"),
        (not_equal(i, j), "i != j"),
        (~((i < 0) | (j < 0)), "i >= 0 and j >= 0"),
        ((i >= 0) & (i + j < n), "i >= 0 and i + j < n"),
    ],
)
def test_to_set(condition: Expression, expected: str) -> None:
    assert to_set(condition, SPACE).is_equal(isl.Set(f"[n] -> {{ S[i, j] : {expected} }}"))


def test_what_is_no_condition() -> None:
    with pytest.raises(KernelError, match=r"'\(i \+ 1\)' is not an affine condition; expected"):
        to_set(i + 1, SPACE)


@pytest.mark.parametrize(
    "text",
    [
        "i - 2j + 3n - 4",
        "floor((i + 2j - n)/3)",
        "2*floor((i + floor((j + n)/4))/3) + (i mod 5) - 1",
        "-i - j",
        "0",
    ],
)
def test_from_aff_has_the_same_values(text: str) -> None:
    function = isl.PwAff(f"[n] -> {{ S[i, j] -> [{text}] }}")
    ((_, aff),) = function.get_pieces()
    for point in SAMPLES:
        assert evaluate_many(from_aff(aff), point) == value_at(function, point)


def test_from_aff_rounds_a_fraction_down() -> None:
    aff = isl.Aff("[n] -> { S[i, j] -> [(i + 2j + 1)/2] }")
    assert from_aff(aff) == (i + 2 * j + 1) // 2


@given(index_expressions())
def test_expressions_keep_their_values_through_isl(expression: Expression) -> None:
    try:
        function = to_pw_aff(expression, SPACE)
    except KernelError as error:
        assume("not affine" not in str(error))
        raise
    back = from_pw_aff(function)
    for point in SAMPLES[::4]:
        expected = evaluate_many(expression, point)
        assert evaluate_many(back, point) == expected == value_at(function, point)


@pytest.mark.parametrize(
    "text",
    [
        "0 <= i < n and 0 <= j <= i",
        "i < 0 or j > n or i = 3",
        "(i + j) mod 3 = 1",
        "exists e : i = 2e and 2j <= 3e <= 2j + 5",
        "true",
        "1 = 0",
    ],
)
def test_from_set_holds_exactly_on_the_points(text: str) -> None:
    domain = isl.Set(f"[n] -> {{ S[i, j] : {text} }}")
    condition = from_set(domain)
    assert to_set(condition, SPACE).is_equal(domain)
    for point in SAMPLES:
        place = isl.Set(f"[n] -> {{ S[{point['i']}, {point['j']}] : n = {point['n']} }}")
        assert bool(evaluate_many(condition, point)) == place.is_subset(domain)


def test_from_set_of_parameters() -> None:
    condition = from_set(isl.Set("[n, m] -> { : 1 <= n <= m }"))
    pairs = set(product(range(4), range(4)))
    found = {(n, m) for n, m in pairs if evaluate_many(condition, {"n": n, "m": m})}
    assert found == {(n, m) for n, m in pairs if 1 <= n <= m}


@pytest.mark.parametrize(
    ("terms", "constant", "expected"),
    [
        ([], 0, "0"),
        ([], -3, "-3"),
        ([(1, i)], 0, "i"),
        ([(-1, i)], 2, "((-i) + 2)"),
        ([(-1, i), (2, j)], -5, "(((2 * j) - i) - 5)"),
        ([(3, i), (1, n)], 1, "(((3 * i) + n) + 1)"),
    ],
)
def test_weighted_sum(terms: list[tuple[int, Expression]], constant: int, expected: str) -> None:
    assert str(weighted_sum(terms, constant)) == expected

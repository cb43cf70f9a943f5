import islpy as isl
import numpy as np
import pytest

from polysched.errors import CallError, KernelError
from polysched.ir.expr.dtypes import f32
from polysched.ir.expr.expressions import Index, Load
from polysched.ir.expr.functions import maximum, minimum
from polysched.ir.semantics.points import at_parameters, evaluate_many, points, values

DOMAINS = [
    "[n] -> { S[i, j] : 0 <= i < n and 0 <= j <= i }",
    "[n] -> { S[i, j] : 0 <= i < n and -3 <= j < n and (i + 2j) mod 3 = 1 }",
    "[n] -> { S[i] : (0 <= i < n and i mod 2 = 0) or i = 13 }",
    "[n] -> { S[i] : exists e, f : i = 3e + 5f and 0 <= f <= e and 0 <= i < n }",
    "[n] -> { S[i, j, k] : 0 <= i < n and 4j <= i < 4j + 4 and 2i <= 3k <= 2i + 4 }",
    "[n] -> { S[] : n > 3 }",
    "[n] -> { S[] }",
    "[n] -> { S[i] : 1 = 0 }",
]


@pytest.mark.parametrize("text", DOMAINS)
@pytest.mark.parametrize("n", [0, 1, 3, 7])
def test_points_are_those_of_isl(text: str, n: int) -> None:
    domain = isl.Set(text)
    found: list[tuple[int, ...]] = []
    rank = domain.dim(isl.dim_type.set)
    at_parameters(domain, {"n": n}).foreach_point(
        lambda point: found.append(
            tuple(
                point.get_coordinate_val(isl.dim_type.set, position).to_python()
                for position in range(rank)
            )
        )
    )
    rows = points(domain, {"n": n})
    assert rows.shape == (len(found), rank)
    assert list(map(tuple, rows.tolist())) == sorted(found)


def test_points_beyond_one_chunk() -> None:
    rows = points(isl.Set("{ S[i, j] : 0 <= i < 300 and i <= j < 300 }"), {})
    assert len(rows) == 300 * 301 // 2
    assert rows[-1].tolist() == [299, 299]


def test_unbounded_domain_is_refused() -> None:
    with pytest.raises(KernelError, match=r"unbounded in dimension 1"):
        points(isl.Set("{ S[i, j] : 0 <= i < 3 and j >= 0 }"), {})


def test_a_missing_parameter_is_named() -> None:
    with pytest.raises(CallError, match="parameter 'n' has no value"):
        points(isl.Set("[n] -> { S[i] : 0 <= i < n }"), {})


@pytest.mark.parametrize(
    "text",
    [
        "[n] -> { S[i, j] -> [2i - j + n] }",
        "[n] -> { S[i, j] -> [floor((i + 2j)/3) + (j mod 4)] }",
        "[n] -> { S[i, j] -> [i] : i >= j; S[i, j] -> [n - j] : i < j }",
        "[n] -> { S[i, j] -> [7] }",
    ],
)
def test_values_are_those_of_isl(text: str) -> None:
    function = isl.PwAff(text)
    rows = points(isl.Set("{ S[i, j] : -4 <= i < 5 and -3 <= j < 6 }"), {})
    found = values(function, rows, {"n": 11})
    for (i, j), value in zip(rows.tolist(), found.tolist(), strict=True):
        image = isl.Map.from_pw_aff(function).intersect_domain(
            isl.Set(f"[n] -> {{ S[i, j] : i = {i} and j = {j} and n = 11 }}")
        )
        assert image.range().dim_max_val(0).to_python() == value


def test_evaluate_many_refuses_what_is_not_affine() -> None:
    with pytest.raises(KernelError, match=r"'x\[i\]' is not quasi-affine"):
        evaluate_many(Load("x", (Index("i"),), f32), {"i": np.arange(3)})


def test_integers_of_python_are_exact_at_any_length() -> None:
    i = Index("i")
    at = {"i": -(2**63) + 2}
    assert evaluate_many((3 * i) % 10, at) == 3 * at["i"] % 10
    assert evaluate_many(maximum(5 * i, -i) - minimum(7 * i, i), at) == -at["i"] - 7 * at["i"]

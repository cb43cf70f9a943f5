"""Contractions against numpy's einsum: shapes, types and values."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import polysched as ps
from tests.support.effort import cases, covering, sampled

CASES = [
    ("ij,jk->ik", (5, 6), (6, 7)),
    ("ij,jk->ki", (5, 6), (6, 7)),
    ("ij,kj", (5, 6), (7, 6)),
    ("bij,bjk->bik", (3, 5, 6), (3, 6, 7)),
    ("bhqd,bhkd->bhqk", (2, 3, 5, 4), (2, 3, 6, 4)),
    ("ijk,kl->lij", (3, 4, 5), (5, 6)),
    ("ij,j", (5, 6), (6,)),
    ("j,ij", (6,), (5, 6)),
    ("i,i", (9,), (9,)),
    ("ij,ij->", (3, 4), (3, 4)),
    ("bi,bi->b", (3, 40), (3, 40)),
    ("i,j->ij", (3,), (4,)),
    ("ij,ij->ij", (3, 4), (3, 4)),
    ("bij,bj->jbi", (2, 3, 4), (2, 4)),
    (",ij->ij", (), (2, 3)),
    (",", (), ()),
    ("ii", (4, 4)),
    ("ii->i", (4, 4)),
    ("aba->b", (3, 4, 3)),
    ("aaa->a", (3, 3, 3)),
    ("ij->ji", (3, 4)),
    ("ij->", (3, 4)),
    ("ij->j", (3, 4)),
    ("i...->...", (3, 4, 5)),
    ("", ()),
    ("iij,jk->ik", (3, 3, 4), (4, 5)),
    ("aab,bcc->ac", (3, 3, 4), (4, 5, 5)),
    ("ij,jk->k", (3, 4), (4, 5)),
    ("ij,kl->", (3, 4), (4, 5)),
    ("...ij,...jk->...ik", (2, 1, 3, 4), (5, 4, 6)),
    ("...ij,jk", (2, 3, 4), (4, 6)),
    (" i j , j k -> i k ", (2, 3), (3, 4)),
    ("ij,jk", (3, 1), (4, 5)),
    ("ij,jk", (0, 3), (3, 2)),
    ("ij,jk", (2, 0), (0, 2)),
    ("i->", (0,)),
    ("ij,jk,ki->", (3, 4), (4, 5), (5, 3)),
    ("i,j,k->ijk", (2,), (3,), (4,)),
    ("ijk,kl,lm->ijm", (3, 4, 5), (5, 6), (6, 2)),
    ("abc,cd,be,ef->adf", (2, 3, 4), (4, 5), (3, 6), (6, 7)),
    ("...a,ab,b...->...", (2, 3), (3, 4), (4, 2)),
    ("ijk->ki", (3, 4, 5)),
    ("ijkl->ik", (3, 4, 5, 6)),
    ("ijkl->lj", (3, 4, 5, 6)),
    ("ijklm->jl", (3, 4, 5, 6, 2)),
    ("ijk,jlk->il", (3, 4, 5), (4, 6, 5)),
    ("abc,bd->adc", (20, 3, 4), (3, 5)),
    ("abcd,be->dcae", (2, 3, 20, 4), (3, 5)),
    ("abc,adc->bd", (2, 3, 4), (2, 5, 4)),
    ("bacd,bde->cbae", (2, 3, 20, 4), (2, 4, 5)),
]


def operands(shapes: tuple[tuple[int, ...], ...], dtype: str = "f4") -> list[np.ndarray]:
    generator = np.random.default_rng(len(shapes))
    return [np.asarray(generator.integers(-4, 5, shape)).astype(dtype) for shape in shapes]


def agree(text: str, *arrays: Any) -> None:
    expected = np.einsum(text, *arrays)
    np.testing.assert_array_equal(
        ps.einsum(text, *arrays), np.asarray(expected, expected.dtype), strict=True
    )


@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0] or "empty")
def test_results_are_those_of_numpy(case: Any) -> None:
    text, *shapes = case
    agree(text, *operands(tuple(shapes)))


@covering(
    1,
    dtype="f8 i1 u1 i2 u2 i4 u4 i8 u8".split(),
    text=["ij,jk", "ij,ij->j", "ij,ij->ij", "ij,jk->j"],
)
def test_all_types_of_elements(text: str, dtype: str) -> None:
    generator = np.random.default_rng(0)
    a = generator.integers(0, 120, (6, 6)).astype(dtype)
    agree(text, a, a.copy())


def test_mixed_types_are_promoted() -> None:
    a, b = operands(((3, 4),), "i2")[0], operands(((4, 5),), "f8")[0]
    agree("ij,jk", a, b)


def test_views_of_any_layout() -> None:
    (big,) = operands(((4, 6, 8),))
    agree("ijk,lk", big[:, ::2, ::-1], big[0, ::-1])
    agree("ij,jk", big[0].T, big[1])
    agree("kij,kjl->kil", big.transpose(0, 2, 1), big)
    agree("ij->i", big[:, 1])
    agree("ij->j", np.asfortranarray(big[0]))


def test_the_result_goes_where_it_is_asked_to() -> None:
    a, b = operands(((3, 4), (4, 5)))
    out = np.zeros((5, 3), "f4").T
    assert ps.einsum("ij,jk", a, b, out=out) is out
    np.testing.assert_array_equal(out, a @ b)
    square = a[:, :3].copy()
    ps.einsum("ij,jk", square, square, out=square)
    np.testing.assert_array_equal(square, a[:, :3] @ a[:, :3])


def test_the_result_goes_into_a_tensor() -> None:
    torch = pytest.importorskip("torch")
    a, b = operands(((3, 4), (4, 5)))
    out = torch.zeros(5, 3).T
    for _ in range(2):
        assert ps.einsum("ij,jk", torch.from_numpy(a), b, out=out) is out
        np.testing.assert_array_equal(out.numpy(), a @ b)
    with pytest.raises(ps.CallError, match="einsum: out: its DLPack export"):
        ps.einsum("ij,jk", a, b, out=torch.zeros(3, 5, requires_grad=True))


@covering(1, dtype=[ml_dtypes.bfloat16, np.float16], case=sampled(CASES, 6))
def test_half_types_are_rounded_once(case: Any, dtype: Any) -> None:
    text, *shapes = case
    halves = [array.astype(dtype) for array in operands(tuple(shapes))]
    sums = np.asarray(np.einsum(text, *(array.astype("f4") for array in halves)))
    np.testing.assert_array_equal(ps.einsum(text, *halves), sums.astype(dtype), strict=True)
    np.testing.assert_array_equal(ps.einsum(text, *halves, dtype="f32"), sums, strict=True)


def test_requested_types_are_those_of_the_calculation() -> None:
    a, b = operands(((6, 7), (7, 5)), "i1")
    a, b = 30 * a, 30 * b
    for dtype in ("i4", "f8"):
        expected = np.einsum("ij,jk", a, b, dtype=dtype)
        np.testing.assert_array_equal(ps.einsum("ij,jk", a, b, dtype=np.dtype(dtype)), expected)


def test_orders_of_contraction_are_those_of_numpy() -> None:
    text, arrays = "ij,jk,kl,li->i", operands(((3, 4), (4, 5), (5, 6), (6, 3)))
    expected = np.einsum(text, *arrays)
    path, _ = np.einsum_path(text, *arrays)
    orders = (False, True, "greedy", "optimal", ("greedy", 20), path, ["einsum_path", (1, 2, 3, 0)])
    for optimize in orders:
        np.testing.assert_array_equal(ps.einsum(text, *arrays, optimize=optimize), expected)


def test_nothing_is_computed_for_a_transposition() -> None:
    (a,) = operands(((3, 4),))
    assert np.shares_memory(ps.einsum("ij->ji", a), a)


@settings(max_examples=cases(20))
@given(st.data())
def test_random_contractions(data: st.DataObject) -> None:
    sizes = dict(zip("abcde", (1, 2, 3, 4, 5), strict=True))
    words = data.draw(st.lists(st.text("abcde", min_size=1, max_size=3), min_size=1, max_size=3))
    kept = data.draw(st.permutations(sorted(set("".join(words)))))
    result = "".join(kept[: data.draw(st.integers(0, len(kept)))])
    shapes = tuple(tuple(sizes[letter] for letter in word) for word in words)
    agree(f"{','.join(words)}->{result}", *operands(shapes))


@pytest.mark.parametrize(
    ("text", "shapes", "message"),
    [
        ("ij,jk", ((2, 3),), "the subscripts have 2 operands, but 1 are passed"),
        ("ij", ((2, 3), (3, 4)), "the subscripts have 1 operands, but 2 are passed"),
        ("ij,jk", ((2, 3), (3,)), "operand 1 has 1 dimensions; expected 2"),
        ("ij...", ((2,),), "operand 0 has 1 dimensions; expected 2 or more"),
        ("i,i", ((2,), (3,)), "label 'i' has 2 elements in operand 0 and 3 in operand 1"),
        ("...,...", ((2,), (3,)), "a dimension of '...' has 2 elements in operand 0 and 3"),
        ("ij->ii", ((2, 2),), "label 'i' occurs twice in the result"),
        ("ij->k", ((2, 2),), "label 'k' of the result is in no operand"),
        ("i->i->i", ((2,),), "a second '->'"),
        ("i1", ((2, 2),), "'1' is not a label"),
        ("i..", ((2, 2),), "'.' is not a label"),
        ("i......", ((2, 2),), "a second '...'"),
        ("...i->i", ((2, 2),), "the operands have '...', so the result needs it too"),
    ],
)
def test_what_does_not_fit(text: str, shapes: Any, message: str) -> None:
    with pytest.raises(ps.PolyschedError) as raised:
        ps.einsum(text, *operands(shapes))
    assert message in str(raised.value)


def test_messages_point_into_the_text() -> None:
    with pytest.raises(ps.PolyschedError) as raised:
        ps.einsum("ij,jk->iz", *operands(((2, 3), (3, 4))))
    assert str(raised.value).splitlines() == [
        "einsum:1:9: label 'z' of the result is in no operand",
        "  ij,jk->iz",
        "          ^",
    ]


@pytest.mark.parametrize("text", ["ij,ij->ij", "ij,ji->ij", "ij,ij->i", "ij->i", "ij->j", "ij->"])
def test_operands_at_odd_addresses(text: str) -> None:
    memory = [np.zeros(8 * 8 * 4 + 1, np.uint8) for _ in text.partition("->")[0].split(",")]
    odd = [one[1:].view("f4").reshape(8, 8) for one in memory]
    for one in odd:
        one[...] = np.random.default_rng(1).integers(-3, 4, one.shape)
    for _ in range(2):
        np.testing.assert_array_equal(ps.einsum(text, *odd), np.einsum(text, *odd))


def test_arguments_of_other_kinds() -> None:
    a = np.ones((2, 2), "f4")
    for call, message in (
        (lambda: ps.einsum(a, "ij"), "subscripts are of type ndarray"),
        (lambda: ps.einsum("ij"), "no operands"),
        (lambda: ps.einsum("ij", [[1.0]]), "operand 0 is of type list; expected a numpy array"),
        (lambda: ps.einsum("ij", a.astype("c8")), "elements of type complex64"),
        (lambda: ps.einsum("ij", a > 0), "elements of type bool"),
        (lambda: ps.einsum("ij", a, dtype="f16"), "dtype is f16, and the operands have elements"),
        (lambda: ps.einsum("ij", a, dtype="i4"), "dtype is i4, and the operands have elements"),
        (lambda: ps.einsum("ij,jk", a, a, optimize="best"), "optimize='best'; expected True"),
        (lambda: ps.einsum("ij,jk", a, a, optimize=("greedy", 0)), "optimize=('greedy', 0)"),
        (
            lambda: ps.einsum("ij,jk", a, a, optimize=["einsum_path", (0, 2)]),
            "the path in optimize= contracts operands (0, 2) of 2",
        ),
        (
            lambda: ps.einsum("ij,jk,kl", a, a, a, optimize=["einsum_path", (0, 1)]),
            "the path in optimize= leaves 2 operands; expected one that contracts all",
        ),
        (lambda: ps.einsum("ij", a, out=[0]), "out is of type list"),
        (lambda: ps.einsum("ij", a, out=np.ones((2, 3), "f4")), "out has shape (2, 3)"),
        (lambda: ps.einsum("ij", a, out=a.astype("f8")), "expected shape (2, 2) of float32"),
        (lambda: ps.einsum("ij", a, out=np.broadcast_to(a, (2, 2))), "out is read-only"),
    ):
        with pytest.raises(ps.PolyschedError) as raised:
            call()
        assert message in str(raised.value)


def test_a_refused_number_of_threads_spoils_no_later_call() -> None:
    a, b = np.ones((9, 7), np.float32), np.ones((7, 5), np.float32)
    for threads in (True, 1.0, 0, [1], "2"):
        with pytest.raises(ps.CallError, match="einsum: threads="):
            ps.einsum("ij,jk->ik", a, b, threads=threads)  # type: ignore[arg-type]
    assert (ps.einsum("ij,jk->ik", a, b, threads=1) == 7).all()
    with pytest.raises(ps.CallError, match="einsum: threads=True"):
        ps.einsum("ij,jk->ik", a, b, threads=True)
    with pytest.raises(ps.CallError, match="einsum: threads=-1"):
        ps.einsum("ij->ji", a, threads=-1)


def test_types_without_a_common_one() -> None:
    with pytest.raises(ps.CallError, match="datetime64"):
        ps.einsum("ij,ij->ij", np.zeros((2, 2), "M8[s]"), np.zeros((2, 2), np.float32))


def test_a_diagonal_is_a_view_to_write_to() -> None:
    a = np.zeros((3, 3), np.float32)
    ps.einsum("ii->i", a)[...] = 2
    assert (a == 2 * np.eye(3)).all()

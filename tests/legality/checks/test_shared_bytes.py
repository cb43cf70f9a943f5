"""Threads and elements in one byte: judged exactly, by enumeration too."""

import itertools
from collections.abc import Callable

import islpy as isl
import pytest

from polysched.ir.core.kernel import Array, Kernel, Role
from polysched.ir.core.packing import Rows
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import as_dtype, i32
from polysched.ir.expr.expressions import Constant, Expression, Parameter, as_expression
from polysched.ir.expr.functions import cast
from polysched.ir.semantics.memory import concrete_shape
from polysched.ir.semantics.points import points
from polysched.legality.check import check
from polysched.legality.checks.bit_layout import sharing_relation
from polysched.legality.condition import legality_condition
from polysched.legality.reports.loop_properties import explain_loops
from polysched.legality.reports.loop_reports import format_loop_reports
from polysched.legality.verdicts.verdict import Cause
from polysched.schedule.schedule import Schedule
from tests.support import packed_kernels
from tests.support.effort import covering


def cause(schedule: Schedule) -> Cause | None:
    verdict = check(schedule)
    return None if verdict.violation is None else verdict.violation.cause


def rows_of(dtype: str, rows: str, width: int | None = None) -> Kernel:
    """``w[i, j] = x[i, j]``."""
    build = KernelBuilder("rows_of")
    n = build.parameter("n", minimum=1)
    m = build.parameter("m", minimum=1) if width is None else width
    x = build.input("x", i32, (n, m))
    w = build.output("w", dtype, (n, m), rows=rows)
    with build.loops(i=n, j=m) as (i, j):
        w[i, j] = cast(x[i, j], as_dtype(dtype))
    return build.kernel()


@pytest.mark.parametrize("dtype", ["u1", "i4", "i5", "u12"])
def test_neighbors_written_by_threads_are_refused(dtype: str) -> None:
    assert cause(Schedule(packed_kernels.pack(dtype)).parallel("i")) is Cause.SHARED_BYTE
    split = Schedule(packed_kernels.pack(dtype)).split("i", 8)
    assert cause(split.parallel("io")) is None
    assert cause(split.parallel("ii")) is Cause.SHARED_BYTE
    assert cause(Schedule(packed_kernels.pack(dtype)).split("i", 12).parallel("io")) is (
        None if dtype in ("i4", "u12") else Cause.SHARED_BYTE
    )


def test_a_shift_by_half_a_byte_is_seen() -> None:
    shifted = Schedule(packed_kernels.pack("i4", first=1)).split("i", 8).parallel("io")
    assert cause(shifted) is Cause.SHARED_BYTE
    assert cause(Schedule(packed_kernels.pack("i4", first=2)).split("i", 8).parallel("io")) is None


def test_what_is_only_read_may_be_shared() -> None:
    assert cause(Schedule(packed_kernels.unpack("i5")).parallel("i")) is None


def test_a_read_beside_a_write_counts() -> None:
    schedule = Schedule(packed_kernels.every_other("i4"))
    assert cause(schedule.parallel("i")) is None  # each iteration has a byte of its own
    assert cause(Schedule(packed_kernels.every_other("i3")).parallel("i")) is Cause.SHARED_BYTE


def test_a_read_alone_in_another_threads_byte_counts() -> None:
    build = KernelBuilder("ahead")
    n = build.parameter("n", minimum=1)
    v = build.inout("v", "i4", (4 * n + 6,))
    with build.loops(i=n) as i:
        v[4 * i] = v[4 * i + 5]  # the other half of the byte that the next iteration writes
    assert cause(Schedule(build.kernel()).parallel("i")) is Cause.SHARED_BYTE


def test_rows_begin_at_bytes_where_they_are_padded() -> None:
    assert cause(Schedule(rows_of("i5", "padded")).parallel("i")) is None
    assert cause(Schedule(rows_of("i5", "contiguous")).parallel("i")) is Cause.SHARED_BYTE
    assert cause(Schedule(rows_of("i5", "contiguous", 16)).parallel("i")) is None
    assert cause(Schedule(rows_of("i5", "contiguous", 12)).parallel("i")) is Cause.SHARED_BYTE
    inner = Schedule(rows_of("i5", "padded")).parallel("j")
    assert cause(inner) is Cause.SHARED_BYTE


def test_the_message_names_two_elements_of_the_byte() -> None:
    verdict = check(Schedule(packed_kernels.pack("i4")).parallel("i"))
    lines = str(verdict).splitlines()
    assert lines[0].startswith(
        "illegal: parallel(loop='i') lets elements in one byte of w be touched at once"
    )
    assert "w[0] writes w[0]" in lines[2]
    assert "w[1] writes w[1]" in lines[3]
    assert lines[-1].strip() == (
        "Iterations 0 and 1 of parallel loop i may run at once: w[0] and w[1] lie in one byte, "
        "which is written as a whole; split the loop by a multiple of 8, or let each thread have "
        "whole rows that are padded."
    )


def test_the_witness_is_one_where_rows_have_the_length_of_a_parameter() -> None:
    build = KernelBuilder("row")
    n = build.parameter("n", minimum=1)
    w = build.inout("w", "u5", (2 * n + 6, 2 * n + 6), rows="contiguous")
    with build.loops(i=n) as i:
        w[0, i] = 0
    verdict = check(Schedule(build.kernel()).split("i", 2).parallel("io"))
    assert "w[0,1] and w[0,2] lie in one byte" in str(verdict)


@covering(2, shape=[(19,), (3, 7), (2, 3, 5)], rows=Rows, bits=[1, 3, 4, 5, 7, 12, 20])
def test_elements_share_a_byte_exactly_where_their_bits_do(
    shape: tuple[int, ...], rows: Rows, bits: int
) -> None:
    dtype = as_dtype(f"u{bits}")
    extents = tuple(Constant(extent) for extent in shape)
    names = tuple("abc"[: len(shape)])
    relation = sharing_relation(Array("w", dtype, extents, Role.OUTPUT, names, rows=rows))
    elements = list(itertools.product(*map(range, shape)))
    pitch = -(-shape[-1] * bits // 8) * 8 if rows is Rows.PADDED else shape[-1] * bits
    touched = []
    for number, element in enumerate(elements):
        row, column = divmod(number, shape[-1])
        first = row * pitch + column * bits
        touched.append(set(range(first // 8, (first + bits - 1) // 8 + 1)))
        assert element[-1] == column
    found = {
        (one, other)
        for (one, own), (other, its) in itertools.product(
            zip(elements, touched, strict=True), repeat=2
        )
        if own & its
    }
    inside = (
        f"{{ [{', '.join(names)}] : "
        + " and ".join(f"0 <= {name} < {extent}" for name, extent in zip(names, shape, strict=True))
        + " }"
    )
    bounded = relation.intersect_domain(isl.Set(inside)).intersect_range(isl.Set(inside))
    assert bounded.wrap().count_val().to_python() == len(found)
    for one, other in found:
        pair = isl.Map(f"{{ [{', '.join(map(str, one))}] -> [{', '.join(map(str, other))}] }}")
        assert pair.is_subset(bounded)


FORMS: dict[str, Callable[[Parameter], tuple[Expression | int, ...]]] = {
    "n": lambda n: (3, n),
    "2n+6": lambda n: (n, 2 * n + 6),
    "4n": lambda n: (2, 4 * n),
    "5, n": lambda n: (2, 5, n),
    "n, 2": lambda n: (4, n, 2),
    "n+1, n": lambda n: (2, n + 1, n),
}


def bytes_of(number: int, bits: int) -> set[int]:
    return set(range(number * bits // 8, (number * bits + bits - 1) // 8 + 1))


@pytest.mark.parametrize("bits", [1, 3, 12])
@pytest.mark.parametrize("form", FORMS)
def test_rows_of_a_parametric_length_share_bytes_exactly_where_their_bits_do(
    form: str, bits: int
) -> None:
    """By enumeration, in both directions."""
    shape = tuple(map(as_expression, FORMS[form](Parameter("n"))))
    names = tuple("abc"[: len(shape)])
    array = Array("w", as_dtype(f"u{bits}"), shape, Role.OUTPUT, names, rows=Rows.CONTIGUOUS)
    relation = sharing_relation(array, isl.Set("[n] -> { : n >= 0 }"))
    for n in (0, 1, 2, 3, 5, 8):
        extents = concrete_shape(array.shape, {"n": n})
        elements = list(itertools.product(*map(range, extents)))
        expected = {
            (one, other)
            for (first, one), (second, other) in itertools.product(enumerate(elements), repeat=2)
            if bytes_of(first, bits) & bytes_of(second, bits)
        }
        found = points(relation.wrap().flatten().intersect(_inside(extents)), {"n": n}).tolist()
        assert {(tuple(row[: len(shape)]), tuple(row[len(shape) :])) for row in found} == expected


def _inside(extents: tuple[int, ...]) -> isl.Set:
    """Pairs of elements."""
    names = [f"x{place}" for place in range(2 * len(extents))]
    box = [f"0 <= {name} < {size}" for name, size in zip(names, 2 * extents, strict=True)]
    return isl.Set(f"{{ [{', '.join(names)}] : {' and '.join(box)} }}")


def parallel_rows(dtype: str, form: str, low: int = 1, high: int | None = None) -> Schedule:
    """``w[r, c] = 0``, rows in parallel."""
    build = KernelBuilder("parallel_rows")
    n = build.parameter("n", minimum=low, maximum=high)
    length = FORMS[form](n)[-1]
    w = build.output("w", dtype, (5, length), rows="contiguous")
    with build.loops(r=5, c=length) as (r, c):
        w[r, c] = 0
    return Schedule(build.kernel()).parallel("r")


@pytest.mark.parametrize(
    ("schedule", "witness"),
    [
        (parallel_rows("i2", "n", 4, 4), None),
        (parallel_rows("i2", "n", 4, 5), "w[0,4] and w[1,0]"),
        (parallel_rows("i2", "n", 3, 3), "w[0,0] and w[1,0]"),
        (parallel_rows("u4", "2n+6"), None),
        (parallel_rows("u1", "2n+6"), "w[0,8] and w[1,0]"),
        (parallel_rows("u2", "4n"), None),
        (parallel_rows("u1", "4n"), "w[0,0] and w[1,0]"),
        (parallel_rows("u1", "4n", 2, 2), None),
    ],
)
def test_lengths_decide_whether_rows_share_bytes(schedule: Schedule, witness: str | None) -> None:
    verdict = check(schedule)
    assert verdict.is_legal == (witness is None)
    assert f"{witness} lie in one byte" in str(verdict) or witness is None


def test_the_condition_names_the_lengths_of_whole_bytes() -> None:
    assert str(legality_condition(parallel_rows("u1", "2n+6"))) == "4*((n - 1)//4) + 1 == n"


def test_reports_on_loops_know_it() -> None:
    (report,) = explain_loops(Schedule(packed_kernels.pack("i4")))
    assert not report.is_parallel
    text = format_loop_reports((report,))
    assert "parallel: no\n    one byte of w for w and w, distance -1..1\n" in text
    assert report.lanes == 64

"""Products on tiles: a kernel with ``b`` in VNNI layout, and its schedule by public primitives."""

from __future__ import annotations

from typing import NamedTuple

import polysched as ps
from polysched.ir.expr.dtypes import DType


class Product(NamedTuple):
    """The instruction of a product, its element types, and the type of its sums."""

    instruction: str
    a: DType
    b: DType
    total: DType

    @property
    def terms(self) -> int:
        """The terms of a group."""
        return self.total.bytes // self.a.bytes


PRODUCTS = (
    Product("tdpbf16ps", ps.bf16, ps.bf16, ps.f32),
    Product("tdpbssd", ps.i8, ps.i8, ps.i32),
    Product("tdpbsud", ps.i8, ps.u8, ps.i32),
    Product("tdpbusd", ps.u8, ps.i8, ps.i32),
    Product("tdpbuud", ps.u8, ps.u8, ps.i32),
)


def tiled(product: Product, m: int, n: int, k: int, *, columns: int = 32) -> ps.Schedule:
    """A product in register tiles of 2 x 2 tiles, or of 2 x 1 for 16 ``columns``."""
    _, a_type, b_type, total = product
    terms = product.terms
    build = ps.KernelBuilder("product")
    a, b = build.input("a", a_type, (m, k)), build.input("b", b_type, (k // terms, n, terms))
    c = build.output("c", total, (m, n))
    with build.loops(m=m, n=n) as (row, column), build.statement("init"):
        c[row, column] = 0
    loops = build.loops(m=m, n=n, g=k // terms, t=terms)
    with loops as (row, column, group, term), build.statement("update", order="any"):
        factors = a[row, terms * group + term], b[group, column, term]
        c[row, column] += ps.cast(factors[0], total) * ps.cast(factors[1], total)
    schedule = (
        ps.Schedule(build.kernel())
        .split("update.m", 32, into=("mo", "mi"))
        .split("update.n", columns, into=("no", "ni"))
        .split("update.g", 16, into=("go", "gi"))
        .reorder("mo", "no", "go", "mi", "ni", "gi", "t")
        .compute_at("init", "no")
    )
    for statement, row_loop, column_loop, inner in (
        ("init", "m", "n", ()),
        ("update", "mi", "ni", ("gi", "t")),
    ):
        outer = (f"{statement}.mt", f"{statement}.{column_loop}")
        schedule = (
            schedule.split(f"{statement}.{row_loop}", 16, into=("mt", "mr"))
            .vectorize(outer[1], 16)
            .reorder(*outer, f"{statement}.mr", *inner, f"{outer[1]}v")
            .unroll(*outer)
            .tensorize(f"{statement}.mr", product.instruction if inner else "tilezero")
        )
    return schedule

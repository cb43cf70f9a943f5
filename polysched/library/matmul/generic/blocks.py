"""Size-generic kernels of matrix products: a register tile and the loops around it.

Each kernel computes a block of the result, ``out[i, j] (+)= sum over k of a[i, k] * b[k, j]``. The
sizes of the register tile are literals. The number of tiles, the terms and the strides are
parameters, so one proof and one compilation serve all sizes. A product is a few such blocks
(:mod:`polysched.library.matmul.generic.plan`), as in BLIS (Van Zee and van de Geijn, "BLIS: A
Framework for Rapidly Instantiating BLAS Functionality", ACM TOMS 41(3), 2015).

The rows of a block are whole tiles. The columns are whole panels, of which the last one may lack
less than one vector (``missing``).

Parameters of all kernels: ``tiles`` of rows, ``panels`` of columns, ``terms``, ``first`` (1 if the
result is written, 0 if the block is added to it), and the strides of the arrays, in elements.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal, TypeAlias

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType
from polysched.ir.expr.expressions import Expression
from polysched.library.on_demand import unscheduled

if TYPE_CHECKING:
    from polysched.user import Schedule


PanelAccess: TypeAlias = Literal["near", "far", "packed"]
"""How a panel of ``b`` is read: in place, in place while the next panel is prefetched, or copied
before it is used."""


@dataclass(frozen=True)
class TileBlock:
    """A block whose lanes are columns, computed in register tiles.

    Attributes:
        vectors: vectors of columns of a register tile: the width of a panel.
        access: how each panel of ``b`` is read.
        has_lower: whether ``lower`` tiles of one row less follow the ``tiles`` of each panel.
    """

    dtype: DType
    lanes: int
    rows: int
    vectors: int
    access: PanelAccess = "near"
    has_lower: bool = False

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.vectors * self.lanes

    @property
    def heights(self) -> dict[str, int]:
        """The rows of each kind of tiles, by the ending of the names of its statements."""
        return {"": self.rows} | ({"_lower": self.rows - 1} if self.has_lower else {})

    @cached_property
    def name(self) -> str:
        """The name of the kernel."""
        rows = "_".join(map(str, self.heights.values()))
        return f"matmul_tiles_{rows}x{self.columns}_{self.dtype}_{self.access}"

    def schedule(self) -> Schedule:
        """The kernel's schedule: panels of columns, in them tiles of rows, in these the terms."""
        schedule = unscheduled(self._kernel())
        for kind, rows in self.heights.items():
            update = f"update{kind}"
            schedule = (
                schedule.split(f"{update}.m", rows, into=("im", "rm"))
                .split(f"{update}.n", self.columns, into=("in", "rn"))
                .reorder(*(f"{update}.{loop}" for loop in ("in", "im", "k", "rm", "rn")))
                .compute_at(f"init{kind}", at=f"{update}.im")
                .promote("out", at=f"{update}.im", lanes=self.lanes, into=f"sums{kind}")
            )
        if self.has_lower:
            schedule = schedule.fuse("update.in", "update_lower.in")
        if self.access == "far":
            schedule = schedule.prefetch("b", "update.k", of="update.in", level=1)
        elif self.access == "packed":
            schedule = schedule.pack("b", "update.in", order=("k", "n"))
            schedule = schedule.vectorize("b_packed.n", self.lanes).unroll("b_packed.n")
            if self.columns * self.dtype.bytes <= 2 * LINE_BYTES:
                # The hardware prefetches the next panel of wide panels only.
                schedule = schedule.prefetch("b", "b_packed.k", of="update.in", level=1)
        for kind, rows in self.heights.items():
            init, update = f"init{kind}", f"update{kind}"
            schedule = schedule.vectorize(f"{init}.n", self.lanes)
            schedule = schedule.vectorize(f"{update}.rn", self.lanes)
            down = (f"{init}.m", f"{update}.rm") if rows > 1 else (f"{update}.rm",)
            schedule = schedule.unroll(*down, f"{init}.n", f"{update}.rn")
        return schedule

    def _kernel(self) -> Kernel:
        build = KernelBuilder(self.name)
        counts = ("tiles", "lower")[: len(self.heights)]
        groups = [
            rows * build.parameter(count, minimum=1)
            for rows, count in zip(self.heights.values(), counts, strict=True)
        ]
        n = _columns(build, self.columns, self.lanes)
        k = build.parameter("terms", minimum=1)
        return _by_columns(build, self.dtype, (dict(zip(self.heights, groups, strict=True)), n, k))


@dataclass(frozen=True)
class StreamBlock:
    """A block of a few rows that reads ``b`` once, a few whole rows at a time.

    The sums stay in the L1 cache, or in L2. The terms are whole groups of ``group`` terms. Each
    panel prefetches the one that is ``ahead`` panels further.

    Attributes:
        copies_a: whether the terms of a group are copied from ``a``: with more rows than the ways
            of a set of L1, those of a power of two of terms evict each other.
    """

    dtype: DType
    lanes: int
    rows: int
    vectors: int
    group: int
    ahead: int
    copies_a: bool = False

    @property
    def columns(self) -> int:
        """Columns of a panel."""
        return self.vectors * self.lanes

    @cached_property
    def name(self) -> str:
        """The name of the kernel."""
        return f"matmul_stream_{self.rows}x{self.columns}x{self.group}_{self.dtype}"

    def schedule(self) -> Schedule:
        """The kernel's schedule: groups of terms, in them panels of columns."""
        schedule = (
            unscheduled(self._kernel())
            .split("update.k", self.group, into=("ok", "rk"))
            .split("update.n", self.columns, into=("in", "rn"))
            .reorder("ok", "in", "rk", "update.m", "rn")
            .promote("out", at="update.in", lanes=self.lanes)
            .prefetch("b", "update.in", ahead=self.ahead, level=2)
        )
        if self.copies_a:
            schedule = schedule.pack("a", at="update.ok", order=("m", "k"))
        schedule = schedule.vectorize("init.n", self.lanes).vectorize("update.rn", self.lanes)
        return schedule.unroll("update.rk", "update.m", "update.rn")

    def _kernel(self) -> Kernel:
        build = KernelBuilder(self.name)
        n = _columns(build, self.columns, self.lanes)
        k = self.group * build.parameter("groups", minimum=1)
        return _by_columns(build, self.dtype, ({"": self.rows}, n, k))


@dataclass(frozen=True)
class DotBlock:
    """A block whose lanes are terms, for few rows and a transposed ``b``; both are read in place.

    There are at least ``lanes`` terms. Both strides of the result are free, so that the block also
    computes the transposed product.

    Attributes:
        rows: rows of a register tile.
        columns: columns of a register tile.
    """

    dtype: DType
    lanes: int
    rows: int
    columns: int

    @cached_property
    def name(self) -> str:
        """The name of the kernel."""
        return f"matmul_dots_{self.rows}x{self.columns}_{self.dtype}"

    def schedule(self) -> Schedule:
        """The kernel's schedule; the lanes of a sum are reduced to ``FEW_LANES``, then to one."""
        # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
        from polysched.library.matmul.schedule.dot import FEW_LANES  # noqa: PLC0415
        from polysched.library.matmul.schedule.tiling import loops_around  # noqa: PLC0415

        schedule = (
            unscheduled(self._kernel())
            .split("update.m", self.rows, into=("im", "rm"))
            .split("update.n", self.columns, into=("in", "rn"))
            .reorder("in", "im", "k", "rm", "rn")
            .split("update.k", self.lanes, into=("ik", "lane"))
            .reorder("lane", "ik")
            .rfactor("update", "lane", order=("m", "n", "each_lane"))
        )
        unrolled: dict[str, tuple[str, ...]] = {"update_init": ("m", "n"), "update": ("rm", "rn")}
        if self.lanes > FEW_LANES:
            schedule = (
                schedule.split("update_combine.each_lane", FEW_LANES, into=("group", "few"))
                .reorder(*(f"update_combine.{loop}" for loop in ("m", "n", "few", "group")))
                .rfactor("update_combine", "few", into="fewer", order=("m", "n", "each_few"))
                .vectorize("few", FEW_LANES)
            )
            unrolled |= {"update_combine": ("group",), "fewer_combine": ("each_few",)}
        else:
            unrolled |= {"update_combine": ("each_lane",)}
        schedule = schedule.compute_at("init", at="im").vectorize("lane", self.lanes)
        for statement, loops in unrolled.items():
            around = loops_around(schedule, statement)
            for loop in (name for name in loops if name in around):
                schedule = schedule.unroll(f"{statement}.{loop}")
        return schedule

    def _kernel(self) -> Kernel:
        build = KernelBuilder(self.name)
        m = self.rows * build.parameter("tiles", minimum=1)
        n = self.columns * build.parameter("panels", minimum=1)
        k = build.parameter("terms", minimum=self.lanes)
        first = build.parameter("first", minimum=0, maximum=1)
        a_row, b_row, out_row, out_column = (
            build.parameter(name, minimum=1) for name in ("a_row", "b_row", "out_row", "out_column")
        )
        build.assume(a_row >= k)
        build.assume(b_row >= k)
        a = build.input("a", self.dtype, (m, k), dimensions="m k", strides=(a_row, 1))
        b = build.input("b", self.dtype, (n, k), dimensions="n k", strides=(b_row, 1))
        strides = (out_row, out_column)
        out = build.inout("out", self.dtype, (m, n), dimensions="m n", strides=strides)
        _product(build, (a, b, out), (m, n, k), first, transposed=True)
        return build.kernel()


@dataclass(frozen=True)
class TransposeBlock:
    """The copy of a transposed ``b[n, k]`` into ``out[k, n]``, in square tiles in registers."""

    dtype: DType
    lanes: int

    @cached_property
    def name(self) -> str:
        """The name of the kernel."""
        return f"matmul_transpose_{self.dtype}"

    def schedule(self) -> Schedule:
        """The kernel's schedule."""
        # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
        from polysched.library.matmul.schedule.tiling import transpose_tiles  # noqa: PLC0415

        return transpose_tiles(unscheduled(self._kernel()), "copy", ("k", "n"), self.lanes)

    def _kernel(self) -> Kernel:
        build = KernelBuilder(self.name)
        n, k = build.parameter("columns", minimum=1), build.parameter("terms", minimum=1)
        b_row, out_row = (build.parameter(name, minimum=1) for name in ("b_row", "out_row"))
        build.assume(b_row >= k)
        build.assume(out_row >= n)
        b = build.input("b", self.dtype, (n, k), dimensions="n k", strides=(b_row, 1))
        out = build.output("out", self.dtype, (k, n), dimensions="k n", strides=(out_row, 1))
        with build.loops(k=k, n=n) as (term, column), build.statement("copy"):
            out[term, column] = b[column, term]
        return build.kernel()


Block: TypeAlias = TileBlock | StreamBlock | DotBlock | TransposeBlock


def _columns(build: KernelBuilder, width: int, lanes: int) -> Expression:
    """Declare the number of columns: whole panels but for less than one vector."""
    panels = build.parameter("panels", minimum=1)
    return width * panels - build.parameter("missing", minimum=0, maximum=lanes - 1)


def _by_columns(
    build: KernelBuilder,
    dtype: DType,
    sizes: tuple[Mapping[str, int | Expression], Expression, Expression],
) -> Kernel:
    """Declare a block with a row-major ``b``, and any strides of ``a``.

    Args:
        sizes: the rows of each group by the ending of the names of its statements, the columns and
            the terms.
    """
    groups, n, k = sizes
    m = sum(groups.values())
    first = build.parameter("first", minimum=0, maximum=1)
    a_row, a_term, b_row, out_row = (
        build.parameter(name, minimum=1) for name in ("a_row", "a_term", "b_row", "out_row")
    )
    build.assume(b_row >= n)
    build.assume(out_row >= n)
    a = build.input("a", dtype, (m, k), dimensions="m k", strides=(a_row, a_term))
    b = build.input("b", dtype, (k, n), dimensions="k n", strides=(b_row, 1))
    out = build.inout("out", dtype, (m, n), dimensions="m n", strides=(out_row, 1))
    above: int | Expression = 0
    for kind, rows in groups.items():
        _product(build, (a, b, out), (rows, n, k), first, above=above, kind=kind)
        above = above + rows
    return build.kernel()


def _product(
    build: KernelBuilder,
    arrays: tuple[ArrayHandle, ArrayHandle, ArrayHandle],
    sizes: tuple[int | Expression, int | Expression, Expression],
    first: Expression,
    *,
    above: int | Expression = 0,
    kind: str = "",
    transposed: bool = False,
) -> None:
    """Declare the statements ``init``, which runs if ``first`` is 1, and ``update``.

    Args:
        above: the rows above those of the statements.
        kind: the ending of the statements' names.
        transposed: whether the rows of ``b`` are columns.
    """
    (m, n, k), (a, b, out) = sizes, arrays
    init, update = f"init{kind}", f"update{kind}"
    with build.loops(m=m, n=n) as (row, column), build.where(first >= 1), build.statement(init):
        out[above + row, column] = 0
    with build.loops(m=m, n=n, k=k) as (i, column, term), build.statement(update, order="any"):
        row = above + i
        out[row, column] += a[row, term] * b[(column, term) if transposed else (term, column)]

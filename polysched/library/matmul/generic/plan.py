"""Plan of a product by size-generic kernels: the blocks that it is divided into.

Planning takes some tens of microseconds, so it decides by a few comparisons. Rows are divided into
tiles of one height and some lower by a row, columns into panels of one width and a narrower rest,
and terms into blocks whose panel of ``b`` stays in the cache.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from polysched.ir.expr.dtypes import DType
from polysched.library.matmul.generic.blocks import (
    Block,
    DotBlock,
    PanelAccess,
    StreamBlock,
    TileBlock,
    TransposeBlock,
)
from polysched.library.matmul.generic.strided import FEW_COLUMNS, Strided, of_one_row, pays_swapped
from polysched.machine.contraction_model import (
    even_block,
    longest_block,
    near_l3_bytes,
    pays_packing,
    pays_short_blocks,
    tallest_tile,
)
from polysched.machine.description import Machine

FEW_ROWS = 3
"""Rows of a product, at most, whose tiles are up to ``WIDEST`` vectors wide."""

WIDEST = 8
"""Vectors of a tile of few rows: enough sums to hide the FMA latency in one row."""

DOT_ROWS = 4
"""Rows of a register tile of dot products, at most."""

PARTS = 2
"""Parts of the work for each thread, so that other threads take over parts of a late thread."""


class Step(NamedTuple):
    """A call of a kernel.

    Attributes:
        arrays: its arrays, by number: operands ``A`` and ``B``, ``OUT``, or ``SCRATCH`` memory.
        starts: their first elements.
        parameters: the values of the kernel's parameters.
    """

    block: Block
    arrays: tuple[int, ...]
    starts: tuple[int, ...]
    parameters: tuple[int, ...]


A, B, OUT, SCRATCH = range(4)


class GenericPlan(NamedTuple):
    """The calls that compute a product.

    Attributes:
        is_swapped: whether they compute the transposed product: ``A`` is then the right operand.
        parts: the steps, in order; parts may run at the same time.
        scratch: elements of scratch memory that a part needs.
    """

    is_swapped: bool
    parts: Sequence[Sequence[Step]]
    scratch: int


def stacked_plan(
    plan: GenericPlan, starts: Sequence[tuple[int, int, int]], parts: int
) -> GenericPlan:
    """The plan of a stack of products.

    Args:
        plan: the plan of each product, of one part.
        starts: the first elements of the left operand, the right operand and the result of each.
        parts: the most parts.
    """
    (steps,) = plan.parts
    groups: list[list[Step]] = []
    length = -(-len(starts) // parts)
    for number, (left, right, out) in enumerate(starts):
        if number % length == 0:
            groups.append([])
        bases = (right, left, out, 0) if plan.is_swapped else (left, right, out, 0)
        for step in steps:
            moved = [at + bases[array] for array, at in zip(step.arrays, step.starts, strict=True)]
            groups[-1].append(step._replace(starts=tuple(moved)))
    return GenericPlan(plan.is_swapped, groups, plan.scratch)


class Planner:
    """Plans products of one element type on one machine.

    Attributes:
        size: bytes of an element.
        near: bytes of the L2 cache.
        tallest: the height of a tile by its vectors and whether the last of them is masked.
        tiles: the tiles of earlier plans, by all but the type and the lanes: their names are
            computed.
    """

    def __init__(self, machine: Machine, dtype: DType) -> None:
        self.machine, self.dtype = machine, dtype
        self.lanes, self.size = machine.lanes(dtype.bits), dtype.bytes
        self.near = machine.cache_bytes(2)
        self.tallest = {
            (vectors, is_masked): self._tallest(vectors, is_masked)
            for vectors in range(1, WIDEST + 1)
            for is_masked in (False, True)
        }
        self.tiles: dict[tuple[int, int, PanelAccess, bool], TileBlock] = {}

    def plan(self, product: Strided, threads: int) -> GenericPlan | None:
        """Plan a product; None if no generic kernel takes operands with these strides."""
        is_column = product.n == 1 < product.m or (product.out_column != 1 and product.out_row == 1)
        is_swapped = is_column or pays_swapped(product)
        product = of_one_row(product.transposed if is_swapped else product)
        if not self._supports(product):
            return None
        scratch, parts = 0, []
        for part in self._parts(product, threads):
            steps, size = self._steps(*part)
            scratch = max(scratch, size)
            parts.append(steps)
        return GenericPlan(is_swapped, parts, scratch)

    def _supports(self, product: Strided) -> bool:
        """Whether ``b`` has rows or columns without gaps, and a kernel writes such a result."""
        if product.b_column == 1 and product.out_column == 1:
            return True
        return product.b_term == 1 and (product.out_column == 1 or self._by_dots(product))

    def _by_dots(self, product: Strided) -> bool:
        costs = self.machine.costs
        is_copied = product.a_row == 1 and product.m <= FEW_COLUMNS
        if product.b_term != 1 or product.m > costs.dot_rows * 3 // 2:
            return False
        if not (product.a_term == 1 or is_copied):
            return False
        fewest = max(costs.block_terms, (product.m + costs.dot_extra_vectors) * self.lanes)
        return product.k >= (fewest if product.out_column == 1 else self.lanes)

    def _parts(self, product: Strided, threads: int) -> Iterator[tuple[Strided, int, int, int]]:
        """Divide a long product among threads: parts, with their first elements."""
        machine, size = self.machine, self.size
        m, n, k = product.m, product.n, product.k
        if threads == 1:
            yield product, 0, 0, 0
            return
        cycles = m * -(-n // self.lanes) * k / machine.fma_units
        cycles = max(cycles, (m + n) * k * size / machine.costs.memory_bytes if m < 8 else 0)
        count = PARTS * threads if cycles >= machine.costs.parallel_cycles else 1
        along_rows = m > n
        unit = tallest_tile(machine) if along_rows else 4 * self.lanes
        extent = m if along_rows else n
        length = -(-extent // (count * unit)) * unit
        for start in range(0, extent, length):
            taken = min(length, extent - start)
            if along_rows:
                part = product._replace(m=taken)
                yield part, start * product.a_row, 0, start * product.out_row
            else:
                part = product._replace(n=taken)
                yield part, 0, start * product.b_column, start * product.out_column

    def _steps(self, product: Strided, a: int, b: int, out: int) -> tuple[list[Step], int]:
        """The steps of a part, and the elements of scratch memory that they need."""
        if self._by_dots(product):
            return self._dots(product, a, b, out)
        if product.b_column == 1:
            steps = list[Step]()
            self._by_columns(product, (a, b, out), B, steps)
            return steps, 0
        return self._transposed(product, a, b, out)

    def _dots(self, product: Strided, a: int, b: int, out: int) -> tuple[list[Step], int]:
        steps, scratch, left = [], 0, A
        a_row = product.a_row
        if product.a_term != 1:
            copy = TransposeBlock(self.dtype, self.lanes)
            sizes = (product.k, product.m, product.a_term, product.k)
            steps.append(Step(copy, (A, SCRATCH), (a, 0), sizes))
            a, a_row, left, scratch = 0, product.k, SCRATCH, product.m * product.k
        row, b_row = 0, product.k if product.n == 1 else product.b_column
        for height, tiles in _heights(product.m, DOT_ROWS):
            width = 8 if height <= 2 else 4
            panels, rest = divmod(product.n, width)
            for columns, count, start in ((width, panels, 0), (1, rest, panels * width)):
                if not count:
                    continue
                block = DotBlock(self.dtype, self.lanes, height, columns)
                starts = (
                    a + row * a_row,
                    b + start * product.b_column,
                    out + row * product.out_row + start * product.out_column,
                )
                strides = (a_row, b_row, product.out_row, product.out_column)
                parameters = (tiles, count, product.k, 1, *strides)
                steps.append(Step(block, (left, B, OUT), starts, parameters))
            row += height * tiles
        return steps, scratch

    def _transposed(self, product: Strided, a: int, b: int, out: int) -> tuple[list[Step], int]:
        """Copy blocks of terms of a transposed ``b`` to rows, and multiply by the copy."""
        machine, size = self.machine, self.size
        # The rows of the copy do not fall into the same sets of the caches.
        row = -(-product.n // self.lanes) * self.lanes
        row += self.lanes if row * size % 512 == 0 else 0
        longest = max(machine.costs.block_terms, machine.cache_bytes(2) // (2 * row * size))
        terms = even_block(product.k, longest, self.lanes) if product.k > longest else product.k
        steps = []
        for start in range(0, product.k, terms):
            taken = min(terms, product.k - start)
            copy = TransposeBlock(self.dtype, self.lanes)
            sizes = (product.n, taken, product.b_column, row)
            steps.append(Step(copy, (B, SCRATCH), (b + start, 0), sizes))
            block = product._replace(k=taken, b_term=row, b_column=1)
            starts = (a + start * product.a_term, 0, out)
            self._by_columns(block, starts, SCRATCH, steps, is_first=start == 0)
        return steps, terms * row

    def _by_columns(
        self,
        product: Strided,
        starts: tuple[int, int, int],
        right: int,
        steps: list[Step],
        *,
        is_first: bool = True,
    ) -> None:
        """Add the steps of a product with a row-major ``b``."""
        a, b, out = starts
        group = self._streamed_group(product) if right == B else 0
        if group:
            groups, rest = divmod(product.k, group)
            streamed = product._replace(k=groups * group)
            steps += self._streamed(streamed, starts, group)
            if not rest:
                return
            product, is_first = product._replace(k=rest), False
            a += streamed.k * product.a_term
            b += streamed.k * product.b_term
        width, costs = self._width(product), self.machine.costs
        b_bytes = product.k * product.n * self.size
        is_far = b_bytes > self.near and width * self.lanes * self.size >= costs.narrow_panel
        is_short = is_far and product.m < costs.page_packing_rows
        is_short &= pays_short_blocks(b_bytes, product.b_term * self.size, self.machine)
        terms = self._terms(product, width, is_short=is_short)
        for start in range(0, product.k, terms):
            taken = min(terms, product.k - start)
            block = product if taken == product.k else product._replace(k=taken)
            moved = (a + start * product.a_term, b + start * product.b_term, out)
            access: PanelAccess = "far" if is_far else "near"
            if not is_short and self._pays_packing(block, width):
                access = "packed"
            is_written = is_first and start == 0
            self._tiles(block, moved, right, (width, access), int(is_written), steps)

    def _streamed_group(self, product: Strided) -> int:
        """The rows of ``b`` that are read side by side, to their ends, by few rows; 0 for none."""
        machine, m, costs = self.machine, product.m, self.machine.costs
        group = costs.streamed_rows * (1 if m <= costs.streamed_rows else 2)
        if m > min(group, machine.vector_registers // 2) or product.k < group:
            return 0
        far = near_l3_bytes(machine) // 2 if m > FEW_ROWS else machine.cache_bytes(min(m, 2))
        is_wide = product.n >= costs.wide_row * self.lanes
        return group if is_wide and product.k * product.n * self.size > far else 0

    def _streamed(
        self, product: Strided, starts: tuple[int, int, int], group: int
    ) -> Iterator[Step]:
        a, b, out = starts
        strides = (product.a_row, product.a_term, product.b_term, product.out_row)
        costs, registers, m = self.machine.costs, self.machine.vector_registers, product.m
        sums = round(registers / 2 / m)
        width = max(1, min(costs.row_vectors, sums, (registers - 2) // (m + 2)))
        ahead = -(-costs.prefetch_distance // (width * self.lanes * self.size))
        for vectors, panels, column, missing in self._widths(product.n, width):
            block = StreamBlock(
                self.dtype, self.lanes, m, vectors, group, ahead, copies_a=m > costs.streamed_rows
            )
            begin = (a, b + column, out + column)
            sizes = (panels, missing, product.k // group, 1)
            yield Step(block, (A, B, OUT), begin, (*sizes, *strides))

    def _tiles(
        self,
        product: Strided,
        starts: tuple[int, int, int],
        right: int,
        reads: tuple[int, PanelAccess],
        first: int,
        steps: list[Step],
    ) -> None:
        """Add the steps of a block of terms.

        Args:
            reads: the vectors of a panel, and how it is read.
        """
        (m, n, k, a_row, a_term, b_term, _, out_row, _), (a, b, out) = product, starts
        arrays, strides = (A, right, OUT), (a_row, a_term, b_term, out_row)
        width, access = reads
        for vectors, panels, column, missing in self._widths(n, width):
            (height, tiles), *lower = _heights(m, self.tallest[vectors, missing > 0])
            counts = (tiles, *(count for _, count in lower))
            reused = "near" if access == "far" and panels == 1 else access
            block = self._block(height, vectors, reused, has_lower=bool(lower))
            corner = (a, b + column, out + column)
            steps.append(
                Step(block, arrays, corner, (*counts, panels, missing, k, first, *strides))
            )

    def _block(
        self, height: int, vectors: int, access: PanelAccess, *, has_lower: bool
    ) -> TileBlock:
        key = height, vectors, access, has_lower
        block = self.tiles.get(key)
        if block is None:
            block = self.tiles[key] = TileBlock(self.dtype, self.lanes, *key)
        return block

    def _tallest(self, vectors: int, is_masked: bool) -> int:
        """The height of a tile: a register for each sum, each vector of ``b`` and one of ``a``.

        The mask of a partial vector takes another one where masks are vectors, which is where there
        are 16 registers. A tile of 4 x 24 f32 without it spills, at two thirds of the speed of one
        of 3 x 24 (measured on Zen 4 with AVX2).
        """
        registers = self.machine.vector_registers
        masks = 1 if is_masked and registers < 32 else 0
        height = (registers - 1 - masks - vectors) // vectors
        return max(1, min(height, tallest_tile(self.machine)))

    def _width(self, product: Strided) -> int:
        widest = 4 if self.machine.vector_registers >= 32 else 3
        return WIDEST if product.m <= FEW_ROWS and widest == 4 else widest

    def _widths(self, columns: int, width: int) -> Iterator[tuple[int, int, int, int]]:
        """Panels of columns: vectors, number, first column, and columns missing in the last."""
        full, rest = divmod(-(-columns // self.lanes), width)
        missing = -columns % self.lanes
        panels, vectors = 1 if rest else 0, rest
        if rest == 1 and full and width < WIDEST:
            # A panel of one vector would read all of a for few sums: it joins the last full panel,
            # and both are one panel or two equal ones.
            full, panels = full - 1, 1 + width % 2
            vectors = (width + 1) // panels
        if full and (panels or not (missing and self._spills(width))):
            yield width, full, 0, 0 if panels else missing
        elif full:
            # Only the last panel is masked, so only its tiles are lower.
            full, panels, vectors = full - 1, 1, width
            if full:
                yield width, full, 0, 0
        if panels:
            yield vectors, panels, full * width * self.lanes, missing

    def _spills(self, width: int) -> bool:
        """Whether the mask of a partial vector makes tiles of this width lower."""
        return self.tallest[width, True] < self.tallest[width, False]

    def _terms(self, product: Strided, width: int, *, is_short: bool) -> int:
        """The terms of a block."""
        size, k = self.size, product.k
        operands, result = (product.m + product.n) * size, product.m * product.n * size
        panel = width * self.lanes * size
        longest = longest_block(k, panel, operands, result, self.machine, is_short=is_short)
        return k if longest is None else even_block(k, longest, 64 // size)

    def _pays_packing(self, product: Strided, width: int) -> bool:
        size = self.size
        block, panel = product.k * product.n * size, product.k * width * self.lanes * size
        step = product.b_term * size
        return pays_packing(product.m, step, product.k, block, panel, self.machine)


def _heights(rows: int, tallest: int) -> tuple[tuple[int, int], ...]:
    """Divide rows into tiles: heights with their numbers of tiles."""
    tiles = -(-rows // tallest)
    height = -(-rows // tiles)
    lower = tiles * height - rows
    return ((height, tiles - lower), (height - 1, lower)) if lower else ((height, tiles),)

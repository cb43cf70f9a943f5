"""Declaration of attention: two products with a softmax between them, computed online.

``out = softmax(scale * q @ k.T + mask) @ v`` for each head. The keys are taken in blocks. A query
keeps the largest score so far, the sum of its powers and the weighted sum of the rows of ``v``; a
new block rescales both sums if it contains a larger score (M. Milakov and N. Gimelshein, "Online
normalizer calculation for softmax", 2018; T. Dao et al., "FlashAttention", 2022). So a schedule can
finish a block before it begins the next one, and needs the scores of one block only.

Powers have base 2: the factor ``log2(e)`` is part of the scale, and 2**x takes fewer instructions
than e**x.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from polysched.errors import KernelError
from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import DType, f32, f64
from polysched.ir.expr.expressions import Index
from polysched.ir.expr.functions import equal, maximum, select
from polysched.library.extents import require_sizes
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

LOG2_E = math.log2(math.e)

VECTORS = 2
"""Vectors of queries of a block. Each load of a key serves this many multiplications.

A block reads all of ``k`` and ``v``, from L2 in long sequences. Blocks of 2 vectors beat those of 6
by 2 to 4 % with AVX-512, and by 3 to 32 % if causal, because they skip more keys; with AVX2 they
lose 1 to 3 %. Their loops over queries have one body, and take an eighth less time to compile.
"""

MOST_ROWS = 8
"""Rows of a register tile, at most: with 16 sums, tiles of 8 and 12 rows take equal time (Zen 4).

Most widths are multiples of 8, so no tile is partial.
"""

BLOCK_BYTES = 256
"""Most bytes of one query's scores of a block of keys: the scores should fit the L1 cache.

Measured on Zen 4 with AVX-512, f32, heads of width 64 and 128: blocks of 32 keys take 1.02 times as
long as those of 64 keys, of 48 keys 1.01 times. Causal kernels have the smallest blocks.
"""

_power_of_two: Any = np.exp2
"""numpy's annotations do not know the expressions of a kernel."""

_LOWEST = MappingProxyType({f32: -float(2**128 - 2**104), f64: -float(2**1024 - 2**971)})
"""The lowest finite number of each type."""


@dataclass(frozen=True)
class Attention:
    """The properties of a kernel of attention; the lengths and the number of heads are parameters.

    Attributes:
        width: elements of a query and of a key.
        columns: elements of a row of ``v`` and of the result.
        lanes: elements of a vector.
        rows: rows of a register tile.
        dtype: the type of all elements, f32 or f64.
        causal: whether query ``i`` sees the keys up to ``i`` only.
        masked: whether a mask is added to the scores.
        whole: whether the keys are whole blocks. Without a partial block a kernel takes 0.6 of the
            time to prove and compile, so that the first call takes 0.6 s instead of 0.8.
    """

    width: int
    columns: int
    lanes: int
    rows: int
    dtype: DType = f32
    causal: bool = False
    masked: bool = False
    whole: bool = False

    @property
    def panel(self) -> int:
        """Queries of a block. The number of queries is a multiple: all vectors are full."""
        return VECTORS * self.lanes

    @property
    def keys(self) -> int:
        """Keys of a block: whole register tiles, and as many as some blocks of queries have.

        A causal kernel skips the blocks of keys behind the last query of a block.
        """
        smallest = math.lcm(self.rows, self.panel)
        most = BLOCK_BYTES * 8 // self.dtype.bits
        return smallest if self.causal else max(1, most // smallest) * smallest

    @property
    def name(self) -> str:
        """The name of the kernel."""
        form = "_causal" * self.causal + "_masked" * self.masked + "_whole" * self.whole
        return f"attention_{self.width}x{self.columns}_{self.dtype}{form}"


def attention_form(
    width: int,
    columns: int,
    *,
    dtype: DType = f32,
    causal: bool = False,
    masked: bool = False,
    machine: Machine | str | None = None,
) -> Attention:
    """The kernel with the vectors and register tiles of a machine; see :class:`Attention`."""
    machine = as_machine(machine)
    # The sums of a tile share the registers with a vector of each panel and a broadcast element.
    most = (machine.vector_registers - VECTORS - 1) // VECTORS
    rows = min(MOST_ROWS, most)
    return Attention(width, columns, machine.lanes(dtype.bits), rows, dtype, causal, masked)


def attention_kernel(form: Attention) -> Kernel:  # noqa: PLR0915  (one nest, in its order)
    """Declare ``out = softmax(scale * q @ k.T + mask) @ v`` for each head.

    Arrays, C-contiguous: ``q[heads, queries, width]``, ``k[heads, keys, width]``, ``v[heads, keys,
    columns]``, ``mask[queries, keys]`` if there is one, ``scale`` without dimensions, which must
    contain the factor ``log2(e)``, and ``out[heads, queries, columns]``. Parameters: ``heads``,
    ``panels`` (of ``form.panel`` queries) and ``keys``, or ``blocks`` (of ``form.keys`` keys) if
    ``form.whole``. A query whose scores are all -infinity gets zeros.

    Raises:
        KernelError: a size is not positive, or the type is not f32 or f64.
    """
    sizes = {name: getattr(form, name) for name in ("width", "columns", "lanes", "rows")}
    require_sizes("attention", least=1, **sizes)
    if form.dtype not in (f32, f64):
        raise KernelError(f"attention: elements of type {form.dtype}; expected f32 or f64")
    build = KernelBuilder(form.name)
    names = "heads", "panels", "blocks" if form.whole else "keys"
    heads, panels, length = (build.parameter(name, minimum=1) for name in names)
    keys = form.keys * length if form.whole else length
    blocks = length if form.whole else (keys + form.keys - 1) // form.keys
    queries = form.panel * panels
    dtype, width, columns = form.dtype, form.width, form.columns
    lowest = _LOWEST[dtype]
    q = build.input("q", dtype, (heads, queries, width), dimensions="head query term")
    k = build.input("k", dtype, (heads, keys, width), dimensions="head key term")
    v = build.input("v", dtype, (heads, keys, columns), dimensions="head key column")
    mask = None
    if form.masked:
        mask = build.input("mask", dtype, (queries, keys), dimensions="query key")
    scale = build.input("scale", dtype, ())
    out = build.output("out", dtype, (heads, queries, columns), dimensions="head query column")
    scaled = build.temporary("scaled", dtype, q.array.shape, dimensions="head query term")
    scores = build.temporary("scores", dtype, (heads, queries, keys), dimensions="head query key")
    sums = build.temporary("sums", dtype, out.array.shape, dimensions="head query column")
    largest, factor, total = (
        build.temporary(name, dtype, (heads, queries), dimensions="head query")
        for name in ("largest", "factor", "total")
    )
    with build.loops(head=heads, query=queries) as (head, query):
        at = head, query
        with build.loops(term=width) as term, build.statement("scale_query"):
            scaled[*at, term] = q[*at, term] * scale[()]
        with build.statement("no_maximum"):
            # With a finite number, scores of -infinity get the weight 0 and not NaN.
            largest[at] = lowest
        with build.statement("no_total"):
            total[at] = 0
        with build.loops(column=columns) as column, build.statement("no_sum"):
            sums[*at, column] = 0
        with build.loops(block=blocks) as block, ExitStack() as seen:
            first = form.keys * block

            @contextmanager
            def in_block() -> Iterator[Index]:
                """Loop over the keys of the block; the last block may be partial."""
                with build.loops(key=form.keys) as key, ExitStack() as existing:
                    if not form.whole:
                        existing.enter_context(build.where(first + key < keys))
                    yield key

            if form.causal:
                last = query - query % form.panel + form.panel - 1
                seen.enter_context(build.where(first <= last))
            with in_block() as key:
                with build.statement("no_score"):
                    scores[*at, first + key] = 0
                with build.loops(term=width) as term, build.statement("score", order="any"):
                    scores[*at, first + key] += scaled[*at, term] * k[head, first + key, term]
            if mask is not None:
                with in_block() as key:
                    given = mask[query, first + key]
                    with build.statement("add_mask"):
                        # A finite number stays finite when it is multiplied by log2(e).
                        finite = maximum(given * LOG2_E, lowest)
                        hidden = select(given < lowest, -math.inf, finite)
                        scores[*at, first + key] = scores[*at, first + key] + hidden
            if form.causal:
                with in_block() as key, build.where(first + key > query), build.statement("hide"):
                    scores[*at, first + key] = -math.inf
            with build.statement("keep"):
                factor[at] = largest[at]
            with in_block() as key:
                score = scores[*at, first + key]
                with build.statement("maximum"):
                    # One instruction. A score that is NaN is skipped: its power is NaN.
                    largest[at] = select(score > largest[at], score, largest[at])
            with build.statement("factor"):
                factor[at] = _power_of_two(factor[at] - largest[at])
            with build.statement("rescale_total"):
                total[at] = total[at] * factor[at]
            with in_block() as key:
                with build.statement("power"):
                    scores[*at, first + key] = _power_of_two(scores[*at, first + key] - largest[at])
                with build.statement("total", order="any"):
                    total[at] += scores[*at, first + key]
            with build.loops(column=columns) as column:
                with build.statement("rescale"):
                    sums[*at, column] = sums[*at, column] * factor[at]
                with in_block() as key, build.statement("weigh", order="any"):
                    sums[*at, column] += scores[*at, first + key] * v[head, first + key, column]
        with build.loops(column=columns) as column, build.statement("divide"):
            # One division serves all columns of a tile, because LLVM makes equal values once.
            inverse = select(equal(total[at], 0), 0, 1 / total[at])
            out[*at, column] = sums[*at, column] * inverse
    return build.kernel()

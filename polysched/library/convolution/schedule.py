"""Schedule of a convolution: a register tile of output pixels by vectors of output channels.

The register tile is a block of neighboring pixels by a few vectors of channels. Its sums stay in
registers for the whole reduction. The choices follow the schedules measured in
:mod:`polysched.bench.conv.kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.expr.dtypes import DType
from polysched.library.convolution.size import AXES
from polysched.library.extents import extents_of
from polysched.library.on_demand import unscheduled
from polysched.machine.description import Machine
from polysched.machine.load import as_machine

if TYPE_CHECKING:
    from polysched.user import Schedule


@dataclass(frozen=True)
class Tile:
    """The register tile: ``rows`` by ``columns`` pixels, and vectors of ``lanes`` channels."""

    rows: int
    columns: int
    vectors: int
    lanes: int

    @property
    def channels(self) -> int:
        """The channels of a tile."""
        return self.vectors * self.lanes


def tile_for(height: int, width: int, channels: int, machine: Machine, dtype: DType) -> Tile:
    """Choose the register tile: with 32 registers, four vectors of channels by six pixels.

    Three quarters of the registers hold sums, an eighth the filter, the others pixels. Extents that
    are not multiples are divided into nearly equal parts: 100 channels in vectors of 16 become 64
    and 36.
    """
    vectors, lanes = channel_tile(channels, machine, dtype)
    sums = machine.vector_registers * 3 // 4
    columns = _even_part(width, sums // vectors)
    rows = _even_part(height, sums // (vectors * columns))
    return Tile(rows, columns, vectors, lanes)


def channel_tile(channels: int, machine: Machine, dtype: DType) -> tuple[int, int]:
    """The vectors of the register tile's channels, and the lanes of a vector."""
    lanes = min(machine.lanes(dtype.bits), 1 << (channels - 1).bit_length())
    return _even_part(-(-channels // lanes), machine.vector_registers // 8), lanes


def _even_part(extent: int, most: int) -> int:
    parts = -(-extent // most)
    return -(-extent // parts)


def convolution_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.convolution.kernel.convolution_kernel`.

    Args:
        machine: the machine that the schedule is for: a description, the name of a preset, or a
            file; by default this machine.
        threads: the number of threads; a small convolution uses a single thread.

    Raises:
        ScheduleError: it is another kernel, or there are no threads.
        MachineError: there is no such machine.
    """
    if threads < 1:
        raise ScheduleError(f"{kernel.name}: threads is {threads}; expected at least 1")
    axes = _axes(kernel)
    any_size = bool(kernel.parameters)
    out = extents_of(kernel, "out", " ".join(("n", *axes, "c")), _MAKER, _MANY)
    is_packed = "filter" in kernel.arrays and "c_block" in kernel.arrays["filter"].dimensions
    blocks = ("c_block",) if is_packed else ()
    names = (*(f"k{axis}" for axis in axes), "k")
    terms = ("t",) if "t" in kernel.statements["update"].indices else ()
    taps = extents_of(kernel, "filter", " ".join((*blocks, *names, "c", *terms)), _MAKER)
    channels_in = extents_of(kernel, "input", " ".join(("n", *axes, "k")), _MAKER, _MANY)["k"]
    groups = 1 if terms else channels_in // taps["k"]
    has_loop = "g" in kernel.statements["update"].indices
    channels = out["c"] // groups if has_loop else out["c"]
    target = as_machine(machine)
    tile = tile_for(out.get("y", 1), out["x"], channels, target, _sums(kernel))
    if is_packed and taps["c"] != tile.channels:
        raise ScheduleError(
            f"{kernel.name}: the filter has blocks of {taps['c']} channels; expected "
            f"{tile.channels}, the channels of a register tile of {target.name}"
        )
    order = _order(axes, groups, has_loop)
    schedule = _tiled(unscheduled(kernel), tile, order, names, terms)
    copies = [name for name in _COPIES if name in kernel.statements]
    inner = {
        statement: [f"{statement}.{loop}" for loop in _inside(schedule, statement, names, terms)]
        for statement in kernel.statements
        if statement not in copies
    }
    pixels = out["n"] * prod(out[axis] for axis in axes)
    products = pixels * out["c"] * prod(taps[name] for name in (*names, *terms))
    if threads > 1 and is_worth_threads(products, target):
        outer = _shared_loops(order)
        # Parametric extents cannot be collapsed: their product is not affine.
        shared, *others = (f"update.{loop}" for loop in (outer[-1:] if any_size else outer))
        for number, loop in enumerate(others):
            into = "rows" if number == len(others) - 1 else f"rows_{number}"
            schedule, shared = schedule.collapse(shared, loop, into=into), into
        schedule = schedule.parallel(shared)
        for copy in copies:
            schedule = schedule.parallel(f"{copy}.{axes[0]}")
    is_reused = pixels > _REUSED * tile.rows * tile.columns
    if groups == 1 and out["c"] > tile.channels and is_reused and not is_packed:
        schedule = schedule.pack("filter", at="c_tile", order=(*names, "c"))
        schedule = schedule.vectorize("filter_packed.c", tile.lanes)
    for statement, loops in inner.items():
        schedule = schedule.vectorize(loops[-1], tile.lanes).unroll(*loops)
        if terms and statement == "update":
            instruction = _instruction(kernel, taps["t"], tile.lanes, target)
            schedule = schedule.unroll("update.t").tensorize(f"{loops[-1]}v", instruction)
    for copy in copies:
        schedule = schedule.vectorize(f"{copy}.k", tile.lanes)
    return schedule.unroll("update.k", factor=2) if taps["k"] > 1 else schedule


_MAKER = "convolution_kernel"

_MANY = 1 << 16
"""Images or pixels that are assumed where their number is a parameter."""

_COPIES = ("widen", "fill")
"""Statements that copy the images before the taps run."""


def _sums(kernel: Kernel) -> DType:
    return kernel.arrays["sums" if "sums" in kernel.arrays else "out"].dtype


def _instruction(kernel: Kernel, terms: int, lanes: int, machine: Machine) -> str:
    """The instruction that adds the terms of a vector of sums."""
    # Imported for a new kernel only, as in :mod:`polysched.library.on_demand`.
    from polysched.instructions.lookup import sum_of_products  # noqa: PLC0415

    dtype = kernel.arrays["filter"].dtype
    name = sum_of_products((dtype, dtype), terms, lanes, machine.enabled_features)
    if name is None:
        raise ScheduleError(
            f"{kernel.name}: {machine.name} has no instruction that adds {terms} products of "
            f"{dtype} to a sum; expected a kernel with one term, of Format(terms=1)"
        )
    return name


def _axes(kernel: Kernel) -> tuple[str, ...]:
    """The dimensions of an image, outermost first."""
    out = kernel.arrays.get("out")
    dimensions = out.dimensions if out else ()
    axes = dimensions[1:-1]
    if dimensions != ("n", *AXES[-len(axes) :], "c"):
        raise ScheduleError(
            f"kernel '{kernel.name}' has no array 'out' with the dimensions n [z] [y] x c; "
            f"expected a kernel of {_MAKER}()"
        )
    return axes


def is_worth_threads(products: int, machine: Machine) -> bool:
    """Whether a convolution with this number of multiplications is faster on several threads."""
    return products >= machine.costs.parallel_products


_REUSED = 8
"""Pack the filter of a channel tile when more than this many tiles of pixels reuse it.

Measured on Zen 4, time without packing over time with it: 1.06 for a filter of 3x3x128x128 that
2000 pixels read, 0.98 to 1.03 for smaller filters and fewer pixels.
"""


def _order(axes: tuple[str, ...], groups: int, has_loop: bool) -> tuple[str, ...]:
    """The order of the tile loops. Groups have small filters, so the input is read only once."""
    planes = (*axes[:-2], *("y_tile" for _ in axes[-2:-1]))
    if groups == 1:
        return ("c_tile", "n", *planes, "x_tile")
    return ("n", *planes, *(("g",) if has_loop else ()), "c_tile", "x_tile")


def _shared_loops(order: tuple[str, ...]) -> tuple[str, ...]:
    """The tile loops that threads share: from the images to the rows, without rows to the end."""
    last = order.index("y_tile") + 1 if "y_tile" in order else len(order)
    return order[order.index("n") : last]


def _tiled(
    schedule: Schedule,
    tile: Tile,
    order: tuple[str, ...],
    names: tuple[str, ...],
    terms: tuple[str, ...],
) -> Schedule:
    """Tile the output around the reduction over ``names``, and promote its sums to registers."""
    has_epilogue = "epilogue" in schedule.kernel.statements
    taps, last = ([f"update.{loop}" for loop in loops] for loops in (names, terms))
    statement = "epilogue" if has_epilogue else "update"
    factors = {"c": tile.channels, "x": tile.columns}
    if "y_tile" in order:
        factors["y"] = tile.rows
    for loop, factor in factors.items():
        pair = (f"{loop}_tile", f"{loop}_in")
        schedule = schedule.split(f"{statement}.{loop}", factor, into=pair)
    tiles = [f"{statement}.{loop}" for loop in order]
    inside = [f"{loop}_in" for loop in reversed(("c", "x", "y")) if loop in factors]
    if not has_epilogue:
        schedule = schedule.reorder(*tiles, *taps, *inside, *last).compute_at("init", at="x_tile")
        return schedule.promote("out", at="x_tile", lanes=tile.lanes)
    schedule = schedule.reorder(*tiles, *inside).compute_at("sums", at="x_tile")
    pixels = [f"update.{loop}" for loop in _inside(schedule, "update", names, terms)]
    return schedule.reorder(*taps, *pixels, *last).promote("sums", at="x_tile")


def _inside(
    schedule: Schedule, statement: str, taps: tuple[str, ...], terms: tuple[str, ...]
) -> list[str]:
    """The loops over a register tile's rows, columns and channels, in this order."""
    loops = [loop.name for loop in path(schedule.program.tree, statement)]
    return [loop for loop in loops[loops.index("x_tile") + 1 :] if loop not in (*taps, *terms)]

"""Schedule of a convolution: a register tile of output pixels by vectors of output channels.

The register tile is a block of neighboring pixels by a few vectors of channels. Its sums stay in
registers for the whole reduction. The choices follow the schedules measured in
:mod:`polysched.bench.convolution_kernel`.
"""

from __future__ import annotations

from dataclasses import dataclass

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import path
from polysched.ir.expr.dtypes import DType
from polysched.library.extents import extents_of
from polysched.machine.description import Machine
from polysched.machine.load import as_machine
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
    """The largest part when ``extent`` is divided evenly into parts of at most ``most``."""
    parts = -(-extent // most)
    return -(-extent // parts)


def conv2d_schedule(
    kernel: Kernel, machine: Machine | str | None = None, threads: int = 1
) -> Schedule:
    """Schedule a kernel of :func:`polysched.library.conv2d.conv2d`.

    Args:
        kernel: the convolution.
        machine: the machine that the schedule is for: a description, the name of a preset, or a
            file; by default this machine.
        threads: the number of threads; a small convolution uses a single thread.

    Raises:
        ScheduleError: it is another kernel, or there are no threads.
        MachineError: there is no such machine.
    """
    if threads < 1:
        raise ScheduleError(f"conv2d: threads is {threads}; expected at least 1")
    out = extents_of(kernel, "out", "n y x c", "conv2d")
    is_packed = "filter" in kernel.arrays and "c_block" in kernel.arrays["filter"].dimensions
    blocks = "c_block " if is_packed else ""
    taps = extents_of(kernel, "filter", f"{blocks}ky kx k c", "conv2d")
    groups = extents_of(kernel, "input", "n y x k", "conv2d")["k"] // taps["k"]
    has_loop = "g" in kernel.statements["update"].indices
    channels = out["c"] // groups if has_loop else out["c"]
    target = as_machine(machine)
    tile = tile_for(out["y"], out["x"], channels, target, kernel.arrays["out"].dtype)
    if is_packed and taps["c"] != tile.channels:
        raise ScheduleError(
            f"conv2d: the filter has blocks of {taps['c']} channels; expected {tile.channels}, "
            f"the channels of a register tile of {target.name}"
        )
    schedule = _tiled(Schedule(kernel), tile, _order(groups, has_loop))

    pixels = out["n"] * out["y"] * out["x"]
    products = pixels * out["c"] * taps["ky"] * taps["kx"] * taps["k"]
    if threads > 1 and is_worth_threads(products, target):
        schedule = schedule.collapse("update.n", "y_tile", into="rows").parallel("rows")
    is_reused = pixels > _REUSED * tile.rows * tile.columns
    if groups == 1 and out["c"] > tile.channels and is_reused and not is_packed:
        schedule = schedule.pack("filter", at="c_tile", order=("ky", "kx", "k", "c"))
        schedule = schedule.vectorize("filter_packed.c", tile.lanes)
    for statement in kernel.statements:
        inner = [f"{statement}.{loop}" for loop in _inside(schedule, statement)]
        schedule = schedule.vectorize(inner[-1], tile.lanes).unroll(*inner)
    return schedule.unroll("update.k", factor=2) if taps["k"] > 1 else schedule


def is_worth_threads(products: int, machine: Machine) -> bool:
    """Whether a convolution with so many multiplications is faster on several threads."""
    return products >= machine.costs.parallel_products


_REUSED = 8
"""Pack the filter of a channel tile when more than this many tiles of pixels reuse it.

Measured on Zen 4, time without packing over time with it: 1.06 for a filter of 3x3x128x128 that
2000 pixels read, 0.98 to 1.03 for smaller filters and fewer pixels.
"""


def _order(groups: int, has_loop: bool) -> tuple[str, ...]:
    """The order of the tile loops. Groups have small filters, so the input is read only once."""
    if groups == 1:
        return ("c_tile", "n", "y_tile", "x_tile")
    return ("n", "y_tile", *(("g",) if has_loop else ()), "c_tile", "x_tile")


def _tiled(schedule: Schedule, tile: Tile, order: tuple[str, ...]) -> Schedule:
    """Tile the output around the reduction, and promote its sums to registers."""
    has_epilogue = "epilogue" in schedule.kernel.statements
    taps = [f"update.{tap}" for tap in _TAPS]
    statement = "epilogue" if has_epilogue else "update"
    for loop, factor in (("c", tile.channels), ("x", tile.columns), ("y", tile.rows)):
        pair = (f"{loop}_tile", f"{loop}_in")
        schedule = schedule.split(f"{statement}.{loop}", factor, into=pair)
    tiles, inside = [f"{statement}.{loop}" for loop in order], ("y_in", "x_in", "c_in")
    if not has_epilogue:
        schedule = schedule.reorder(*tiles, *taps, *inside).compute_at("init", at="x_tile")
        return schedule.promote("out", at="x_tile", lanes=tile.lanes)
    schedule = schedule.reorder(*tiles, *inside).compute_at("sums", at="x_tile")
    pixels = [f"update.{loop}" for loop in _inside(schedule, "update")]
    return schedule.reorder(*taps, *pixels).promote("sums", at="x_tile")


_TAPS = ("ky", "kx", "k")


def _inside(schedule: Schedule, statement: str) -> list[str]:
    """The loops over a register tile's rows, columns and channels, in this order."""
    loops = [loop.name for loop in path(schedule.program.tree, statement)]
    return [loop for loop in loops[loops.index("x_tile") + 1 :] if loop not in _TAPS]

"""Choose and cache the compiled copy of an axis permutation."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType

from polysched.ir.expr.dtypes import DType
from polysched.library.transpose.axes import Movement
from polysched.library.transpose.kernel import transpose_kernel
from polysched.library.transpose.rows import copy_kernel, copy_schedule, rows_kernel, rows_schedule
from polysched.library.transpose.schedule import (
    TileOrder,
    collecting,
    shared,
    tile_order_of,
    transpose_schedule,
)
from polysched.library.transpose.thin import (
    BlockOrder,
    block_order_of,
    thin_kernel,
    thin_of,
    thin_schedule,
)
from polysched.lower import compile
from polysched.machine.description import Machine
from polysched.runtime.kernel import CompiledKernel

_LEAST_COLUMNS: Mapping[int, int] = MappingProxyType({1: 2, 2: 3, 4: 7, 8: 3})
"""By element size in bytes: leave rows of fewer elements to numpy, whose scalar loop is faster."""
_FEWEST_THIN = 512
"""Leave such short rows to numpy in arrays of at least this many elements.

For smaller arrays numpy's call alone takes longer than our copy.
"""


@dataclass(frozen=True)
class Compiled:
    """A compiled copy and its arguments.

    Attributes:
        source_shape: the shape of the kernel's input.
        target_shape: the shape of the kernel's output.
        sizes: the values of the kernel's parameters.
        is_copy: whether the permutation is the identity.
    """

    kernel: CompiledKernel
    source_shape: tuple[int, ...]
    target_shape: tuple[int, ...]
    sizes: tuple[int, ...]
    is_copy: bool = False


def compiled_for(movement: Movement, dtype: DType, team: int, machine: Machine) -> Compiled | None:
    """The compiled copy of at least one element; None if numpy is as fast or faster.

    Args:
        team: the most threads to use.
    """
    count = math.prod(movement.shape)
    size = count * dtype.bytes
    team = team if size >= machine.costs.parallel_copy_bytes else 1
    if movement.order[-1:] in {(), (len(movement.order) - 1,)}:
        if not movement.is_copy:
            return _of_rows(movement, dtype, team, machine)
        if size > machine.cache_bytes(2):
            return None
        return Compiled(copying(dtype, machine), (count,), (count,), (count,), is_copy=True)
    thin = thin_of(movement, machine.lanes(dtype.bits), machine.vector_registers)
    if thin is not None:
        few = block_order_of(thin, size, team, machine.last_cache_bytes)
        kernel = thin_transposing(thin.columns, thin.joins, dtype, few, machine)
        return Compiled(kernel, thin.source, thin.target, (thin.images, thin.rows))
    if count >= _FEWEST_THIN and movement.shape[-1] < _LEAST_COLUMNS[dtype.bytes]:
        return None
    kernel = transposing(
        movement.order, dtype, tile_order_for(movement, dtype, team, machine), machine
    )
    target_shape = tuple(movement.shape[axis] for axis in movement.order)
    return Compiled(kernel, movement.shape, target_shape, movement.shape)


def tile_order_for(movement: Movement, dtype: DType, team: int, machine: Machine) -> TileOrder:
    """Choose the tile order of a permutation.

    Args:
        movement: the permutation; it moves the last axis.
    """
    size = math.prod(movement.shape) * dtype.bytes
    tile = machine.lanes(dtype.bits)
    target_shape = [movement.shape[axis] for axis in movement.order]
    rows, columns = movement.shape[movement.order[-1]] // tile, movement.shape[-1] // tile
    pitch = _pitch(target_shape, movement.order.index(len(target_shape) - 1)) * dtype.bytes
    if (
        _collects(tile, pitch, machine)
        and 2 * size <= machine.costs.collected_share * machine.last_cache_bytes
    ):
        collected = collecting(tile, dtype.bytes)
        if rows >= collected.rows and columns >= collected.columns:
            return shared(collected, rows, team) if team > 1 else collected
    tile_order = tile_order_of(
        tile,
        pitch,
        is_large=2 * size >= machine.last_cache_bytes,
        is_near=2 * size <= machine.cache_bytes(2),
        diagonal=min(rows // team, columns),
        source_pitch=_pitch(movement.shape, movement.order[-1]) * dtype.bytes,
        machine=machine,
    )
    return shared(tile_order, rows, team) if team > 1 else tile_order


def _collects(tile: int, pitch: int, machine: Machine) -> bool:
    if not machine.caches:
        return False
    first = machine.caches[0]
    return tile > first.associativity and pitch % (first.bytes // first.associativity) == 0


def _of_rows(movement: Movement, dtype: DType, team: int, machine: Machine) -> Compiled:
    """The compiled copy of a permutation that moves whole rows."""
    is_far = 2 * math.prod(movement.shape) * dtype.bytes > machine.cache_bytes(2)
    kernel = moving_rows(movement.order, dtype, is_far, team > 1, machine)
    target_shape = tuple(movement.shape[axis] for axis in movement.order)
    return Compiled(kernel, movement.shape, target_shape, movement.shape)


@lru_cache(maxsize=64)
def moving_rows(
    order: tuple[int, ...], dtype: DType, is_far: bool, is_shared: bool, machine: Machine
) -> CompiledKernel:
    """Compile the copy of a permutation that keeps the last dimension last.

    Args:
        order: as :func:`polysched.library.transpose.rows.rows_kernel` takes it.
        is_far: whether the arrays exceed the L2 cache.
        is_shared: whether threads share the work.
    """
    kernel, lanes = rows_kernel(order, dtype), machine.lanes(dtype.bits)
    return compile(rows_schedule(kernel, lanes, is_far=is_far, is_shared=is_shared), machine)


@lru_cache(maxsize=8)
def copying(dtype: DType, machine: Machine) -> CompiledKernel:
    """Compile the identity copy."""
    return compile(copy_schedule(copy_kernel(dtype), machine.lanes(dtype.bits)), machine)


@lru_cache(maxsize=64)
def thin_transposing(
    columns: int, joins: bool, dtype: DType, tile_order: BlockOrder, machine: Machine
) -> CompiledKernel:
    """Compile the copy from arrays of few columns to few long rows, or back.

    Args:
        joins: whether the result has the short rows.
    """
    lanes = machine.lanes(dtype.bits)
    kernel = thin_kernel(dtype, columns, lanes, joins=joins)
    return compile(thin_schedule(kernel, lanes, tile_order), machine)


@lru_cache(maxsize=64)
def transposing(
    order: tuple[int, ...], dtype: DType, tile_order: TileOrder, machine: Machine
) -> CompiledKernel:
    """Compile the copy of a permutation by tiles of one vector by one vector.

    Args:
        order: as :func:`polysched.library.transpose.kernel.transpose_kernel` takes it.
    """
    tile = machine.lanes(dtype.bits)
    kernel = transpose_kernel(order, dtype, tile)
    return compile(transpose_schedule(kernel, tile, tile_order), machine)


def _pitch(shape: Sequence[int], axis: int) -> int:
    return math.prod(shape[axis + 1 :])

"""Prepared matrices of integer codes: the order in which the kernel reads them."""

from __future__ import annotations

import numpy as np

from polysched.errors import CallError
from polysched.ir.expr.dtypes import f32
from polysched.library.dynamic_linear.affine import affine_codes
from polysched.library.dynamic_linear.kernel import TERMS
from polysched.library.dynamic_linear.matrix import NumpyArray, PreparedMatrix
from polysched.library.matmul.dispatch.computed import Computed
from polysched.machine.description import Machine
from polysched.machine.load import load_machine
from polysched.runtime.memory import aligned_copy

LARGEST_GROUP = 512
"""Most terms that are added as integers; a larger group is cut into blocks of ``BLOCK`` terms."""

BLOCK = 256


def vectors_of_panel(machine: Machine) -> int:
    """The vectors of columns of a register tile; its rows share the loads of the codes."""
    return 4 if machine.vector_registers >= 32 else 2


def prepared_matrix(matrix: Computed) -> PreparedMatrix:
    """Copy the codes and the scales of a computed right operand into the order of the kernel."""
    if 0 in matrix.shape:
        raise CallError(f"prepare: 'weight' has shape {matrix.shape}; expected positive extents")
    machine = load_machine(None)
    given = affine_codes(matrix)
    lanes = machine.lanes(f32.bits)
    columns = lanes * vectors_of_panel(machine)
    terms, count = matrix.shape
    block = _block_of(given.group)
    in_group = -(-given.group // block)
    groups = given.factor.shape[1]
    panels, blocks = -(-count // columns), groups * in_group
    shift = 1 << (given.bits - 1) if given.is_signed else 0
    factor, summand = given.factor, given.summand - shift * given.factor
    filled = np.zeros((panels * columns, blocks * block), np.uint8)
    in_blocks(filled[:count], given.group)[..., : given.group] = _by_group(
        (given.codes.astype(np.int16) + shift).astype(np.uint8), given.group
    )
    order = filled.reshape(panels, columns, blocks, block // TERMS, TERMS).transpose(0, 2, 3, 1, 4)
    packed = np.ascontiguousarray(order).reshape(panels, blocks, block // TERMS, columns * TERMS)
    is_packed = given.bits <= 4
    if is_packed:
        low, high = np.split(packed, 2, axis=-1)
        packed = low | high << 4

    def of_blocks(numbers: NumpyArray) -> NumpyArray:
        whole = np.zeros((panels * columns, blocks), np.float32)
        whole[:count] = np.repeat(numbers, in_group, axis=1)
        return aligned_copy(whole.reshape(panels, columns, blocks).transpose(0, 2, 1).copy())

    return PreparedMatrix(
        (terms, count),
        given.group,
        block,
        lanes,
        is_packed,
        aligned_copy(packed),
        of_blocks(factor),
        of_blocks(summand),
    )


def _block_of(group: int) -> int:
    return -(-group // TERMS) * TERMS if group <= LARGEST_GROUP else BLOCK


def in_blocks(filled: NumpyArray, group: int) -> NumpyArray:
    """A view of rows of whole blocks as ``[rows, groups, terms of a group's blocks]``."""
    block = _block_of(group)
    return filled.reshape(len(filled), -1, -(-group // block) * block)


def _by_group(array: NumpyArray, group: int) -> NumpyArray:
    """Rows as ``[rows, groups, terms]``, filled up with zeros."""
    rows, terms = array.shape
    missing = -terms % group
    return np.pad(array, ((0, 0), (0, missing))).reshape(rows, -1, group)

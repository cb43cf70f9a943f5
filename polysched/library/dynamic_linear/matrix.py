"""Matrices of integer codes in the order in which the kernel reads them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

NumpyArray = np.ndarray[Any, Any]


@dataclass(frozen=True, eq=False)
class PreparedMatrix:
    """A matrix of integer codes for products with rows rounded to 8 bits; see :func:`prepare`.

    Attributes:
        shape: terms and columns.
        group: terms that share a scale.
        block: terms that are added as integers, filled up to a multiple of :data:`TERMS`.
        lanes: columns of a vector.
        is_packed: whether a byte holds two codes of at most 4 bits.
        codes: the codes, shifted so that they are unsigned: ``[panels, blocks, steps, columns *
            TERMS]``, or half as many bytes.
        scale: the factor of the codes of a block, ``[panels, blocks, columns]``.
        offset: the summand of each element of a block.
    """

    shape: tuple[int, int]
    group: int
    block: int
    lanes: int
    is_packed: bool
    codes: NumpyArray = field(repr=False)
    scale: NumpyArray = field(repr=False)
    offset: NumpyArray = field(repr=False)

    @property
    def columns(self) -> int:
        """The columns of a panel."""
        return int(self.scale.shape[-1])

    @property
    def blocks(self) -> int:
        """The blocks of terms."""
        return int(self.scale.shape[1])

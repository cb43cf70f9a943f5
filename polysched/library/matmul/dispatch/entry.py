"""Dispatch entry: the kernel of one kind of ``matmul`` call and how its arguments are prepared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.library.matmul.dispatch.computed import Computed
from polysched.library.matmul.dispatch.shapes import NumpyArray, Shape
from polysched.library.matmul.dispatch.views import Preparation
from polysched.runtime.call_cache import CallTarget
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import share_memory


@dataclass(frozen=True, eq=False)
class DispatchEntry:
    """The kernel that computes one kind of call, and the preparation of its arguments.

    Attributes:
        kernel: the compiled kernel; None for a product without terms, which is filled with 0.
        is_swapped: whether the kernel takes ``b`` before ``a``.
        left: brings the kernel's first operand into the kernel's form; None if it has that form.
        right: the same for the second operand.
        target: the same for the result, as a view.
        vectors: copy the scales and the bias into the kernel's form.
        options: further arguments of the kernel's call.
        multiplies: whether the kernel takes the operands; a product without terms does not.
        copies_out: whether the kernel computes into a copy of the result.
        direct_call: the call that the call cache runs for later calls of this kind; None if an
            argument has to be copied or converted first.
    """

    shape: Shape
    dtype: np.dtype[Any]
    kernel: CompiledKernel | None = None
    is_swapped: bool = False
    left: Preparation | None = None
    right: Preparation | None = None
    target: Preparation | None = None
    vectors: tuple[Preparation, ...] = ()
    options: Mapping[str, int] = field(default_factory=dict)
    multiplies: bool = True
    copies_out: bool = False
    direct_call: CallTarget | None = None

    def run(
        self,
        a: NumpyArray | Computed,
        b: NumpyArray | Computed,
        out: NumpyArray,
        factors: Sequence[NumpyArray] = (),
        vectors: Sequence[NumpyArray] = (),
    ) -> None:
        """Compute into ``out``.

        Args:
            a: the left operand.
            b: the right operand.
            out: an array of the result's shape and type.
            factors: ``alpha`` and ``beta``, as far as they are run-time arguments; numpy has to
                allow writing to them.
            vectors: the scales, then the bias, if there is one.

        Raises:
            CallError: ``out`` shares memory with an operand.
        """
        if self.kernel is None:
            out.fill(0)
            return
        whole = np.array(out, order="C") if self.copies_out else out
        inner = whole if self.target is None else self.target(whole)
        further = [copy(vector) for copy, vector in zip(self.vectors, vectors, strict=True)]
        operands = self._operands(a, b) if self.multiplies else ()
        try:
            self.kernel(*operands, *factors, *further, inner, **self.options)
        except CallError:
            _require_no_overlap(a, b, out)
            raise
        if self.copies_out:
            out[...] = whole

    def _operands(self, a: NumpyArray | Computed, b: NumpyArray | Computed) -> list[NumpyArray]:
        """The kernel's arguments for both operands."""
        arrays = []
        left, right = (b, a) if self.is_swapped else (a, b)
        for operand, prepare in ((left, self.left), (right, self.right)):
            if isinstance(operand, Computed):
                arrays += operand.arrays()
            else:
                arrays.append(operand if prepare is None else prepare(operand))
        return arrays


def _require_no_overlap(
    a: NumpyArray | Computed, b: NumpyArray | Computed, out: NumpyArray
) -> None:
    """Check that ``out`` overlaps no operand. The kernel's own error has other names of arrays."""
    for name, operand in (("a", a), ("b", b)):
        if isinstance(operand, Computed):
            inputs = operand.named(name)
        else:
            inputs = {f"arrays '{name}'": operand}
        for label, array in inputs.items():
            if share_memory(array, out):
                raise CallError(
                    f"matmul: {label} and 'out' overlap in memory, and 'out' is written; "
                    "expected separate memory: pass a copy of one of them"
                ) from None

"""How calls of ``matmul`` of one kind are computed, once that is decided."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polysched.errors import CallError
from polysched.library.matmul.computed import Computed
from polysched.library.matmul.shapes import NumpyArray, Shape
from polysched.library.matmul.views import Preparation
from polysched.runtime.door import Target
from polysched.runtime.kernel import CompiledKernel
from polysched.runtime.memory import share_memory


@dataclass(frozen=True, eq=False)
class Route:
    """How calls of one kind are computed.

    Attributes:
        shape: of the result.
        dtype: of the result.
        kernel: computes it; None if there is nothing to add up.
        is_swapped: whether the kernel takes ``b`` first.
        left: brings the kernel's first operand into its form; None where it has it.
        right: the same for the second operand.
        target: the same for the result, by a view.
        bias: brings a bias into the kernel's form, in memory of its own; None if there is none.
        options: further arguments of the kernel's call.
        multiplies: whether the kernel takes the operands; without terms it does not.
        copies_out: whether the kernel computes into a copy of the result.
        door: what calls with such arrays, factors and bias run at once when they come again, as
            they lie; None if there is more to do.
    """

    shape: Shape
    dtype: np.dtype[Any]
    kernel: CompiledKernel | None = None
    is_swapped: bool = False
    left: Preparation | None = None
    right: Preparation | None = None
    target: Preparation | None = None
    bias: Preparation | None = None
    options: Mapping[str, int] = field(default_factory=dict)
    multiplies: bool = True
    copies_out: bool = False
    door: Target | None = None

    def run(
        self,
        a: NumpyArray | Computed,
        b: NumpyArray | Computed,
        out: NumpyArray,
        factors: Sequence[NumpyArray] = (),
        bias: NumpyArray | None = None,
    ) -> None:
        """Compute into ``out``.

        Args:
            a: the left operand.
            b: the right operand.
            out: an array of the result's shape and type.
            factors: those of the finish that may be any number; numpy lets them be written.
            bias: its bias, if it has one.

        Raises:
            CallError: ``out`` shares memory with an operand.
        """
        if self.kernel is None:
            out.fill(0)
            return
        whole = np.array(out, order="C") if self.copies_out else out
        inner = whole if self.target is None else self.target(whole)
        further = () if self.bias is None or bias is None else (self.bias(bias),)
        operands = self._operands(a, b) if self.multiplies else ()
        try:
            self.kernel(*operands, *factors, *further, inner, **self.options)
        except CallError:
            _require_apart(a, b, out)
            raise
        if self.copies_out:
            out[...] = whole

    def _operands(self, a: NumpyArray | Computed, b: NumpyArray | Computed) -> list[NumpyArray]:
        """What the kernel takes for the operands."""
        found = []
        left, right = (b, a) if self.is_swapped else (a, b)
        for operand, prepare in ((left, self.left), (right, self.right)):
            if isinstance(operand, Computed):
                found += operand.arrays()
            else:
                found.append(operand if prepare is None else prepare(operand))
        return found


def _require_apart(a: NumpyArray | Computed, b: NumpyArray | Computed, out: NumpyArray) -> None:
    """Say which of the caller's arrays overlaps ``out``, if that is what is wrong: the kernel knows
    them by other names.
    """
    for name, operand in (("a", a), ("b", b)):
        if isinstance(operand, Computed):
            named = operand.named(name)
        else:
            named = {f"arrays '{name}'": operand}
        for what, array in named.items():
            if share_memory(array, out):
                raise CallError(
                    f"matmul: {what} and 'out' overlap in memory, and 'out' is written; "
                    "expected separate memory: pass a copy of one of them"
                ) from None

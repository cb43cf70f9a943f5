"""Pipeline: schedule, prove, compile and run an output Func with its producers.

::

    pipeline = Pipeline(relu)
    print(pipeline.schedule([128, 100, 80, 5]).check())
    run = pipeline.compile([128, 100, 80, 5])
    output = run(bias, filter, input)
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polysched.errors import FrontendError
from polysched.frontends.halide.domains import Extent, as_extent
from polysched.frontends.halide.inlining import algorithm
from polysched.frontends.halide.language import Func
from polysched.frontends.halide.lowering import lower
from polysched.frontends.halide.scheduling import scheduled
from polysched.ir.core.kernel import Kernel, Order
from polysched.machine.description import Machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule


class Pipeline:
    """Pipeline that computes an output Func.

    Images are passed in the order in which the definitions read them, or by name. As in Halide, a
    schedule may reassociate reductions; ``order="exact"`` keeps the order of the definition.

    Args:
        output: the output Func.
        order: the order policy of reductions.
    """

    def __init__(self, output: Func, order: Order | str = Order.ANY) -> None:
        if not isinstance(output, Func):
            raise FrontendError(f"Pipeline of a {type(output).__name__}; expected a Func")
        try:
            self.order = Order(order)
        except ValueError:
            raise FrontendError(
                f"unknown order policy {order!r} of a pipeline; expected 'exact' or 'any'"
            ) from None
        self.output = output

    def kernel(self, extents: Sequence[Extent]) -> Kernel:
        """Lower the algorithm to a kernel, without the directives.

        Args:
            extents: extents of the output, the innermost dimension first: numbers, or names of
                sizes.
        """
        return lower(algorithm(self.output), _extents(extents), self.order)

    def schedule(self, extents: Sequence[Extent]) -> Schedule:
        """Apply all directives to the kernel; legality is not checked yet.

        Raises:
            FrontendError: bounds cannot be inferred, or a directive cannot be applied.
        """
        collected = algorithm(self.output)
        kernel = lower(collected, _extents(extents), self.order)
        return scheduled(Schedule(kernel), collected)

    def compile(
        self, extents: Sequence[Extent], machine: Machine | str | None = None
    ) -> CompiledKernel:
        """Prove the schedule legal and compile it.

        Raises:
            IllegalScheduleError, UnknownLegalityError: the schedule cannot be proved legal.
        """
        return self.schedule(extents).compile(machine)

    def realize(self, extents: Sequence[Extent], *images: Any, **named: Any) -> Any:
        """Compile and run, for extents that are numbers. Arrays have the last dimension first."""
        return self.compile(extents)(*images, **named)


def _extents(extents: Sequence[Extent]) -> list[Any]:
    if isinstance(extents, str) or not isinstance(extents, Sequence):
        shown = repr(extents) if isinstance(extents, str) else f"of type {type(extents).__name__}"
        raise FrontendError(
            f"extents {shown}; expected a list, one for each dimension, before the images"
        )
    return [as_extent(extent) for extent in extents]

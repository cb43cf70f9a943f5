"""A pipeline: an output Func with all that it needs, scheduled, proved, compiled and run.

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
from polysched.ir.kernel import Kernel, Order
from polysched.machine.description import Machine
from polysched.runtime.kernel import CompiledKernel
from polysched.user import Schedule


class Pipeline:
    """What computes an output Func.

    Images are passed in the order in which the definitions read them, or by name. As in Halide,
    reductions may combine in any order that the schedule asks for; ``order="exact"`` keeps that of
    the definition.

    Args:
        output: the Func that is computed.
        order: the policy of reductions.
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
        """The algorithm as a kernel, without the directives.

        Args:
            extents: of the output, the innermost dimension first: numbers, or names of sizes.
        """
        return lower(algorithm(self.output), _extents(extents), self.order)

    def schedule(self, extents: Sequence[Extent]) -> Schedule:
        """The kernel with all directives applied; nothing is judged yet.

        Raises:
            FrontendError: bounds cannot be inferred, or a directive cannot be applied.
        """
        found = algorithm(self.output)
        kernel = lower(found, _extents(extents), self.order)
        return scheduled(Schedule(kernel), found)

    def compile(
        self, extents: Sequence[Extent], machine: Machine | str | None = None
    ) -> CompiledKernel:
        """Prove the schedule legal and compile it.

        Raises:
            IllegalScheduleError, UnknownLegalityError: it is not proved.
        """
        return self.schedule(extents).compile(machine)

    def realize(self, extents: Sequence[Extent], *images: Any, **named: Any) -> Any:
        """Compile and run; extents are numbers here. Arrays have the last dimension first."""
        return self.compile(extents)(*images, **named)


def _extents(given: Sequence[Extent]) -> list[Any]:
    if isinstance(given, str):
        raise FrontendError(f"extents {given!r}; expected a list, one for each dimension")
    return [as_extent(one) for one in given]

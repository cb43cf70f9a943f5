"""Lower an algorithm and the extents of its output to an unscheduled kernel.

Every Func that is not inline has a loop nest for each definition: Vars outside, reduction variables
inside, the first of each innermost. Producers run before their consumers. Arrays have the Func's
dimensions in reverse order, so the first dimension is contiguous in row-major memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack

import islpy as isl

from polysched.errors import FrontendError, KernelError
from polysched.frontends.halide.bounds import Region, pure_variables, regions, sizes_of
from polysched.frontends.halide.inlining import Algorithm, Computed
from polysched.frontends.halide.language import Call, Definition, ImageParam
from polysched.frontends.reductions import with_order
from polysched.ir.core.kernel import Kernel, Order, Role
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.affine import instance_space
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.traversal import transform


def lower(algorithm: Algorithm, extents: Sequence[Expression], order: Order) -> Kernel:
    """Lower an algorithm to the kernel that computes a region of the output.

    Args:
        algorithm: the Funcs and images of the pipeline.
        extents: extents of the output, the innermost dimension first; its region begins at 0.
        order: the order policy of the reductions.

    Raises:
        FrontendError: bounds cannot be inferred, or an image is read at negative subscripts.
        KernelError: a kernel cannot compute a definition.
    """
    output = algorithm.funcs[-1]
    build = KernelBuilder(output.name)
    sizes = sizes_of(algorithm, extents)
    for size in sizes:
        build.parameter(size, minimum=1)
    context = _positive(sizes)
    inferred = regions(algorithm, extents, context, sizes)
    arrays: dict[str, ArrayHandle] = {}
    for image in algorithm.images:
        if image.name in inferred:
            arrays[image.name] = _image(build, image, inferred[image.name])
    for computed in algorithm.funcs:
        declare = build.output if computed is output else build.temporary
        dtype = computed.func.dtype
        assert dtype is not None
        variables = computed.func.variables
        shape = [interval.extent for interval in inferred[computed.name]]
        arrays[computed.name] = declare(
            computed.name, dtype, tuple(reversed(shape)), dimensions=" ".join(reversed(variables))
        )
    for computed in algorithm.funcs:
        for number, definition in enumerate(computed.definitions):
            _declare(build, computed, number, definition, (arrays, inferred))
    kernel = build.kernel()
    return with_order(kernel, order)


def _positive(sizes: Sequence[str]) -> isl.Set:
    context = isl.Set.universe(instance_space(sizes, "", ()).params())
    for position in range(len(sizes)):
        context = context.lower_bound_val(isl.dim_type.param, position, isl.Val(1))
    return context


def _image(build: KernelBuilder, image: ImageParam, region: Region) -> ArrayHandle:
    """Declare an image with its declared extents, else with the extents that are read."""
    for position, interval in enumerate(region):
        first = interval.first
        if isinstance(first, Constant) and first.value < 0:
            raise FrontendError(
                f"image '{image.name}' is read at subscripts from {first} in dimension {position}; "
                "expected subscripts from 0: clamp the subscript, or shift it"
            )
    extents = image.extents or tuple(interval.end for interval in region)
    return build.input(image.name, image.dtype, tuple(reversed(extents)))


def _declare(
    build: KernelBuilder,
    computed: Computed,
    number: int,
    definition: Definition,
    storage: tuple[Mapping[str, ArrayHandle], Mapping[str, Region]],
) -> None:
    """Declare one definition: its loops and its statement."""
    arrays, inferred = storage
    region = dict(zip(computed.func.variables, inferred[computed.name], strict=True))

    def array_subscripts(name: str, subscripts: Sequence[Expression]) -> tuple[Expression, ...]:
        """Subscripts in the array: in reverse order, relative to the start of the region."""
        starts: list[Expression] = [Constant(0)] * len(subscripts)
        if arrays[name].array.role is not Role.INPUT:
            starts = [interval.first for interval in inferred[name]]
        return tuple(
            plain(subscript) if start == Constant(0) else plain(subscript) - start
            for subscript, start in reversed(list(zip(subscripts, starts, strict=True)))
        )

    def plain(expression: Expression) -> Expression:
        return transform(expression, rule)

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Call):
            return arrays[node.array][array_subscripts(node.array, node.subscripts)]
        return Index(node.name) if isinstance(node, Index) else None

    with ExitStack() as stack:
        if definition.location is not None:
            stack.enter_context(build.located(definition.location))
        for variable in reversed(pure_variables(computed, definition)):
            bounds = (region[variable].first, region[variable].end)
            stack.enter_context(build.loops(**{variable: bounds}))
        for domain in definition.domains:
            for reduction, (low, count) in reversed(list(zip(domain, domain.bounds, strict=True))):
                stack.enter_context(build.loops(**{reduction.name: (low, low + count)}))
            for condition in domain.conditions:
                stack.enter_context(build.where(plain(condition)))
        try:
            stack.enter_context(build.statement(computed.statement(number)))
            target = array_subscripts(computed.name, definition.subscripts)
            arrays[computed.name][target] = plain(definition.value)
        except KernelError as error:
            where = "" if definition.location is None else f" ({definition.location})"
            raise KernelError(f"Func '{computed.name}': {error}{where}") from None

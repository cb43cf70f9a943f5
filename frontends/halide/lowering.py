"""From an algorithm and a region of its output to a kernel, without a schedule.

Every Func that is not inline has a nest for each definition, Vars outside and reduction variables
inside, the first of each innermost. Producers run before their consumers. An array has its
dimensions in the opposite order, so that the first one is contiguous.
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
from polysched.ir.affine import instance_space
from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.expressions import Constant, Expression, Index
from polysched.ir.kernel import Kernel, Order, Role
from polysched.ir.traversal import transform


def lower(algorithm: Algorithm, extents: Sequence[Expression], order: Order) -> Kernel:
    """The kernel that computes a region of the output.

    Args:
        algorithm: what is computed.
        extents: of the output, the innermost dimension first; it begins at 0.
        order: the policy of its reductions.

    Raises:
        FrontendError: bounds cannot be inferred, or an image is read before its beginning.
        KernelError: a definition is none that a kernel can compute.
    """
    output = algorithm.funcs[-1]
    build = KernelBuilder(output.name)
    sizes = sizes_of(algorithm, extents)
    for size in sizes:
        build.parameter(size, minimum=1)
    context = _positive(sizes)
    found = regions(algorithm, extents, context, sizes)
    arrays: dict[str, ArrayHandle] = {}
    for image in algorithm.images:
        if image.name in found:
            arrays[image.name] = _image(build, image, found[image.name])
    for computed in algorithm.funcs:
        declare = build.output if computed is output else build.temporary
        dtype = computed.func.dtype
        assert dtype is not None
        variables = computed.func.variables
        shape = [interval.extent for interval in found[computed.name]]
        arrays[computed.name] = declare(
            computed.name,
            dtype,
            tuple(reversed(shape)),
            dimensions=" ".join(reversed(variables)),
        )
    for computed in algorithm.funcs:
        for number, definition in enumerate(computed.definitions):
            _declare(build, computed, number, definition, (arrays, found))
    kernel = build.kernel()
    return with_order(kernel, order)


def _positive(sizes: Sequence[str]) -> isl.Set:
    context = isl.Set.universe(instance_space(sizes, "", ()).params())
    for position in range(len(sizes)):
        context = context.lower_bound_val(isl.dim_type.param, position, isl.Val(1))
    return context


def _image(build: KernelBuilder, image: ImageParam, region: Region) -> ArrayHandle:
    """Declare an image, from 0 to the last place that is read."""
    for position, interval in enumerate(region):
        first = interval.first
        if isinstance(first, Constant) and first.value < 0:
            raise FrontendError(
                f"image '{image.name}' is read from {first} on in dimension {position}; expected "
                "places from 0 on: clamp the subscript, or shift it"
            )
    extents = image.extents or tuple(interval.end for interval in region)
    return build.input(image.name, image.dtype, tuple(reversed(extents)))


def _declare(
    build: KernelBuilder,
    computed: Computed,
    number: int,
    definition: Definition,
    places: tuple[Mapping[str, ArrayHandle], Mapping[str, Region]],
) -> None:
    """One definition: its loops and its statement."""
    arrays, found = places
    region = dict(zip(computed.func.variables, found[computed.name], strict=True))

    def placed(name: str, subscripts: Sequence[Expression]) -> tuple[Expression, ...]:
        """Where a value is in its array: reversed, and counted from the beginning of the region."""
        starts: list[Expression] = [Constant(0)] * len(subscripts)
        if arrays[name].array.role is not Role.INPUT:
            starts = [interval.first for interval in found[name]]
        return tuple(
            plain(one) if start == Constant(0) else plain(one) - start
            for one, start in reversed(list(zip(subscripts, starts, strict=True)))
        )

    def plain(expression: Expression) -> Expression:
        return transform(expression, rule)

    def rule(node: Expression) -> Expression | None:
        if isinstance(node, Call):
            return arrays[node.array][placed(node.array, node.subscripts)]
        return Index(node.name) if isinstance(node, Index) else None

    with ExitStack() as stack:
        if definition.location is not None:
            stack.enter_context(build.located(definition.location))
        for variable in reversed(pure_variables(computed, definition)):
            bounds = (region[variable].first, region[variable].end)
            stack.enter_context(build.loops(**{variable: bounds}))
        for domain in definition.domains:
            for one, (low, count) in reversed(list(zip(domain, domain.bounds, strict=True))):
                stack.enter_context(build.loops(**{one.name: (low, low + count)}))
            for condition in domain.conditions:
                stack.enter_context(build.where(plain(condition)))
        try:
            stack.enter_context(build.statement(computed.statement(number)))
            target = placed(computed.name, definition.subscripts)
            arrays[computed.name][target] = plain(definition.value)
        except KernelError as error:
            where = "" if definition.location is None else f" ({definition.location})"
            raise KernelError(f"Func '{computed.name}': {error}{where}") from None

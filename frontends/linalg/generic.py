"""``generic(indexing_maps, iterator_types, body)``: declare a kernel like ``linalg.generic``.

::

    matmul = generic(
        ["(m, n, k) -> (m, k)", "(m, n, k) -> (k, n)", "(m, n, k) -> (m, n)"],
        ["parallel", "parallel", "reduction"],
        lambda a, b, c: c + a * b,
        start=0,
    )
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any

from polysched.errors import FrontendError, KernelError, suggestion
from polysched.frontends.linalg.maps import AffineMap, names_of, parse_map
from polysched.integers import as_integer
from polysched.ir.core.kernel import Kernel, Order
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.affine import from_pw_aff, instance_space, to_pw_aff
from polysched.ir.expr.dtypes import DType, as_dtype, f32
from polysched.ir.expr.expressions import (
    Constant,
    Expression,
    Load,
    Operand,
    Parameter,
    as_expression,
)
from polysched.ir.expr.traversal import walk

_TYPES = ("parallel", "reduction", "window")
"""``window`` is MLIR's former name for a reduction over a window."""


def generic(  # noqa: PLR0913  (the parts of linalg.generic, by keyword)
    indexing_maps: Sequence[str],
    iterator_types: Sequence[str],
    body: Callable[..., Any],
    *,
    sizes: Mapping[str, int | str] | None = None,
    dtypes: DType | str | Sequence[DType | str] = f32,
    names: Sequence[str] | None = None,
    outputs: int = 1,
    start: Operand | None = None,
    order: Order | str | None = None,
    name: str = "generic",
) -> Kernel:
    """Declare a perfectly nested kernel.

    The loops have the names of the maps' dimensions. The statement is called ``body`` (``body_0``,
    ``body_1``, ... if there are several outputs). With ``start``, a statement ``init`` initializes
    the outputs. Without ``start``, outputs that the body reads are updated in place.

    Args:
        indexing_maps: an affine map for each operand, inputs first, all of the same dimensions.
        iterator_types: ``"parallel"`` or ``"reduction"`` for each dimension.
        body: takes an element of each operand; returns the new element of the output, or a tuple
            of one for each output.
        sizes: extents of dimensions and values of symbols: a number, or the name of a parameter.
            A dimension ``m`` that is not listed has the parameter ``size_m``.
        dtypes: the element type of all operands, or a list of one for each operand.
        names: names of the operands; by default ``in0``, ``in1``, ..., ``out0``, ...
        outputs: number of outputs, which are the last operands.
        start: the initial value of the outputs.
        order: the order policy of a reduction, see :meth:`KernelBuilder.statement`.
        name: the name of the kernel.

    Raises:
        FrontendError: the arguments do not fit each other; messages about maps point into their
            text.
        KernelError: a kernel cannot compute the body.
    """
    maps = _maps(indexing_maps)
    types = _iterator_types(maps[0], iterator_types)
    count = len(maps)
    if not 1 <= outputs <= count:
        raise FrontendError(f"generic: {outputs} outputs of {count} operands; expected at least 1")
    _require_types_fit(maps[count - outputs :], types)
    element_types = _dtypes(dtypes, count)
    labels = _operand_names(names, count, outputs)

    build = KernelBuilder(name)
    extents = _extents(build, maps, sizes or {})
    values: dict[str, tuple[Expression, Expression]] = {
        dimension: (Constant(0), extents[dimension] - 1) for dimension in maps[0].dimensions
    }
    values |= {symbol: (extents[symbol], extents[symbol]) for symbol in names_of(maps)}
    shapes = [_shape(affine_map, values) for affine_map in maps]
    reads_outputs = start is None and _reads_outputs(body, maps, element_types, outputs)
    arrays: list[ArrayHandle] = []
    for position, (label, dtype, shape) in enumerate(
        zip(labels, element_types, shapes, strict=True)
    ):
        declare: Callable[..., ArrayHandle] = build.input
        if position >= count - outputs:
            declare = build.inout if reads_outputs else build.output
        arrays.append(declare(label, dtype, shape))
    if start is not None:
        _declare_start(build, maps, arrays[-outputs:], extents, types, start)
    _declare_body(build, maps, arrays, extents, body, (outputs, order))
    return build.kernel()


def _maps(texts: Sequence[str]) -> list[AffineMap]:
    if isinstance(texts, str) or not texts:
        raise FrontendError("generic: indexing_maps expects a list of maps, one for each operand")
    maps = [parse_map(f"indexing_maps[{i}]", text) for i, text in enumerate(texts)]
    first = maps[0]
    for other in maps[1:]:
        if other.dimensions != first.dimensions:
            raise FrontendError(
                f"{other.name} has the dimensions ({', '.join(other.dimensions)}); expected "
                f"({', '.join(first.dimensions)}), as {first.name} has"
            )
    return maps


def _iterator_types(first: AffineMap, types: Sequence[str]) -> dict[str, str]:
    if not isinstance(types, list | tuple) or len(types) != len(first.dimensions):
        raise FrontendError(
            f"generic: iterator_types is {types!r}; expected a list of {len(first.dimensions)}, "
            f"one for each of ({', '.join(first.dimensions)})"
        )
    for kind in types:
        if kind not in _TYPES:
            raise FrontendError(
                f"generic: unknown iterator type {kind!r}{suggestion(str(kind), _TYPES)}"
            )
    return dict(zip(first.dimensions, types, strict=True))


def _require_types_fit(outputs: Sequence[AffineMap], types: Mapping[str, str]) -> None:
    for output in outputs:
        for dimension, kind in types.items():
            if output.uses(dimension) != (kind == "parallel"):
                mismatch = "parallel and is not" if kind == "parallel" else f"a {kind} and is"
                raise FrontendError(
                    f"generic: dimension '{dimension}' is {mismatch} in the subscripts of the "
                    f"output {output.name}, {output.text}; expected exactly the parallel dimensions"
                )


def _dtypes(dtypes: DType | str | Sequence[DType | str], count: int) -> list[DType]:
    if not isinstance(dtypes, DType | str | list | tuple):
        raise FrontendError(f"generic: dtypes is {dtypes!r}; expected an element type, or a list")
    each = [dtypes] * count if isinstance(dtypes, DType | str) else list(dtypes)
    if len(each) != count:
        raise FrontendError(f"generic: {len(each)} dtypes for {count} operands")
    return [as_dtype(dtype) for dtype in each]


def _operand_names(names: Sequence[str] | None, count: int, outputs: int) -> list[str]:
    if names is None:
        inputs = count - outputs
        return [*(f"in{i}" for i in range(inputs)), *(f"out{i}" for i in range(outputs))]
    if isinstance(names, str) or len(names) != count:
        raise FrontendError(f"generic: names={names!r}; expected a list of {count}")
    return list(names)


def _extents(
    build: KernelBuilder, maps: Sequence[AffineMap], sizes: Mapping[str, int | str]
) -> dict[str, Expression]:
    """The extents of the dimensions and the values of the symbols; declares the parameters."""
    names = (*maps[0].dimensions, *names_of(maps))
    for name in sizes:
        if name not in names:
            raise FrontendError(
                f"generic: the maps have no dimension '{name}', which sizes names"
                f"{suggestion(name, names)}"
            )
    extents: dict[str, Expression] = {}
    parameters: dict[str, Expression] = {}
    for name in names:
        size = sizes.get(name, f"size_{name}")
        if isinstance(size, str):
            if size not in parameters:
                parameters[size] = build.parameter(size)
            extents[name] = parameters[size]
        elif (number := as_integer(size)) is not None and number >= 0:
            extents[name] = Constant(number)
        else:
            raise FrontendError(
                f"generic: size {size!r} of '{name}'; expected a number or a parameter's name"
            )
    return extents


def _shape(
    operand: AffineMap, values: Mapping[str, tuple[Expression, Expression]]
) -> tuple[Expression, ...]:
    """Infer the shape of an operand from the ranges of its subscripts.

    Raises:
        FrontendError: a subscript may be negative.
    """
    parameters = {
        node.name: None
        for ends in values.values()
        for end in ends
        for node in walk(end)
        if isinstance(node, Parameter)
    }
    space = instance_space(list(parameters), "", ())
    operand.subscripts({name: low for name, (low, _) in values.items()})  # checks the form
    shape = []
    for result, (low, high) in zip(operand.results, operand.bounds(values), strict=True):
        smallest = from_pw_aff(to_pw_aff(low, space))
        if isinstance(smallest, Constant) and smallest.value < 0:
            raise operand.error(result, f"this is {smallest} for some elements; expected 0 or more")
        shape.append(from_pw_aff(to_pw_aff(high + 1, space)))
    return tuple(shape)


def _reads_outputs(
    body: Callable[..., Any], maps: Sequence[AffineMap], dtypes: Sequence[DType], outputs: int
) -> bool:
    """Whether the body reads the outputs' old values, found by calling it on placeholder loads."""
    probes = [Load(operand.name, (), dtype) for operand, dtype in zip(maps, dtypes, strict=True)]
    old = set(probes[-outputs:])
    return any(node in old for value in _yielded(body, probes, outputs) for node in walk(value))


def _yielded(
    body: Callable[..., Any], elements: Sequence[Expression], outputs: int
) -> tuple[Expression, ...]:
    try:
        returned = body(*elements)
    except TypeError as error:
        raise FrontendError(
            f"generic: the body cannot be called with {len(elements)} elements, one for each "
            f"operand: {error}"
        ) from None
    values = returned if isinstance(returned, tuple) else (returned,)
    if len(values) != outputs:
        raise FrontendError(
            f"generic: the body returns {len(values)} values; expected {outputs}, one for each "
            "output"
        )
    return tuple(as_expression(value) for value in values)


def _declare_start(
    build: KernelBuilder,
    maps: Sequence[AffineMap],
    outputs: Sequence[ArrayHandle],
    extents: Mapping[str, Expression],
    types: Mapping[str, str],
    start: Operand,
) -> None:
    bounds: dict[str, Any] = {d: extents[d] for d, kind in types.items() if kind == "parallel"}
    for number, array in enumerate(outputs):
        output = maps[len(maps) - len(outputs) + number]
        label = "init" if len(outputs) == 1 else f"init_{number}"
        with ExitStack() as stack:
            stack.enter_context(build.statement(label))
            values = _indices(stack, build, bounds)
            array[output.subscripts(values | _symbols(maps, extents))] = start


def _declare_body(
    build: KernelBuilder,
    maps: Sequence[AffineMap],
    arrays: Sequence[ArrayHandle],
    extents: Mapping[str, Expression],
    body: Callable[..., Any],
    outputs_and_order: tuple[int, Order | str | None],
) -> None:
    outputs, order = outputs_and_order
    bounds: dict[str, Any] = {d: extents[d] for d in maps[0].dimensions}
    with ExitStack() as stack:
        values = _indices(stack, build, bounds) | _symbols(maps, extents)
        subscripts = [operand.subscripts(values) for operand in maps]
        elements = [array[at] for array, at in zip(arrays, subscripts, strict=True)]
        results = _yielded(body, elements, outputs)
        for number, (array, at, value) in enumerate(
            zip(arrays[-outputs:], subscripts[-outputs:], results, strict=True)
        ):
            earlier = {output.array.name for output in arrays[-outputs:][:number]}
            if any(isinstance(node, Load) and node.array in earlier for node in walk(value)):
                raise KernelError(
                    f"generic: output {number} reads an earlier output, which already has its new "
                    "value; expected each output to read only the inputs and itself"
                )
            label = "body" if outputs == 1 else f"body_{number}"
            with build.statement(label, order=order):
                array[at] = value


def _indices(
    stack: ExitStack, build: KernelBuilder, bounds: Mapping[str, Any]
) -> dict[str, Expression]:
    """Open a loop for each dimension."""
    if not bounds:
        return {}
    loops = stack.enter_context(build.loops(**bounds))
    indices = loops if len(bounds) > 1 else (loops,)
    return dict(zip(bounds, indices, strict=True))


def _symbols(maps: Sequence[AffineMap], extents: Mapping[str, Expression]) -> dict[str, Expression]:
    return {symbol: extents[symbol] for symbol in names_of(maps)}

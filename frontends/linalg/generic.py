"""``generic(indexing_maps, iterator_types, body)``: a kernel as MLIR's ``linalg.generic`` has it.

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
from polysched.ir.affine import from_pw_aff, instance_space, to_pw_aff
from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.dtypes import DType, as_dtype, f32
from polysched.ir.expressions import (
    Constant,
    Expression,
    Load,
    Operand,
    Parameter,
    as_expression,
)
from polysched.ir.integers import as_integer
from polysched.ir.kernel import Kernel, Order
from polysched.ir.traversal import walk

_TYPES = ("parallel", "reduction", "window")
"""``window`` is MLIR's former word for a reduction over a window."""


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

    The loops have the names of the maps' dimensions. Statements are ``body`` (of several outputs
    ``body_0``, ``body_1``, ...), and ``init`` where the outputs get a start. An output whose value
    the body reads is updated in place, unless it gets a start.

    Args:
        indexing_maps: one for each operand, inputs first, all of the same dimensions.
        iterator_types: for each dimension ``"parallel"`` or ``"reduction"``.
        body: takes an element of each operand, and returns the new one of the output, or a tuple.
        sizes: extents of dimensions and values of symbols: a number, or the name of a parameter.
            Without it, ``m`` has the parameter ``size_m``.
        dtypes: elements of all operands, or of each.
        names: of the operands; by default ``in0``, ``in1``, ..., ``out0``, ...
        outputs: how many operands, the last ones, are outputs.
        start: what outputs hold before the first update.
        order: the policy of a reduction, as :meth:`KernelBuilder.statement` takes it.
        name: of the kernel.

    Raises:
        FrontendError: the parts do not fit each other; messages about maps point into their text.
        KernelError: the body is none that a kernel can compute.
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
        one: (Constant(0), extents[one] - 1) for one in maps[0].dimensions
    }
    values |= {one: (extents[one], extents[one]) for one in names_of(maps)}
    shapes = [_shape(one, values) for one in maps]
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


def _maps(given: Sequence[str]) -> list[AffineMap]:
    if isinstance(given, str) or not given:
        raise FrontendError("generic: indexing_maps expects a list of maps, one for each operand")
    maps = [parse_map(f"indexing_maps[{i}]", text) for i, text in enumerate(given)]
    for one in maps[1:]:
        if one.dimensions != maps[0].dimensions:
            raise FrontendError(
                f"{one.name} has the dimensions ({', '.join(one.dimensions)}); expected "
                f"({', '.join(maps[0].dimensions)}), as {maps[0].name} has"
            )
    return maps


def _iterator_types(first: AffineMap, given: Sequence[str]) -> dict[str, str]:
    if not isinstance(given, list | tuple) or len(given) != len(first.dimensions):
        raise FrontendError(
            f"generic: iterator_types is {given!r}; expected a list of {len(first.dimensions)}, "
            f"one for each of ({', '.join(first.dimensions)})"
        )
    for one in given:
        if one not in _TYPES:
            raise FrontendError(
                f"generic: unknown iterator type {one!r}{suggestion(str(one), _TYPES)}"
            )
    return dict(zip(first.dimensions, given, strict=True))


def _require_types_fit(outputs: Sequence[AffineMap], types: Mapping[str, str]) -> None:
    for one in outputs:
        for dimension, kind in types.items():
            if one.uses(dimension) != (kind == "parallel"):
                what = "parallel and is not" if kind == "parallel" else f"a {kind} and is"
                raise FrontendError(
                    f"generic: dimension '{dimension}' is {what} in the subscripts of the output "
                    f"{one.name}, {one.text}; expected the parallel ones there, and no others"
                )


def _dtypes(given: DType | str | Sequence[DType | str], count: int) -> list[DType]:
    if not isinstance(given, DType | str | list | tuple):
        raise FrontendError(f"generic: dtypes is {given!r}; expected an element type, or a list")
    several = [given] * count if isinstance(given, DType | str) else list(given)
    if len(several) != count:
        raise FrontendError(f"generic: {len(several)} dtypes for {count} operands")
    return [as_dtype(one) for one in several]


def _operand_names(given: Sequence[str] | None, count: int, outputs: int) -> list[str]:
    if given is None:
        inputs = count - outputs
        return [*(f"in{i}" for i in range(inputs)), *(f"out{i}" for i in range(outputs))]
    if isinstance(given, str) or len(given) != count:
        raise FrontendError(f"generic: names={given!r}; expected a list of {count}")
    return list(given)


def _extents(
    build: KernelBuilder, maps: Sequence[AffineMap], sizes: Mapping[str, int | str]
) -> dict[str, Expression]:
    """The extents of the dimensions and the values of the symbols; parameters are declared."""
    wanted = (*maps[0].dimensions, *names_of(maps))
    for given in sizes:
        if given not in wanted:
            raise FrontendError(
                f"generic: no dimension '{given}' in sizes{suggestion(given, wanted)}"
            )
    found: dict[str, Expression] = {}
    parameters: dict[str, Expression] = {}
    for one in wanted:
        size = sizes.get(one, f"size_{one}")
        if isinstance(size, str):
            if size not in parameters:
                parameters[size] = build.parameter(size)
            found[one] = parameters[size]
        elif (number := as_integer(size)) is not None and number >= 0:
            found[one] = Constant(number)
        else:
            raise FrontendError(
                f"generic: size {size!r} of '{one}'; expected a number or a parameter's name"
            )
    return found


def _shape(
    one: AffineMap, values: Mapping[str, tuple[Expression, Expression]]
) -> tuple[Expression, ...]:
    """The extents that the subscripts of an operand need.

    Raises:
        FrontendError: a subscript is negative somewhere.
    """
    parameters = {
        node.name: None
        for ends in values.values()
        for end in ends
        for node in walk(end)
        if isinstance(node, Parameter)
    }
    space = instance_space(list(parameters), "", ())
    one.subscripts({name: low for name, (low, _) in values.items()})  # each part is checked
    found = []
    for result, (low, high) in zip(one.results, one.bounds(values), strict=True):
        smallest = from_pw_aff(to_pw_aff(low, space))
        if isinstance(smallest, Constant) and smallest.value < 0:
            raise one.error(result, f"this is {smallest} for some elements; expected 0 or more")
        found.append(from_pw_aff(to_pw_aff(high + 1, space)))
    return tuple(found)


def _reads_outputs(
    body: Callable[..., Any], maps: Sequence[AffineMap], dtypes: Sequence[DType], outputs: int
) -> bool:
    """Whether the body reads what the outputs hold, told by calling it once."""
    probes = [Load(one.name, (), dtype) for one, dtype in zip(maps, dtypes, strict=True)]
    own = set(probes[-outputs:])
    return any(node in own for value in _yielded(body, probes, outputs) for node in walk(value))


def _yielded(
    body: Callable[..., Any], elements: Sequence[Expression], outputs: int
) -> tuple[Expression, ...]:
    try:
        found = body(*elements)
    except TypeError as error:
        raise FrontendError(
            f"generic: the body cannot be called with {len(elements)} elements, one for each "
            f"operand: {error}"
        ) from None
    values = found if isinstance(found, tuple) else (found,)
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
        one = maps[len(maps) - len(outputs) + number]
        label = "init" if len(outputs) == 1 else f"init_{number}"
        with ExitStack() as stack:
            stack.enter_context(build.statement(label))
            values = _indices(stack, build, bounds)
            array[one.subscripts(values | _symbols(maps, extents))] = start


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
        subscripts = [one.subscripts(values) for one in maps]
        elements = [array[at] for array, at in zip(arrays, subscripts, strict=True)]
        results = _yielded(body, elements, outputs)
        for number, (array, at, value) in enumerate(
            zip(arrays[-outputs:], subscripts[-outputs:], results, strict=True)
        ):
            earlier = {one.array.name for one in arrays[-outputs:][:number]}
            if any(isinstance(node, Load) and node.array in earlier for node in walk(value)):
                raise KernelError(
                    f"generic: output {number} is computed from an output before it, which has its "
                    "new value then; expected each from the inputs and itself"
                )
            label = "body" if outputs == 1 else f"body_{number}"
            with build.statement(label, order=order):
                array[at] = value


def _indices(
    stack: ExitStack, build: KernelBuilder, bounds: Mapping[str, Any]
) -> dict[str, Expression]:
    """Open a loop for each dimension; of none there is none."""
    if not bounds:
        return {}
    found = stack.enter_context(build.loops(**bounds))
    indices = found if len(bounds) > 1 else (found,)
    return dict(zip(bounds, indices, strict=True))


def _symbols(maps: Sequence[AffineMap], extents: Mapping[str, Expression]) -> dict[str, Expression]:
    return {symbol: extents[symbol] for symbol in names_of(maps)}

"""Views of arrays in another shape: ``reshape``, ``ravel``, ``np.diag``, ``np.expand_dims``."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from polysched.errors import KernelError
from polysched.frontends.python.scope.array_values import (
    ArrayValue,
    Subscripts,
    is_one,
    require_same,
    shape_text,
    tidy,
    viewed,
)
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Constant, Expression, Index
from polysched.ir.expr.linear import linear_form
from polysched.ir.expr.traversal import walk


def expanded(array: ArrayValue, axis: int) -> ArrayValue:
    """The array with one more dimension, of extent 1."""
    shape = (*array.shape[:axis], Constant(1), *array.shape[axis:])
    return viewed(array, shape, lambda indices: (*indices[:axis], *indices[axis + 1 :]))


def squeezed(array: ArrayValue, axis: int | None = None) -> ArrayValue:
    """The array without a dimension of extent 1, or without all whose extent is the literal 1."""
    gone = [
        at
        for at, extent in enumerate(array.shape)
        if (is_one(extent) if axis is None else at == axis)
    ]
    if not all(is_one(array.shape[at]) for at in gone):
        raise KernelError(f"dimension {axis} of {shape_text(array.shape)} is not of extent 1")
    shape = tuple(extent for at, extent in enumerate(array.shape) if at not in gone)

    def outer(indices: Subscripts) -> Subscripts:
        kept = iter(indices)
        return tuple(Constant(0) if at in gone else next(kept) for at in range(array.rank))

    return viewed(array, shape, outer)


def swapped(array: ArrayValue, first: int, second: int) -> ArrayValue:
    """The array with two dimensions exchanged."""
    order = list(range(array.rank))
    order[first], order[second] = order[second], order[first]
    shape = tuple(array.shape[at] for at in order)
    return viewed(array, shape, lambda indices: tuple(indices[at] for at in order))


def flipped(array: ArrayValue, axis: int) -> ArrayValue:
    """The array with the elements of one dimension in reverse order."""
    extent = array.shape[axis]
    return viewed(
        array,
        array.shape,
        lambda i: (*i[:axis], tidy(extent - 1 - i[axis]), *i[axis + 1 :]),
    )


def diagonal(build: KernelBuilder, array: ArrayValue) -> ArrayValue:
    """The diagonal of a square matrix."""
    if array.rank != 2 or not require_same(build, *array.shape):
        raise KernelError(
            f"the diagonal of an array of shape {shape_text(array.shape)} is not built; expected "
            "a square matrix"
        )
    return viewed(array, array.shape[:1], lambda indices: (indices[0], indices[0]))


def reshaped(
    build: KernelBuilder, array: ArrayValue, shape: Sequence[Expression | None]
) -> ArrayValue:
    """The array in another shape, with its elements in the order of rows.

    Subscripts stay affine if the inner extents are literals: dimensions of extent 1 come and go,
    one dimension becomes several, or several become one.

    Args:
        shape: the extents; None for the one that numpy computes from the others (-1).
    """
    old = [(at, extent) for at, extent in enumerate(array.shape) if not is_one(extent)]
    new = [(at, extent) for at, extent in enumerate(shape) if extent is None or not is_one(extent)]
    sources = [extent for _, extent in old]
    targets = _completed(build, sources, [extent for _, extent in new])
    if targets is None:
        wanted = ", ".join("-1" if extent is None else str(extent) for extent in shape)
        raise KernelError(
            f"an array of shape {shape_text(array.shape)} in shape ({wanted}) is not built; "
            "expected the same sizes, or a dimension that is split or joined at literal extents"
        )
    extents = iter(targets)
    places = [at for at, _ in new]
    full = tuple(next(extents) if at in places else Constant(1) for at in range(len(shape)))

    def outer(indices: Subscripts) -> Subscripts:
        inner = iter(_moved([indices[at] for at in places], sources, targets))
        kept = [at for at, _ in old]
        return tuple(next(inner) if at in kept else Constant(0) for at in range(array.rank))

    view = viewed(array, full, outer)
    if _is_same_shape(sources, targets) or len(sources) == 1:
        return view
    if is_whole(array) or _is_evenly_spaced(array):
        return view
    return ArrayValue(view.shape, view.dtype, view.at)  # numpy copies it


def is_whole(array: ArrayValue) -> bool:
    """Whether an array is a whole declared array in its declared layout."""
    if array.base is None or array.place is None or array.rank != len(array.base.array.shape):
        return False
    indices = tuple(Index(f"place_{axis}") for axis in range(array.rank))
    declared = tuple(map(tidy, array.base.array.shape))
    return array.place(indices) == indices and tuple(map(tidy, array.shape)) == declared


def _is_evenly_spaced(array: ArrayValue) -> bool:
    """Whether neighboring elements, in the order of rows, lie at one distance in memory.

    numpy then joins dimensions without a copy: those of ``a[1:]``, or of ``a[:, ::2]`` if rows have
    an even number of elements.
    """
    if array.base is None or array.place is None:
        return False
    declared, rows = _literals(array.base.array.shape[1:]), _literals(array.shape[1:])
    if declared is None or rows is None:
        return False
    indices = tuple(Index(f"place_{axis}") for axis in range(array.rank))
    address: Expression = Constant(0)
    for subscript, extent in zip(array.place(indices), [1, *declared], strict=True):
        address = address * extent + subscript
    terms = dict(linear_form(address, {}).terms)
    distances = [terms.pop(index, 0) for index in indices]
    if any(index in set(walk(atom)) for atom in terms for index in indices):
        return False
    inner = zip(distances, distances[1:], rows, strict=False)
    return all(outer == distance * extent for outer, distance, extent in inner)


def _completed(
    build: KernelBuilder, sources: Sequence[Expression], targets: Sequence[Expression | None]
) -> list[Expression] | None:
    """The new extents with the missing one; None if the subscripts would not be affine."""
    if _is_same_shape(sources, targets):
        known = [new if new is not None else old for old, new in zip(sources, targets, strict=True)]
        fits = all(require_same(build, *pair) for pair in zip(sources, known, strict=True))
        return known if fits else None
    inner = _literals(sources[1:])
    if inner is None or not sources or not targets:
        return None
    total = tidy(sources[0] * prod(inner))
    given = _literals([extent for extent in targets if extent is not None])
    if isinstance(total, Constant) and given is not None and prod(given) > 0:
        rest = Constant(int(total.value) // prod(given))
        targets = [rest if extent is None else extent for extent in targets]
    new_inner = _literals(targets[1:])
    if new_inner is None or prod(new_inner) < 1:
        return None
    size, first = prod(new_inner), targets[0]
    if first is None:
        if not require_same(build, tidy(total % size), Constant(0)):
            return None
        first = tidy(total // size)
    elif not require_same(build, tidy(first * size), total):
        return None
    return [first, *map(Constant, new_inner)]


def _is_same_shape(sources: Sequence[Expression], targets: Sequence[Expression | None]) -> bool:
    """Whether two shapes have as many extents, and none differ as literals."""
    return len(sources) == len(targets) and not any(
        isinstance(old, Constant) and isinstance(new, Constant) and old != new
        for old, new in zip(sources, targets, strict=True)
    )


def _moved(
    indices: Sequence[Expression], sources: Sequence[Expression], targets: Sequence[Expression]
) -> list[Expression]:
    """The indices in the old shape of the element at some indices of the new one."""
    if _is_same_shape(sources, targets):
        return list(indices)
    place: Expression = indices[0]
    for index, extent in zip(indices[1:], _literals(targets[1:]) or [], strict=True):
        place = place * extent + index
    found: list[Expression] = []
    for extent in reversed(_literals(sources[1:]) or []):
        found.append(tidy(place % extent))
        place = tidy(place // extent)
    return [tidy(place), *reversed(found)]


def _literals(extents: Sequence[Expression | None]) -> list[int] | None:
    found = [
        int(extent.value) for extent in extents if isinstance(extent, Constant) and extent.value > 0
    ]
    return found if len(found) == len(extents) else None

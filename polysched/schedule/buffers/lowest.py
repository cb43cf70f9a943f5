"""The smallest subscript in each tile, computed from the indices of the subscript alone.

For the least element of a footprint, isl eliminates all other indices. That is expensive if a loop
around counts several indices at once, as the collapsed parts of a thread partition do. The part of
``n`` that a tile touches mostly follows from its loops over ``n``. So the smallest subscript is
guessed from these loops and from the domain's constraints on ``n`` alone. The guess is exact if
replacing ``n`` by the guess moves every instance to an instance of the domain in the same tile.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Statement
from polysched.ir.core.tree import Loop
from polysched.ir.expr.affine import named, to_pw_aff
from polysched.schedule.buffers.delinearize import Coordinate, delinearized, indices_of
from polysched.schedule.core.program import Program, prefix_function

_MOST_PIECES = 4
"""Largest number of pieces of a guess; with more, isl's own result is as simple."""


@dataclass(frozen=True, eq=False)
class _Guess:
    """The guessed smallest subscript of a reference in each tile, as a function of the tile."""

    function: isl.PwAff
    tile: isl.PwMultiAff

    def is_met_by(self, other: _Guess) -> bool:
        """Return whether the other function has the same values in the tiles of this reference."""
        if self.function.plain_is_equal(other.function):
            return True
        own = self.function.pullback_pw_multi_aff(self.tile)
        same = own.eq_set(other.function.pullback_pw_multi_aff(self.tile))
        return bool(self.tile.domain().is_subset(same))


def lowest_by_indices(
    program: Program,
    references: Iterable[Reference],
    around: tuple[Loop, ...],
    position: int,
    tile_names: tuple[str, ...],
) -> isl.PwAff | None:
    """Return the smallest subscript of one dimension in each tile.

    Args:
        references: references to one array.
        around: the loops whose values identify the tile.
        position: the dimension of the array.
        tile_names: the names of the loops' values.

    Returns:
        None if no loop counts several indices at once, or if a guess cannot be proved.
    """
    distinct = {
        (ref.statement, program.statements[ref.statement].accesses[ref.position].subscripts): ref
        for ref in references
    }
    if not any(len(indices_of(loop.values[name])) > 1 for name, _ in distinct for loop in around):
        return None
    guesses = []
    for reference in distinct.values():
        statement = program.statements[reference.statement]
        access = statement.accesses[reference.position]
        if access.is_data_dependent:
            return None
        subscript = to_pw_aff(access.subscripts[position], statement.domain.get_space())
        guess = _guess(statement, around, subscript)
        if guess is None:
            return None
        guesses.append(guess)
    for guess in guesses:
        if all(other is guess or other.is_met_by(guess) for other in guesses):
            return named(guess.function, tile_names)
    return None


def _guess(statement: Statement, around: tuple[Loop, ...], subscript: isl.PwAff) -> _Guess | None:
    """Return the smallest subscript in a tile by its own indices; None if it may not be reached."""
    tile = prefix_function(statement, around)
    local = isl.LocalSpace.from_space(tile.get_space().range())
    linear: list[Coordinate] = []
    apart: list[Coordinate] = []
    for position, loop in enumerate(around):
        value = loop.values[statement.name]
        number = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        linear.append(Coordinate(value, number))
        apart += delinearized(value, statement.domain, number) or linear[-1:]
    lowest = _by_columns(statement, linear, subscript)
    if lowest is None and len(apart) > len(linear):
        lowest = _by_columns(statement, apart, subscript)
    return None if lowest is None else _Guess(lowest, tile)


def _by_columns(
    statement: Statement, columns: Sequence[Coordinate], subscript: isl.PwAff
) -> isl.PwAff | None:
    """Return the smallest subscript as a function of the tile.

    Args:
        columns: the coordinates of the tile; those that depend on the subscript's indices alone
            give the guess, and all others must not change when the indices are replaced.
    """
    domain = statement.domain
    own = sorted(indices_of(subscript))
    used = [c for c in columns if indices_of(c.value) and indices_of(c.value) <= {*own}]
    alone = _alone(domain, own)
    embedding = _embedding(alone.get_space(), domain.get_space(), own)
    least = _least(
        alone,
        [column.value.pullback_multi_aff(embedding) for column in used],
        subscript.pullback_multi_aff(embedding),
    )
    if least is None:
        return None
    values = reduce(
        isl.PwMultiAff.flat_range_product,
        (isl.PwMultiAff.from_pw_aff(column.value) for column in used),
        isl.PwMultiAff.from_multi_aff(_no_numbers(domain.get_space())),
    )
    moved = _moved(
        statement, own, [least.get_at(1 + n).pullback_pw_multi_aff(values) for n in range(len(own))]
    )
    if not domain.is_subset(domain.preimage_pw_multi_aff(moved)) or not all(
        domain.is_subset(column.value.eq_set(column.value.pullback_pw_multi_aff(moved)))
        for column in columns
        if indices_of(column.value) & {*own} and column not in used
    ):
        return None
    space = columns[0].number.get_domain_space()
    numbers = _no_numbers(space)
    for column in used:
        numbers = numbers.flat_range_product(isl.MultiAff.from_aff(column.number))
    return least.get_at(0).pullback_multi_aff(numbers)


def _no_numbers(space: isl.Space) -> isl.MultiAff:
    """Return the function to empty tuples."""
    nothing = space.drop_dims(isl.dim_type.set, 0, space.dim(isl.dim_type.set)).reset_tuple_id(
        isl.dim_type.set
    )
    return isl.MultiAff.zero(space.map_from_domain_and_range(nothing))


def _alone(domain: isl.Set, own: Sequence[int]) -> isl.Set:
    """Project a domain onto some indices, by the constraints on these indices alone."""
    for index in reversed(range(domain.dim(isl.dim_type.set))):
        if index not in own:
            domain = domain.drop_constraints_involving_dims(isl.dim_type.set, index, 1)
            domain = domain.project_out(isl.dim_type.set, index, 1)
    return domain.reset_tuple_id()


def _embedding(alone: isl.Space, whole: isl.Space, own: Sequence[int]) -> isl.MultiAff:
    """Return the map from values of some indices to instances in which all others are 0."""
    result = isl.MultiAff.zero(alone.map_from_domain_and_range(whole))
    for position, index in enumerate(own):
        local = isl.LocalSpace.from_space(alone)
        value = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        result = result.set_aff(index, value)
    return result


def _least(
    alone: isl.Set, values: Sequence[isl.PwAff], subscript: isl.PwAff
) -> isl.PwMultiAff | None:
    """Return the smallest subscript by the loops' values, with the first indices that reach it."""
    tiles = reduce(
        isl.Map.flat_range_product, map(isl.Map.from_pw_aff, values), isl.Map.from_domain(alone)
    ).intersect_domain(alone)
    candidates = isl.Map.from_pw_aff(subscript).flat_range_product(
        isl.Map.identity(alone.get_space().map_from_set())
    )
    reached = tiles.reverse().apply_range(candidates)
    if reached.is_empty() or not alone.is_bounded():
        return None
    least = reached.lexmin_pw_multi_aff()
    least = least.gist(least.domain()).coalesce()
    return least if least.n_piece() <= _MOST_PIECES else None


def _moved(
    statement: Statement, own: Sequence[int], replaced: Sequence[isl.PwAff]
) -> isl.PwMultiAff:
    """Return the map from each instance to the instance with some of its indices replaced."""
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    columns = [
        replaced[own.index(index)]
        if index in own
        else isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, index))
        for index in range(len(statement.indices))
    ]
    moved = reduce(
        isl.PwMultiAff.flat_range_product,
        map(isl.PwMultiAff.from_pw_aff, columns),
        isl.PwMultiAff.from_multi_aff(_no_numbers(space)),
    )
    return moved.set_tuple_id(isl.dim_type.out, statement.domain.get_tuple_id())

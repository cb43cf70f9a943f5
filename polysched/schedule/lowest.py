"""The smallest subscript in each tile, found from the indices that the subscript depends on alone.

Asked for the least element of a footprint, isl eliminates all other indices. That is dear where a
loop around counts several indices at once, as the collapsed parts of threads do. But what a tile
touches along ``n`` mostly follows from its loops over ``n``. So the least is guessed from those and
from what the domain says of ``n`` by itself; and it is the least if a tile that holds an instance
``x`` holds another that touches it: ``x`` with its ``n`` replaced.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.affine import named, to_pw_aff
from polysched.ir.kernel import Statement
from polysched.ir.tree import Loop
from polysched.schedule.delinearize import digits, indices_of
from polysched.schedule.program import Program, prefix_function

_MOST_PIECES = 4
"""Cases in a guess; what has more is no simpler than what isl finds by itself."""


@dataclass(frozen=True, eq=False)
class _Guess:
    """The least subscript in each tile of one reference, as a function of the tile."""

    function: isl.PwAff
    tile: isl.PwMultiAff

    def is_met_by(self, other: _Guess) -> bool:
        """Whether the other function has the same values in the tiles of this reference."""
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
    """The smallest subscript of one dimension in each tile.

    Args:
        references: those that are meant, to one array.
        around: the loops whose values are the tile.
        position: of the subscript.
        tile_names: of the numbers of a tile.

    Returns:
        None where no loop counts several indices at once, and where it is not found like this.
    """
    found = {
        (one.statement, program.statements[one.statement].accesses[one.position].subscripts): one
        for one in references
    }
    if not any(len(indices_of(loop.values[name])) > 1 for name, _ in found for loop in around):
        return None
    guesses = []
    for reference in found.values():
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


@dataclass(frozen=True, eq=False)
class _Column:
    """A number of a tile: ``value`` of the instances, ``number`` of the tile."""

    value: isl.PwAff
    number: isl.Aff


def _guess(statement: Statement, around: tuple[Loop, ...], subscript: isl.PwAff) -> _Guess | None:
    """The least subscript in a tile as its own indices tell; None if it may not be reached."""
    tile = prefix_function(statement, around)
    local = isl.LocalSpace.from_space(tile.get_space().range())
    whole: list[_Column] = []
    apart: list[_Column] = []
    for position, loop in enumerate(around):
        value = loop.values[statement.name]
        number = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        whole.append(_Column(value, number))
        counted = digits(value, statement.domain, number)
        if counted is None:
            apart.append(whole[-1])
        else:
            apart += [_Column(one.value, one.number) for one in counted]
    found = _by_columns(statement, whole, subscript)
    if found is None and len(apart) > len(whole):
        found = _by_columns(statement, apart, subscript)
    return None if found is None else _Guess(found, tile)


def _by_columns(
    statement: Statement, columns: Sequence[_Column], subscript: isl.PwAff
) -> isl.PwAff | None:
    """The least subscript as a function of the tile, by the columns of its own indices."""
    domain = statement.domain
    own = sorted(indices_of(subscript))
    telling = [one for one in columns if indices_of(one.value) and indices_of(one.value) <= {*own}]
    alone = _alone(domain, own)
    embedding = _embedding(alone.get_space(), domain.get_space(), own)
    least = _least(
        alone,
        [one.value.pullback_multi_aff(embedding) for one in telling],
        subscript.pullback_multi_aff(embedding),
    )
    if least is None:
        return None
    values = reduce(
        isl.PwMultiAff.flat_range_product,
        (isl.PwMultiAff.from_pw_aff(one.value) for one in telling),
        isl.PwMultiAff.from_multi_aff(_no_numbers(domain.get_space())),
    )
    moved = _moved(
        statement, own, [least.get_at(1 + n).pullback_pw_multi_aff(values) for n in range(len(own))]
    )
    if not domain.is_subset(domain.preimage_pw_multi_aff(moved)) or not all(
        domain.is_subset(one.value.eq_set(one.value.pullback_pw_multi_aff(moved)))
        for one in columns
        if indices_of(one.value) & {*own} and one not in telling
    ):
        return None
    space = columns[0].number.get_domain_space()
    numbers = _no_numbers(space)
    for one in telling:
        numbers = numbers.flat_range_product(isl.MultiAff.from_aff(one.number))
    return least.get_at(0).pullback_multi_aff(numbers)


def _no_numbers(space: isl.Space) -> isl.MultiAff:
    """The function to tuples of no number."""
    nothing = space.drop_dims(isl.dim_type.set, 0, space.dim(isl.dim_type.set)).reset_tuple_id(
        isl.dim_type.set
    )
    return isl.MultiAff.zero(space.map_from_domain_and_range(nothing))


def _alone(domain: isl.Set, own: Sequence[int]) -> isl.Set:
    """What a domain says of some indices by themselves, over the unnamed space of these."""
    for index in reversed(range(domain.dim(isl.dim_type.set))):
        if index not in own:
            domain = domain.drop_constraints_involving_dims(isl.dim_type.set, index, 1)
            domain = domain.project_out(isl.dim_type.set, index, 1)
    return domain.reset_tuple_id()


def _embedding(alone: isl.Space, whole: isl.Space, own: Sequence[int]) -> isl.MultiAff:
    """The instances with some indices as given and all others 0."""
    result = isl.MultiAff.zero(alone.map_from_domain_and_range(whole))
    for position, index in enumerate(own):
        local = isl.LocalSpace.from_space(alone)
        value = isl.Aff.var_on_domain(local, isl.dim_type.set, position)
        result = result.set_aff(index, value)
    return result


def _least(
    alone: isl.Set, values: Sequence[isl.PwAff], subscript: isl.PwAff
) -> isl.PwMultiAff | None:
    """From the values of some loops to the least subscript, and the first indices that have it."""
    tiles = reduce(
        isl.Map.flat_range_product, map(isl.Map.from_pw_aff, values), isl.Map.from_domain(alone)
    ).intersect_domain(alone)
    found = isl.Map.from_pw_aff(subscript).flat_range_product(
        isl.Map.identity(alone.get_space().map_from_set())
    )
    reached = tiles.reverse().apply_range(found)
    if reached.is_empty() or not alone.is_bounded():
        return None
    least = reached.lexmin_pw_multi_aff()
    least = least.gist(least.domain()).coalesce()
    return least if least.n_piece() <= _MOST_PIECES else None


def _moved(
    statement: Statement, own: Sequence[int], replaced: Sequence[isl.PwAff]
) -> isl.PwMultiAff:
    """Each instance with some of its indices replaced."""
    space = statement.domain.get_space()
    local = isl.LocalSpace.from_space(space)
    columns = [
        replaced[own.index(index)]
        if index in own
        else isl.PwAff.from_aff(isl.Aff.var_on_domain(local, isl.dim_type.set, index))
        for index in range(len(statement.indices))
    ]
    moved = reduce(isl.PwMultiAff.flat_range_product, map(isl.PwMultiAff.from_pw_aff, columns))
    return moved.set_tuple_id(isl.dim_type.out, statement.domain.get_tuple_id())

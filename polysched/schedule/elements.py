"""Which element of an array each reference means, where elements share memory.

A subscript of a folded array is taken modulo the number of slots, so the access relation tells
the slot. The element is what dependences and values are about; the program keeps it beside.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.kernel import Array, access_relation
from polysched.schedule.lifetime import references_to
from polysched.schedule.program import Program


def meant_elements(program: Program, array: Array) -> Mapping[Reference, isl.Map] | None:
    """For every reference to an array the relation from its instances to the elements it means.

    None where that is not known any more: a subscript depends on data, or a step has copied
    instances or redirected references after elements came to share memory. The array that these
    references then go to holds slots, of which nobody has kept what they mean.
    """
    references = references_to(program, array)
    statements = program.statements
    accesses = {one: statements[one.statement].accesses[one.position] for one in references}
    if any(access.is_data_dependent for access in accesses.values()):
        return None
    known = program.folded.get(array.name)
    if known is None:
        if any(one.storage and one.array == array.name for one in program.dependences):
            return None
        return {
            one: access_relation(statements[one.statement], access)
            for one, access in accesses.items()
        }
    is_complete = known.keys() == accesses.keys() and all(
        _has_domain(elements, statements[one.statement].domain) for one, elements in known.items()
    )
    return known if is_complete else None


def _has_domain(elements: isl.Map, domain: isl.Set) -> bool:
    found = elements.domain()
    return bool(found.get_space().is_equal(domain.get_space())) and bool(found.is_equal(domain))

"""Elements of a folded array: the element that each reference accesses before folding.

A subscript of a folded array is taken modulo the number of slots, so its access relation gives the
slot. Dependences and values are about elements, so the program keeps the relations to elements too.
"""

from __future__ import annotations

from collections.abc import Mapping

import islpy as isl

from polysched.dependence.relations import Reference
from polysched.ir.core.kernel import Array, access_relation
from polysched.schedule.buffers.lifetime import references_to
from polysched.schedule.core.program import Program


def meant_elements(program: Program, array: Array) -> Mapping[Reference, isl.Map] | None:
    """Return, for every reference to an array, the relation from its instances to elements.

    For a folded array, these are the elements before folding. None if they are unknown: a subscript
    depends on data, or a later step has duplicated instances or redirected references. A buffer
    that such a step has made holds slots, for which no elements are kept.
    """
    references = references_to(program, array)
    statements = program.statements
    accesses = {ref: statements[ref.statement].accesses[ref.position] for ref in references}
    if any(access.is_data_dependent for access in accesses.values()):
        return None
    known = program.folded.get(array.name)
    if known is None:
        if any(d.storage and d.array == array.name for d in program.dependences):
            return None
        return {
            ref: access_relation(statements[ref.statement], access)
            for ref, access in accesses.items()
        }
    is_complete = known.keys() == accesses.keys() and all(
        _has_domain(elements, statements[ref.statement].domain) for ref, elements in known.items()
    )
    return known if is_complete else None


def _has_domain(elements: isl.Map, domain: isl.Set) -> bool:
    own = elements.domain()
    return bool(own.get_space().is_equal(domain.get_space())) and bool(own.is_equal(domain))

"""The dimensions of a picture: resolve their names, and choose two by default."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from polysched.errors import PlotError, suggestion
from polysched.ir.core.tree import path
from polysched.ir.expr.affine import to_pw_aff
from polysched.ir.expr.expressions import Index
from polysched.legality.verdicts.verdict import Occurrence, Violation
from polysched.schedule.core.program import Program, base_name


def chosen_statements(program: Program, names: Sequence[str]) -> tuple[str, ...]:
    """The statements to show: the named ones, else the kernel's statements that still exist."""
    for name in names:
        if name not in program.statements:
            raise PlotError(f"no statement '{name}'{suggestion(name, program.statements)}")
    declared = [name for name in program.kernel.statements if name in program.statements]
    return tuple(dict.fromkeys(names)) or tuple(declared) or tuple(program.statements)


def coordinate(program: Program, statement: str, name: str) -> isl.PwAff | None:
    """A dimension as a function of a statement's instances; None if the statement lacks it."""
    declared = program.statements[statement]
    if name in declared.indices:
        return to_pw_aff(Index(name), declared.domain.get_space())
    return loop_value(program, statement, name)


def loop_value(program: Program, statement: str, name: str) -> isl.PwAff | None:
    """A loop's value as a function of a statement's instances; None if no such loop encloses it."""
    enclosing = path(program.tree, statement)
    loop_name = base_name(name)
    return next((loop.values[statement] for loop in enclosing if loop.name == loop_name), None)


def require_dimensions(
    program: Program, shown: Sequence[str], names: Sequence[str], kind: str
) -> None:
    """Check that every name is a dimension of at least one of the statements shown.

    Args:
        shown: the statements in the picture.
        names: the names to check.
        kind: the kind of dimension in the message.
    """
    indices = [index for name in shown for index in program.statements[name].indices]
    known = [*indices, *_loop_names(program, shown)]
    _require(program, shown, names, coordinate, f"no {kind}", "an index or a loop", known)


def require_loops(program: Program, shown: Sequence[str], names: Sequence[str]) -> None:
    """Check that every name is a loop around at least one of the statements shown."""
    known = _loop_names(program, shown)
    _require(program, shown, names, loop_value, "no loop", "a loop of the schedule", known)


def _require(
    program: Program,
    shown: Sequence[str],
    names: Sequence[str],
    find: Callable[[Program, str, str], isl.PwAff | None],
    missing: str,
    expected: str,
    known: Sequence[str],
) -> None:
    for name in names:
        owner, _, _ = name.rpartition(".")
        if owner and owner not in program.statements:
            raise PlotError(
                f"no statement '{owner}' (in '{name}'){suggestion(owner, program.statements)}"
            )
        if all(find(program, statement, name) is None for statement in shown):
            statements = " or ".join(f"'{statement}'" for statement in shown)
            raise PlotError(
                f"{missing} '{name}' of statement {statements}: expected {expected}"
                f"{suggestion(name, known)}"
            )


def _loop_names(program: Program, shown: Sequence[str]) -> list[str]:
    return [loop.name for statement in shown for loop in path(program.tree, statement)]


def chosen_dimensions(
    program: Program,
    shown: Sequence[str],
    names: Sequence[str],
    at: Sequence[str],
    violation: Violation | None,
) -> tuple[str, ...]:
    """Choose one or two dimensions as axes: the named ones, else by rank.

    Candidates are the indices of the deepest statement that are not fixed. If there is a witness,
    only indices that both its instances have are candidates, and those in which the instances
    differ rank first. After that, indices that more statements share rank first.
    """
    if names:
        if len(names) > 2 or len(set(names)) < len(names):
            raise PlotError(
                f"dimensions {', '.join(names)}; expected one or two different dimensions: fix the "
                "others"
            )
        require_dimensions(program, shown, names, "dimension")
        both = sorted(set(names) & set(at))
        if both:
            raise PlotError(f"dimension '{both[0]}' is an axis and cannot be fixed as well")
        return tuple(names)
    deepest = max(
        (program.statements[name] for name in shown),
        key=lambda statement: len(statement.indices),
        default=None,
    )
    free = [] if deepest is None else [index for index in deepest.indices if index not in at]
    if not free:
        raise PlotError(
            f"{' and '.join(map(repr, shown)) or 'the schedule'} has no free index to plot; "
            "expected a statement inside a loop"
        )
    pair = witness_values(program, shown, violation)
    shared = [index for index in free if all(index in values for values in pair)] or free
    counts = {index: sum(index in program.statements[s].indices for s in shown) for index in free}
    ranked = sorted(shared, key=lambda index: (not _differs(pair, index), -counts[index]))[:2]
    return tuple(index for index in free if index in ranked)


def witness_values(
    program: Program, shown: Sequence[str], violation: Violation | None
) -> list[dict[str, int]]:
    """The index values, by name, of the witness instances of the shown statements."""
    if violation is None:
        return []
    return [
        dict(zip(_indices(program, occurrence, violation), occurrence.instance, strict=True))
        for occurrence in (violation.witness.source, violation.witness.sink)
        if occurrence is not None and occurrence.statement in shown
    ]


def _indices(program: Program, occurrence: Occurrence, violation: Violation) -> tuple[str, ...]:
    """The index names of an instance: as declared if the fault is in the kernel itself."""
    name = occurrence.statement
    declared = program.kernel.statements.get(name) if violation.in_kernel else None
    return (declared or program.statements[name]).indices


def _differs(pair: list[dict[str, int]], index: str) -> bool:
    return len({values.get(index) for values in pair}) > 1


def tile_loops(program: Program, statement: str) -> tuple[str, ...]:
    """The tile loops around a statement, the outermost first.

    A tile loop's value depends on the indices only through floors, such as ``floor(i / 8)``, so
    neighboring instances share it.
    """
    return tuple(
        loop.name
        for loop in path(program.tree, statement)
        if _is_coarse(loop.values[statement].coalesce())
    )


def _is_coarse(value: isl.PwAff) -> bool:
    functions = [function for _, function in value.get_pieces()]
    return all(not _sees_index(function) for function in functions) and any(
        _rounds(function) for function in functions
    )


def _sees_index(function: isl.Aff) -> bool:
    count = function.dim(isl.dim_type.in_)
    return any(
        not function.get_coefficient_val(isl.dim_type.in_, position).is_zero()
        for position in range(count)
    )


def _rounds(function: isl.Aff) -> bool:
    """Whether a function contains a floor that depends on an index."""
    count = function.dim(isl.dim_type.div)
    indices = function.dim(isl.dim_type.in_)
    return any(
        not function.get_coefficient_val(isl.dim_type.div, position).is_zero()
        and function.get_div(position).involves_dims(isl.dim_type.in_, 0, indices)
        for position in range(count)
    )

"""The dimensions of a picture: which names there are, what they mean, which two to take."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import islpy as isl

from polysched.errors import PlotError, suggestion
from polysched.ir.affine import to_pw_aff
from polysched.ir.expressions import Index
from polysched.ir.tree import path
from polysched.legality.verdict import Occurrence, Violation
from polysched.schedule.program import Program, base_name


def chosen_statements(program: Program, names: Sequence[str]) -> tuple[str, ...]:
    """The statements to show: those named, else those of the kernel that no step has replaced.

    Raises:
        PlotError: there is no such statement.
    """
    for name in names:
        if name not in program.statements:
            raise PlotError(f"no statement '{name}'{suggestion(name, program.statements)}")
    declared = [name for name in program.kernel.statements if name in program.statements]
    return tuple(dict.fromkeys(names)) or tuple(declared) or tuple(program.statements)


def coordinate(program: Program, statement: str, name: str) -> isl.PwAff | None:
    """A dimension of one statement as a function of its instances; None if it has none so named."""
    found = program.statements[statement]
    if name in found.indices:
        return to_pw_aff(Index(name), found.domain.get_space())
    return loop_value(program, statement, name)


def loop_value(program: Program, statement: str, name: str) -> isl.PwAff | None:
    """A loop as a function of a statement's instances; None if no loop around it is so named."""
    around = path(program.tree, statement)
    wanted = base_name(name)
    return next((loop.values[statement] for loop in around if loop.name == wanted), None)


def require_dimensions(
    program: Program, shown: Sequence[str], names: Sequence[str], what: str
) -> None:
    """Check that every name is a dimension of one of the statements shown at least.

    Raises:
        PlotError: it is not; the message shows what there is.
    """
    indices = [index for one in shown for index in program.statements[one].indices]
    known = [*indices, *_loop_names(program, shown)]
    _require(program, shown, names, coordinate, f"no {what}", "an index or a loop", known)


def require_loops(program: Program, shown: Sequence[str], names: Sequence[str]) -> None:
    """Check that every name is a loop around one of the statements shown at least.

    Raises:
        PlotError: it is not; the message shows what there is.
    """
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
            whose = " or ".join(f"'{statement}'" for statement in shown)
            raise PlotError(
                f"{missing} '{name}' of statement {whose}: expected {expected}"
                f"{suggestion(name, known)}"
            )


def _loop_names(program: Program, shown: Sequence[str]) -> list[str]:
    return [loop.name for one in shown for loop in path(program.tree, one)]


def chosen_dimensions(
    program: Program,
    shown: Sequence[str],
    names: Sequence[str],
    at: Sequence[str],
    violation: Violation | None,
) -> tuple[str, ...]:
    """One or two dimensions: those named, else indices in which most can be seen.

    These are indices of the deepest statement that are not fixed; if there is a witness only those
    that both its instances have, first those in which they differ; then those that most statements
    share.

    Raises:
        PlotError: a name is unknown, there are too many, or there is nothing to choose from.
    """
    if names:
        if len(names) > 2 or len(set(names)) < len(names):
            raise PlotError(
                f"dimensions {', '.join(names)}; expected one or two different ones: fix the others"
            )
        require_dimensions(program, shown, names, "dimension")
        both = sorted(set(names) & set(at))
        if both:
            raise PlotError(f"dimension '{both[0]}' is an axis and cannot be fixed as well")
        return tuple(names)
    deepest = max(
        (program.statements[name] for name in shown), key=lambda one: len(one.indices), default=None
    )
    free = [] if deepest is None else [one for one in deepest.indices if one not in at]
    if not free:
        raise PlotError(
            f"{' and '.join(map(repr, shown)) or 'the schedule'} has no free index to plot; "
            "expected a statement inside a loop"
        )
    pair = _witnesses(program, shown, violation)
    shared = [one for one in free if all(one in values for values in pair)] or free
    counts = {one: sum(one in program.statements[s].indices for s in shown) for one in free}
    ranked = sorted(shared, key=lambda one: (not _differs(pair, one), -counts[one]))[:2]
    return tuple(one for one in free if one in ranked)


def _witnesses(
    program: Program, shown: Sequence[str], violation: Violation | None
) -> list[dict[str, int]]:
    """The instances of a witness that are of statements shown: their indices by name."""
    if violation is None:
        return []
    return [
        dict(zip(_indices(program, one, violation), one.instance, strict=True))
        for one in (violation.witness.source, violation.witness.sink)
        if one is not None and one.statement in shown
    ]


def _indices(program: Program, one: Occurrence, violation: Violation) -> tuple[str, ...]:
    """Names of an instance's indices: of a fault of the kernel those declared, without tiles."""
    declared = program.kernel.statements.get(one.statement) if violation.in_kernel else None
    return (declared or program.statements[one.statement]).indices


def _differs(pair: list[dict[str, int]], index: str) -> bool:
    return len({values.get(index) for values in pair}) > 1


def tile_loops(program: Program, statement: str) -> tuple[str, ...]:
    """The loops over tiles around a statement, the outermost first.

    These are the loops whose value sees the indices rounded down only, such as ``floor(i / 8)``:
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
    """Whether a floor that depends on an index takes part."""
    count = function.dim(isl.dim_type.div)
    indices = function.dim(isl.dim_type.in_)
    return any(
        not function.get_coefficient_val(isl.dim_type.div, position).is_zero()
        and function.get_div(position).involves_dims(isl.dim_type.in_, 0, indices)
        for position in range(count)
    )

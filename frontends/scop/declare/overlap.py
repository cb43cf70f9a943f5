"""Find the arrays of a C function that may overlap each other, or the sizes that it reads."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from itertools import combinations

from pycparser import c_ast

from polysched.frontends.scop.declare.variables import Origin, Outside, Variable
from polysched.frontends.scop.rewrites.usage import base_name, changed_by, declared_names
from polysched.frontends.scop.source.trees import names_in, walk
from polysched.frontends.scop.types.c_types import may_alias
from polysched.ir.core.kernel import Kernel
from polysched.ir.expr.dtypes import i8, u8
from polysched.llvm.export.fallback import address_of


def may_overlap(
    kernel: Kernel, outside: Outside, late: Set[str], addressed: Set[str] = frozenset()
) -> tuple[tuple[str, str], ...]:
    """Return the pairs of variables that C lets overlap, of which the kernel writes at least one.

    C keeps two variables apart if one is a ``restrict`` pointer, if one is a constant object, which
    nothing may write (C11 6.7.3), if both are declared objects and not pointers, or if their
    elements have types that may not alias (C11 6.5).

    Args:
        outside: the variables that it uses.
        late: the names that the code uses after its first store. The kernel reads sizes and the
            pointers in structs at its entry, so their addresses are kept apart from what it writes.
        addressed: the scalars whose address is taken in the function; pointers may lead to them.
    """
    arrays = outside.arrays.values()
    written = {variable.name for variable in arrays if kernel.arrays[variable.name].is_written}
    sizes = [size for size in outside.sizes if size.place or not size.type.is_const]
    sizes = [size for size in sizes if size.name in late]
    keys = {size.name: address_of(size.name) for size in sizes}
    pairs = [
        (first.name, keys.get(second.name, second.name))
        for first, second in combinations((*arrays, *sizes), 2)
        if {first.name, second.name} & written
        and not (_is_restrict(first) or _is_restrict(second))
        and not (_is_constant(first) or _is_constant(second))
        and not _is_same_struct(first, second)
        and (_is_pointer(first) or _is_pointer(second))
        and _is_reachable(first, addressed)
        and _is_reachable(second, addressed)
        and (
            first.type.dtype is None
            or second.type.dtype is None
            or may_alias(first.type.dtype, second.type.dtype)
        )
    ]
    # Only stores of bytes may change a pointer (C11 6.5).
    bytes_ = [array for array in arrays if array.name in written and array.type.dtype in (i8, u8)]
    pairs += [
        (byte_array.name, address_of(pointer.name))
        for byte_array in bytes_
        if _is_pointer(byte_array) and not _is_restrict(byte_array)
        for pointer in arrays
        if (place := pointer.place) is not None
        and place.member.is_pointer
        and pointer.name in late
        and not place.is_restrict
        and (
            byte_array.place is None
            or byte_array.place.member.is_pointer
            or byte_array.place.base != place.base
        )
    ]
    return tuple(pairs)


def names_after_a_store(items: Sequence[c_ast.Node]) -> frozenset[str]:
    """Return the names that are used after the first statement that may change other variables."""
    own = declared_names(*items)
    targets = [{base_name(target) for target in _targets(item)} for item in items]
    first = next((at for at, names in enumerate(targets) if names - own), len(items))
    return frozenset(name for item in items[first:] for name in names_in(item))


def addressed_names(function: c_ast.FuncDef) -> frozenset[str]:
    """Return the names whose address is taken in a function, as in ``&x``."""
    return frozenset(_addressed(function.body))


def _targets(item: c_ast.Node) -> Iterator[c_ast.Node]:
    return (target for node in walk(item) if (target := changed_by(node)) is not None)


def _addressed(node: c_ast.Node) -> Iterator[str]:
    if isinstance(node, c_ast.UnaryOp) and node.op == "&":
        yield base_name(node.expr)
    for _, child in node.children():
        yield from _addressed(child)


def _is_pointer(variable: Variable) -> bool:
    """Whether a variable leads to memory that other names may lead to."""
    if variable.place is not None:
        return variable.place.is_pointer or variable.place.member.is_pointer
    is_parameter = variable.origin is Origin.PARAMETER
    return bool(variable.type.dims) and (is_parameter or variable.type.is_pointer)


def _is_reachable(variable: Variable, addressed: Set[str]) -> bool:
    """Whether a pointer may lead to a variable."""
    is_scalar = not variable.type.dims
    if variable.place is not None and variable.place.is_pointer:
        return True
    return not is_scalar or variable.origin is Origin.FILE or variable.name in addressed


def _is_restrict(variable: Variable) -> bool:
    place = variable.place
    if place is not None and not place.member.is_pointer:
        return place.is_restrict
    return variable.type.is_restrict


def _is_constant(variable: Variable) -> bool:
    """Whether a variable is an array that is declared const, not a pointer to constants."""
    is_object = variable.place is None and not _is_pointer(variable)
    return is_object and bool(variable.type.dims) and variable.type.is_const


def _is_same_struct(first: Variable, second: Variable) -> bool:
    """Whether two variables are members inside the same structs, which never overlap."""
    one, other = first.place, second.place
    if one is None or other is None:
        return False
    return one.base == other.base and not (one.member.is_pointer or other.member.is_pointer)

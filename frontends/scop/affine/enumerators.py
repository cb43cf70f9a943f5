"""Bind the enumerators of enumerations to their values."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from pycparser import c_ast

from polysched.errors import FrontendError
from polysched.frontends.scop.affine.bindings import IntegerBinding
from polysched.frontends.scop.affine.expressions import affine
from polysched.frontends.scop.affine.scope import Scope
from polysched.frontends.scop.types.c_types import type_range
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant


def bind_enumerators(scope: Scope, nodes: Iterable[c_ast.Node], used: Collection[str]) -> None:
    """Bind the enumerators of enumerations to their values.

    Raises:
        FrontendError: the value of a used enumerator is not an integer literal, or does not fit
            int.
    """
    for node in nodes:
        inner = getattr(getattr(node, "type", None), "type", getattr(node, "type", None))
        if not isinstance(inner, c_ast.Enum) or inner.values is None:
            continue
        _bind_enumeration(scope, inner, used)


def _bind_enumeration(scope: Scope, node: c_ast.Enum, used: Collection[str]) -> None:
    least, greatest = type_range(i32)
    following: int | None = 0
    for enumerator in node.values.enumerators:
        name = enumerator.name
        number, reason = following, "not an integer literal"
        # An enumerator that hides a bound name must be bound too.
        is_needed = name in used or scope.find(name) is not None
        if enumerator.value is not None:
            try:
                number = affine(scope, enumerator.value).number
            except FrontendError:
                if is_needed:
                    raise
                number = None
        if number is not None and not least <= number <= greatest:
            number, reason = None, f"{number}, which does not fit int"
        if number is not None:
            scope.bind(name, IntegerBinding(Constant(number), i32))
        elif is_needed:
            raise scope.error(enumerator, f"the value of '{name}' is {reason}")
        following = None if number is None else number + 1

"""Conditions on the sizes that operations need: proved, or assumed with their reason."""

from __future__ import annotations

import contextlib

import islpy as isl
from pycparser import c_ast

from polysched.errors import FrontendError, KernelError
from polysched.frontends.scop.affine.assumption import Assumption, is_simple
from polysched.frontends.scop.affine.conditions import condition_text
from polysched.frontends.scop.affine.scope import Scope
from polysched.ir.core.limits import limited
from polysched.ir.expr.affine import from_set
from polysched.ir.expr.expressions import Expression


class UnprovedError(FrontendError):
    """A condition on the sizes is not proved; a translation that may assume it may succeed."""


def unproved(scope: Scope, node: c_ast.Node, reason: str) -> UnprovedError:
    """Build an error that underlines a node."""
    error = scope.error(node, reason)
    return UnprovedError(str(error), error.reason, error.location)


def assumption(scope: Scope, node: c_ast.Node, sizes: isl.Set, otherwise: str) -> Assumption:
    """Build an assumption about a node.

    Raises:
        ValueError: the condition has no text in C.
    """
    condition_text(sizes)
    return Assumption(from_set(sizes), sizes, otherwise, scope.source_map.location(node))


def expects(scope: Scope, node: c_ast.Node, condition: Expression, otherwise: str) -> bool:
    """Whether a condition holds at every instance that reaches this point.

    If it only holds for some sizes, and the translation may assume these, it holds from now on.
    """
    if scope.proves(condition):
        return True
    if not scope.may_assume:
        return False
    try:
        with limited(KernelError, "too intricate"):
            excluded = scope.violations(condition).params()
            # Without divisions more sizes are excluded than need be.
            for sizes in (excluded, excluded.remove_divs()):
                with contextlib.suppress(ValueError):
                    gist = scope.sizes().subtract(sizes).coalesce().gist(scope.sizes()).coalesce()
                    if is_simple(gist) and not scope.instances().intersect_params(gist).is_empty():
                        scope.assume_always(assumption(scope, node, gist, otherwise))
                        return True
    except (KernelError, isl.Error):
        pass
    return False

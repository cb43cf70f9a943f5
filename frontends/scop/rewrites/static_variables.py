"""Static variables whose values from earlier calls nothing reads, as local variables.

::

    static double temp;                      double temp;
    for (j = 0; j < n; j++) {                for (j = 0; j < n; j++) {
        temp = alpha * b[j]; ...                 temp = alpha * b[j]; ...

Fortran that was translated to C declares its variables so.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence

from pycparser import c_ast

from polysched.frontends.scop.rewrites.live_out import reads_earlier_value


def with_own_statics(items: Sequence[c_ast.Node]) -> tuple[c_ast.Node, ...]:
    """Make the static numbers of a function body local if it sets them before it reads them."""
    return tuple(_local(item) if _is_own(item, items) else item for item in items)


def _is_own(item: c_ast.Node, items: Sequence[c_ast.Node]) -> bool:
    is_number = isinstance(item, c_ast.Decl) and isinstance(item.type, c_ast.TypeDecl)
    is_static = is_number and "static" in (item.storage or ()) and item.init is None
    return is_static and not reads_earlier_value(items, item.name)


def _local(item: c_ast.Decl) -> c_ast.Decl:
    result = copy.copy(item)
    result.storage = [word for word in item.storage if word != "static"]
    return result

"""``with polysched.statement("name", order="any"):`` as the source of a function has it."""

from __future__ import annotations

import ast

from polysched.frontends.python.expressions import Reader
from polysched.frontends.python.labels import statement


def given_label(reader: Reader, node: ast.With) -> tuple[str, str | None]:
    """The name and the policy that a ``with`` gives the statement inside.

    Raises:
        FrontendError: it is another ``with``, or its arguments are no texts.
    """
    item = node.items[0]
    call = item.context_expr
    if (
        len(node.items) > 1
        or not isinstance(call, ast.Call)
        or item.optional_vars is not None
        or reader.outer(call.func) is not statement
    ):
        raise reader.source.error(
            item.context_expr, "expected polysched.statement(...): the name of one statement"
        )
    given: dict[str, str] = {}
    keys = [*["name", "order"][: len(call.args)], *(one.arg for one in call.keywords)]
    for key, one in zip(keys, [*call.args, *(k.value for k in call.keywords)], strict=False):
        text = one.value if isinstance(one, ast.Constant) else None
        if key not in ("name", "order") or not isinstance(text, str):
            raise reader.source.error(one, "expected a text for name= or order=")
        given[key] = text
    if "name" not in given:
        raise reader.source.error(call, "expected the name of the statement")
    return given["name"], given.get("order")

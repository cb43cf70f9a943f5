"""Read ``with polysched.statement("name", order="any"):`` in a function's source."""

from __future__ import annotations

import ast

from polysched.frontends.python.expressions.translate import Reader
from polysched.frontends.python.source.labels import statement


def given_label(reader: Reader, node: ast.With) -> tuple[str, str | None]:
    """The name and the order policy that a ``with`` gives the statement inside."""
    item = node.items[0]
    call = item.context_expr
    if (
        len(node.items) > 1
        or not isinstance(call, ast.Call)
        or item.optional_vars is not None
        or reader.outer(call.func) is not statement
    ):
        raise reader.source.error(
            item.context_expr,
            "this 'with' is not supported; supported are polysched.statement(...), the name of one "
            "statement, and np.errstate(...) that ignores errors",
        )
    arguments: dict[str, str] = {}
    keys = [*["name", "order"][: len(call.args)], *(keyword.arg for keyword in call.keywords)]
    values = [*call.args, *(keyword.value for keyword in call.keywords)]
    for key, value in zip(keys, values, strict=False):
        text = value.value if isinstance(value, ast.Constant) else None
        if key not in ("name", "order") or not isinstance(text, str):
            raise reader.source.error(value, "expected a string literal for name= or order=")
        arguments[key] = text
    if "name" not in arguments:
        raise reader.source.error(call, "expected the name of the statement")
    return arguments["name"], arguments.get("order")

"""Which function a call means: the user's own, one of a library, one that stores in ``out=``."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from copy import copy
from types import FunctionType
from typing import Any

import numpy as np


def meant(node: ast.expr, outer: Mapping[str, Any]) -> Any:
    """The value of a name outside of a function, or of an attribute of one; None if unknown."""
    match node:
        case ast.Name(id=name):
            return outer.get(name)
        case ast.Attribute(value=owner, attr=name):
            return getattr(meant(owner, outer), name, None)
    return None


def split_output(function: Any, node: ast.Call) -> tuple[ast.Call, ast.expr] | None:
    """A call without its ``out=``, and that argument; None if there is none."""
    keywords = [keyword for keyword in node.keywords if keyword.arg == "out"]
    is_last = isinstance(function, np.ufunc) and len(node.args) == function.nin + 1
    if not keywords and not is_last:
        return None
    result = copy(node)
    result.keywords = [keyword for keyword in node.keywords if keyword not in keywords]
    if keywords:
        return result, keywords[0].value
    result.args = node.args[:-1]
    return result, node.args[-1]


def original(function: Any, module: str | None = None) -> FunctionType | None:
    """The user's function behind a callable; None for a function of a library.

    Args:
        module: the name of the module that calls it, whose functions are the user's.
    """
    function = getattr(function, "python", function)
    is_user = isinstance(function, FunctionType) and (
        function.__module__ == module or not is_library(function)
    )
    return function if is_user else None


def is_library(function: FunctionType) -> bool:
    """Whether a function belongs to numpy, polysched or Python, and so is never inlined."""
    module = (getattr(function, "__module__", None) or "").partition(".")[0]
    return module in ("numpy", "polysched", "math", "builtins", "itertools", "random")

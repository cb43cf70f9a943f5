"""Results of the kind of the arguments: a call with tensors of a library returns its tensors."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import wraps
from typing import Any, ParamSpec, TypeVar

import numpy as np

_Parameters = ParamSpec("_Parameters")
_Result = TypeVar("_Result")

_NOT_TENSORS = (np.ndarray, np.generic)
"""Types that export themselves by DLPack, and for which results are numpy arrays."""


def is_tensor(value: object) -> bool:
    """Whether a value is a tensor of another library than numpy."""
    return hasattr(value, "__dlpack__") and not isinstance(value, _NOT_TENSORS)


def as_given(arguments: Iterable[object], result: Any) -> Any:
    """Return a call's result as tensors of the library that the first tensor argument is from.

    Memory is shared, not copied, except that of arrays that run backward. Numbers and tensors that
    were given as outputs stay. So do arrays that the library cannot import, and all results if no
    argument is a tensor.

    Args:
        result: a numpy array, or a tuple of results.
    """
    tensor = next(filter(is_tensor, arguments), None)
    if tensor is None:
        return result
    if type(result) is tuple:
        return tuple(_imported(tensor, value) for value in result)
    return _imported(tensor, result)


def returns_tensors(function: Callable[_Parameters, _Result]) -> Callable[_Parameters, _Result]:
    """Decorate a function so that its result is of the kind of its arguments."""

    @wraps(function)
    def call(*arguments: _Parameters.args, **named: _Parameters.kwargs) -> _Result:
        result = function(*arguments, **named)
        if arguments and type(arguments[0]) is np.ndarray:
            return result
        given: Any = as_given((*arguments, *named.values()), result)
        return given  # type: ignore[no-any-return]

    return call


def _imported(tensor: Any, array: Any) -> Any:
    if type(array) is not np.ndarray:
        return array
    try:
        library = tensor.__array_namespace__()
    except AttributeError:
        library = sys.modules.get(type(tensor).__module__.partition(".")[0])
    import_dlpack = getattr(library, "from_dlpack", None)
    is_bfloat16 = array.dtype.name == "bfloat16"
    if import_dlpack is None or (is_bfloat16 and not hasattr(library, "bfloat16")):
        return array
    if any(stride < 0 for stride in array.strides):  # torch ends the process
        array = array.copy()
    try:
        if is_bfloat16:  # numpy does not export this type
            return import_dlpack(array.view(np.int16)).view(library.bfloat16)
        return import_dlpack(array)
    except (BufferError, RuntimeError, TypeError, ValueError):
        return array

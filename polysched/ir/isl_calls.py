"""Calls of isl that leak no memory: they replace methods of islpy.

An isl function *takes* an argument or *keeps* it. For an argument that is taken, islpy passes a
copy that a C++ object owns, and after the call it releases that object without deleting it. So each
such argument of each call loses 32 bytes of the heap. Texts that isl makes (``to_str``) are lost as
well. islpy 2026.2.2 does this, and the older versions that were looked at.

isl's own functions are right, and islpy's library exports them. The methods that
:mod:`polysched.ir.isl_methods` lists are replaced by calls of these functions: a copy of each
argument goes in, and a new islpy object holds the result. Whatever is unusual goes to islpy's own
method: a keyword, an argument of another type, an object of another isl context.

Where :mod:`polysched.ir.isl_pointers` does not find isl's pointers, islpy stays as it is.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable
from functools import cache, update_wrapper
from itertools import starmap
from typing import Any

import islpy as isl
from islpy import _isl as binding

from polysched.ir.isl_methods import TAKING, TEXTS
from polysched.ir.isl_pointers import WORDS, Layout, UnknownPointerError, find_layout

_Method = Callable[..., Any]
_Converters = dict[type, Callable[[Any], Any]]
"""By the type of an argument: what makes of it the value that the isl function takes and owns."""


@cache
def replace_leaking_methods() -> bool:
    """Replace the methods of islpy that leak, once.

    Returns:
        Whether they are replaced, which they are where islpy's objects are as expected.
    """
    layout = find_layout()
    if layout is None:
        return False
    functions = _Functions(ctypes.PyDLL(binding.__file__), layout)
    for class_name, names in TAKING.items():
        for name in names.split():
            functions.replace(getattr(isl, class_name), name)
    for class_name, name in TEXTS:
        functions.replace_text(getattr(isl, class_name), name)
    return True


class _Functions:
    """isl's functions, called with islpy's objects."""

    def __init__(self, library: ctypes.PyDLL, layout: Layout) -> None:
        self._library, self._slot = library, layout.slot_finder()
        classes = [one for one in vars(binding).values() if hasattr(one, "get_ctx")]
        self._context_of = {one: self._function(one, "get_ctx") for one in classes}
        self._context = self._context_of[isl.Set](self._pointer(isl.Set("{ : }")))
        self._samples: dict[type, Any] = {}
        """An object of each class; results of this class are put into copies of it."""

    def _pointer(self, value: Any) -> int:
        """isl's pointer of an islpy object."""
        pointer = WORDS[self._slot(value)]
        if not pointer:
            raise UnknownPointerError
        return pointer

    def replace(self, of_class: type[Any], name: str) -> None:
        """Replace a method whose isl function takes all objects and gives a new one."""
        original = getattr(of_class, name)
        ((signature, *_),) = original.__nb_signature__
        found = re.fullmatch(r"def \w+\((.*)\) -> (.+)", signature)
        assert found is not None, signature
        given = found[1].split(", ")
        is_static = given[0] != "self"
        kinds = [tuple(one.partition(": ")[2].split(" | ")) for one in given]
        if not is_static:
            kinds[0] = (of_class.__name__,)
        function = self._function(of_class, name)
        function.argtypes = [_C_TYPES.get(kind[0], ctypes.c_void_p) for kind in kinds]
        converters = tuple(starmap(self._converters, kinds))
        result = _class_named(found[2])
        takes_place = kinds[0] == (result.__name__,)
        make = self._in_place if takes_place else self._into_sample
        method = update_wrapper(make(function, original, converters, result), original)
        # Operators are other names of some methods.
        for alias in [known for known, value in vars(of_class).items() if value is original]:
            setattr(of_class, alias, staticmethod(method) if is_static else method)

    def _in_place(
        self, function: Any, original: _Method, converters: tuple[_Converters, ...], result: Any
    ) -> _Method:
        """A method whose result has the class of its first object.

        The result takes the place of the first object in an islpy object that holds a copy of it.
        """
        words, copied, slot_of = WORDS, result.copy, self._slot
        count, later = len(converters), converters[1:]

        def call(*arguments: Any, **named: Any) -> Any:
            if named or len(arguments) != count or type(arguments[0]) is not result:
                return original(*arguments, **named)
            first, *others = arguments
            try:
                taken = [
                    accepted[type(other)](other)
                    for accepted, other in zip(later, others, strict=True)
                ]
            except (UnknownPointerError, KeyError):
                return original(*arguments)
            new = copied(first)
            slot = slot_of(new)
            # What isl has taken the object must not hold, should a signal come in between.
            pointer, words[slot] = words[slot], 0
            made = function(pointer, *taken)
            if made is None:
                raise self._error(function, first)
            words[slot] = made
            return new

        return call

    def _into_sample(
        self, function: Any, original: _Method, converters: tuple[_Converters, ...], result: Any
    ) -> _Method:
        """A method whose result is put into a copy of a sample of its class."""
        words, samples, copied, slot_of = WORDS, self._samples, result.copy, self._slot
        count, free, pointer_of = len(converters), self._function(result, "free"), self._pointer
        context, contexts = self._context, self._context_of

        def call(*arguments: Any, **named: Any) -> Any:
            try:
                sample = samples[result]
                first = arguments[0]
                is_usual = (
                    len(arguments) == count
                    and not named
                    and contexts[type(first)](pointer_of(first)) == context
                )
                if not is_usual:
                    return original(*arguments, **named)
                taken = [
                    accepted[type(argument)](argument)
                    for accepted, argument in zip(converters, arguments, strict=True)
                ]
            except (UnknownPointerError, LookupError):
                made = original(*arguments, **named)
                if contexts[result](pointer_of(made)) == context:
                    samples.setdefault(result, made)
                return made
            made = function(*taken)
            if made is None:
                raise self._error(function, first)
            new = copied(sample)
            slot = slot_of(new)
            before, words[slot] = words[slot], made
            free(before)
            return new

        return call

    def replace_text(self, of_class: type[Any], name: str) -> None:
        """Replace a method that gives a new text."""
        original = getattr(of_class, name)
        function, free = self._function(of_class, name), ctypes.PyDLL(None).free
        free.argtypes, free.restype = [ctypes.c_void_p], None

        def call(value: Any) -> Any:
            try:
                made = function(self._pointer(value))
            except UnknownPointerError:
                made = None
            if made is None:
                return original(value)
            try:
                return ctypes.string_at(made).decode()
            finally:
                free(made)

        setattr(of_class, name, update_wrapper(call, original))

    def _converters(self, *kinds: str) -> _Converters:
        """What makes of an argument of one of these kinds what isl takes."""
        if kinds[0] in _PLAIN:
            return _PLAIN[kinds[0]]
        classes = [_class_named(kind) for kind in kinds if kind != "int"]
        return {given: self._converter(given, classes[0]) for given in classes}

    def _converter(self, given: Any, wanted: Any) -> Callable[[Any], Any]:
        copy, pointer = self._function(given, "copy"), self._pointer
        if given is wanted:
            return lambda value: copy(pointer(value))
        cast = self._function(wanted, f"from_{given._isl_name.removeprefix('isl_')}")
        return lambda value: cast(copy(pointer(value)))

    def _function(self, of_class: Any, name: str) -> Any:
        """A function of isl that gets a pointer and gives one."""
        function = self._library[f"{of_class._isl_name}_{name.rstrip('_')}"]
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_void_p
        return function

    def _error(self, function: Any, value: Any) -> isl.Error:
        """isl's last error in the context of an object, as islpy words it."""
        context = self._context_of[type(value)](self._pointer(value))
        message, file, line = (
            self._library[f"isl_ctx_last_error_{what}"] for what in ("msg", "file", "line")
        )
        for of_context in (message, file, line):
            of_context.argtypes, of_context.restype = [ctypes.c_void_p], ctypes.c_char_p
        line.restype = ctypes.c_int
        text = (message(context) or b"no message").decode()
        where = (file(context) or b"?").decode()
        return isl.Error(f"call to {function.__name__} failed: {text} in {where}:{line(context)}")


def _c_int(number: int) -> int:
    if not 0 <= number < 2**31:
        raise UnknownPointerError
    return number


_C_TYPES = {"int": ctypes.c_int, "dim_type": ctypes.c_int, "str": ctypes.c_char_p}
_PLAIN: dict[str, _Converters] = {
    "int": {int: _c_int},
    "dim_type": {isl.dim_type: int},
    "str": {str: str.encode},
}


def _class_named(text: str) -> Any:
    return getattr(binding, text.removeprefix("islpy._isl."))

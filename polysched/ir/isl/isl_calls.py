"""Replacements for islpy methods that leak memory: direct calls of isl's C functions.

An isl function *takes* or *keeps* an argument (``__isl_take``, ``__isl_keep``). For a taken
argument, islpy passes a copy that a C++ object owns, and after the call it releases that object
without deleting it. So each taken argument of each call leaks 32 bytes. Strings that isl allocates
(``to_str``) leak as well. islpy 2026.2.2 and the older versions that were tested have this bug.

isl's own functions do not leak, and islpy's library exports them. The methods in `TAKING`,
those that polysched uses, are replaced by calls of these functions: a copy of each argument goes
in, and a new islpy object holds the result. Unusual calls fall back to islpy's own method: keyword
arguments, arguments of another type, objects of another isl context.

Only isl's header files tell which arguments a function takes and which it keeps, and islpy does not
ship them. The tests compare each method with islpy's own and count references, so they detect a
wrong entry.

If :mod:`polysched.ir.isl.isl_pointers` does not find isl's pointers, islpy stays unchanged.
"""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache, update_wrapper
from itertools import starmap
from types import MappingProxyType
from typing import Any

import islpy as isl
from islpy import _isl as binding

from polysched.ir.isl.isl_pointers import (
    HEADER_BYTES,
    WORDS,
    Layout,
    UnknownPointerError,
    find_layout,
)

_Method = Callable[..., Any]
_Converters = dict[type, Callable[[Any], Any]]
"""For each accepted type of an argument, the function that creates the value that isl takes."""


@cache
def replace_leaking_methods() -> bool:
    """Replace the methods of islpy that leak, once.

    Returns:
        False if the layout of islpy's objects is unknown, so that nothing is replaced.
    """
    layout = find_layout()
    if layout is None:
        return False
    functions = _Functions(ctypes.PyDLL(binding.__file__), layout)
    for class_name, names in TAKING.items():
        for name in names.split():
            functions.replace(getattr(isl, class_name), name)
    for class_name, name in _TEXTS:
        functions.replace_text(getattr(isl, class_name), name)
    return True


class _Functions:
    """Wrappers of isl's C functions that accept and return islpy objects."""

    def __init__(self, library: ctypes.PyDLL, layout: Layout) -> None:
        self._library, self._slot, self._usual = library, layout.slot_finder(), layout.usual
        classes = [value for value in vars(binding).values() if hasattr(value, "get_ctx")]
        self._context_of = {of_class: self._function(of_class, "get_ctx") for of_class in classes}
        self._context = self._context_of[isl.Set](self._pointer(isl.Set("{ : }")))
        self._samples: dict[type, Any] = {}
        """An object of each class; a new result is stored in a copy of it."""

    def _pointer(self, value: Any) -> int:
        """The isl pointer of an islpy object."""
        pointer = WORDS[self._slot(value)]
        if not pointer:
            raise UnknownPointerError
        return pointer

    def replace(self, of_class: type[Any], name: str) -> None:
        """Replace a method whose isl function takes all objects and returns a new one."""
        original = getattr(of_class, name)
        ((signature, *_),) = original.__nb_signature__
        parsed = re.fullmatch(r"def \w+\((.*)\) -> (.+)", signature)
        assert parsed is not None, signature
        arguments = parsed[1].split(", ")
        is_static = arguments[0] != "self"
        kinds = [tuple(argument.partition(": ")[2].split(" | ")) for argument in arguments]
        if not is_static:
            kinds[0] = (of_class.__name__,)
        function = self._function(of_class, name)
        function.argtypes = [_C_TYPES.get(kind[0], ctypes.c_void_p) for kind in kinds]
        converters = tuple(starmap(self._converters, kinds))
        result = _class_named(parsed[2])
        is_endomorphic = kinds[0] == (result.__name__,)
        wrap = self._in_place if is_endomorphic else self._into_sample
        method = update_wrapper(wrap(function, original, converters, result), original)
        # Some methods also have an operator as an alias.
        for alias in [known for known, value in vars(of_class).items() if value is original]:
            setattr(of_class, alias, staticmethod(method) if is_static else method)

    def _in_place(
        self, function: Any, original: _Method, converters: tuple[_Converters, ...], result: Any
    ) -> _Method:
        """Wrap a function whose result has the class of its first argument.

        A copy of the first argument becomes the islpy object that holds the result.
        """
        words, usual, copied, slot_of = WORDS, self._usual, result.copy, self._slot
        count, later = len(converters), converters[1:]
        second = later[0] if later else {}

        def call(*arguments: Any, **named: Any) -> Any:
            if named or len(arguments) != count or type(arguments[0]) is not result:
                return original(*arguments, **named)
            first, *others = arguments
            taken: Sequence[Any] = ()
            try:
                if count == 2:  # most functions; without a call of a comprehension
                    taken = (second[type(others[0])](others[0]),)
                elif count > 2:
                    taken = [
                        accepted[type(other)](other)
                        for accepted, other in zip(later, others, strict=True)
                    ]
            except (UnknownPointerError, KeyError):
                return original(*arguments)
            new = copied(first)
            at = id(new) + HEADER_BYTES >> 3
            # The usual layout, without a call of a function.
            slot = words[at + 1] >> 3 if words[at] == usual else slot_of(new)
            # isl now owns the pointer. Clear the slot, so that a signal between here and the
            # assignment below cannot make Python free it a second time.
            pointer, words[slot] = words[slot], 0
            returned = function(pointer, *taken)
            if returned is None:
                raise self._error(function, first)
            words[slot] = returned
            return new

        return call

    def _into_sample(
        self, function: Any, original: _Method, converters: tuple[_Converters, ...], result: Any
    ) -> _Method:
        """Wrap a function whose result is stored in a copy of a sample object of its class."""
        words, usual, copied, slot_of = WORDS, self._usual, result.copy, self._slot
        count, free, pointer_of = len(converters), self._function(result, "free"), self._pointer
        context, contexts, samples = self._context, self._context_of, self._samples
        of_first, of_last = converters[0], converters[-1]

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
                taken: Sequence[Any]
                if count == 1:  # most functions; without a call of a comprehension
                    taken = (of_first[type(first)](first),)
                elif count == 2:
                    last = arguments[1]
                    taken = (of_first[type(first)](first), of_last[type(last)](last))
                else:
                    taken = [
                        accepted[type(argument)](argument)
                        for accepted, argument in zip(converters, arguments, strict=True)
                    ]
            except (UnknownPointerError, LookupError):
                value = original(*arguments, **named)
                if contexts[result](pointer_of(value)) == context:
                    samples.setdefault(result, value)
                return value
            returned = function(*taken)
            if returned is None:
                raise self._error(function, first)
            new = copied(sample)
            at = id(new) + HEADER_BYTES >> 3
            # The usual layout, without a call of a function.
            slot = words[at + 1] >> 3 if words[at] == usual else slot_of(new)
            before, words[slot] = words[slot], returned
            free(before)
            return new

        return call

    def replace_text(self, of_class: type[Any], name: str) -> None:
        """Replace a method that returns a new string."""
        original = getattr(of_class, name)
        function, free = self._function(of_class, name), ctypes.PyDLL(None).free
        free.argtypes, free.restype = [ctypes.c_void_p], None

        def call(value: Any) -> Any:
            try:
                address = function(self._pointer(value))
            except UnknownPointerError:
                address = None
            if address is None:
                return original(value)
            try:
                return ctypes.string_at(address).decode()
            finally:
                free(address)

        setattr(of_class, name, update_wrapper(call, original))

    def _converters(self, *kinds: str) -> _Converters:
        """The converters of an argument that accepts these kinds to the first kind."""
        if kinds[0] in _PLAIN:
            return _PLAIN[kinds[0]]
        classes = [_class_named(kind) for kind in kinds if kind != "int"]
        return {source: self._converter(source, classes[0]) for source in classes}

    def _converter(self, source: Any, target: Any) -> Callable[[Any], Any]:
        copy, pointer = self._function(source, "copy"), self._pointer
        if source is target:
            words, usual = WORDS, self._usual

            def copied(value: Any) -> Any:
                at = id(value) + HEADER_BYTES >> 3
                # The usual layout, without two more calls of functions.
                held = words[words[at + 1] >> 3] if words[at] == usual else pointer(value)
                return copy(held or pointer(value))

            return copied
        cast = self._function(target, f"from_{source._isl_name.removeprefix('isl_')}")
        return lambda value: cast(copy(pointer(value)))

    def _function(self, of_class: Any, name: str) -> Any:
        """Look up an isl function from pointer to pointer."""
        function = self._library[f"{of_class._isl_name}_{name.rstrip('_')}"]
        function.argtypes, function.restype = [ctypes.c_void_p], ctypes.c_void_p
        return function

    def _error(self, function: Any, value: Any) -> isl.Error:
        """Convert isl's last error in the context of an object, worded as islpy does."""
        context = self._context_of[type(value)](self._pointer(value))
        message, file, line = (
            self._library[f"isl_ctx_last_error_{part}"] for part in ("msg", "file", "line")
        )
        for getter in (message, file, line):
            getter.argtypes, getter.restype = [ctypes.c_void_p], ctypes.c_char_p
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


TAKING: Mapping[str, str] = MappingProxyType(
    {
        "Aff": """add add_constant_val ceil eq_basic_set eval floor le_basic_set lt_basic_set
            mod_val mul neg scale_down_val scale_val set_coefficient_val set_constant_val sub
            val_on_domain var_on_domain zero_on_domain""",
        "AstBuild": "from_context set_iterators",
        "BasicMap": "domain range reverse wrap",
        "BasicSet": "add_constraint intersect params project_out remove_redundancies sample",
        "Constraint": "set_coefficient_val set_constant_val",
        "IdList": "add",
        "LocalSpace": "from_space",
        "Map": """add_constraint add_dims apply_domain apply_range coalesce complement compute_divs
            deltas dim_max dim_min domain eliminate empty equate fix_val flat_range_product from_aff
            from_domain from_domain_and_range from_pw_aff from_pw_multi_aff gist gist_params
            identity insert_dims intersect intersect_domain intersect_params intersect_range
            lex_gt_map lex_le_map lex_lt_map lexmax lexmin lexmin_pw_multi_aff lower_bound_val
            move_dims neg params project_out range reset_tuple_id reverse sample set_dim_id
            set_dim_name set_tuple_id set_tuple_name subtract subtract_range sum union universe
            upper_bound_val wrap""",
        "MultiAff": "flat_range_product from_aff identity set_aff zero",
        "MultiPwAff": "from_multi_aff from_pw_multi_aff",
        "MultiUnionPwAff": "flat_range_product from_union_pw_aff",
        "PwAff": """add add_constant_val add_dims as_aff ceil coalesce domain eq_map eq_set eval
            floor from_aff gist gist_params gt_map insert_dims intersect_domain intersect_params
            le_set lt_map lt_set max max_val min mod_val move_dims mul ne_set neg
            pullback_multi_aff pullback_pw_multi_aff reset_tuple_id scale_down_val scale_val
            set_dim_id set_tuple_id sub union_add union_max union_min var_on_domain zero_set""",
        "PwMultiAff": """coalesce domain flat_range_product from_map from_multi_aff from_pw_aff gist
            intersect_domain intersect_params pullback_multi_aff pullback_pw_multi_aff set_dim_id
            set_tuple_id""",
        "Schedule": "from_domain insert_partial_schedule sequence",
        "ScheduleNode": "band_set_ast_build_options child insert_mark parent",
        "Set": """add_constraint add_dims apply coalesce complement compute_divs convex_hull dim_max
            dim_max_val dim_min dim_min_val drop_constraints_involving_dims eliminate empty equate
            fix_val flatten from_basic_set from_params from_point from_pw_aff gist gist_params
            insert_dims intersect intersect_params lex_lt_set lexmax lexmin lower_bound_val
            move_dims neg params preimage_pw_multi_aff project_out reset_tuple_id sample
            sample_point set_dim_id set_dim_name set_tuple_id set_tuple_name subtract sum union
            universe upper_bound_val""",
        "Space": """add_dims domain drop_dims from_domain from_range insert_dims
            map_from_domain_and_range map_from_set params range reset_tuple_id reverse set_dim_id
            set_dim_name set_tuple_id set_tuple_name""",
        "UnionMap": "from_map union",
        "UnionPwAff": "from_pw_aff union_add",
        "UnionSet": "from_set union",
        "Val": "abs add mul neg sub",
    }
)
"""By class: methods whose isl function takes all its object arguments and returns a new object."""

_TEXTS = (("Val", "to_str"), ("Printer", "get_str"))
"""Classes and their methods that return a string."""

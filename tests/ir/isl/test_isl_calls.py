"""The replaced methods of islpy: the same answers and errors, no leak, no reference lost."""

from __future__ import annotations

import ctypes
import inspect
import re
import threading
from collections.abc import Iterator
from itertools import count, repeat
from typing import Any

import islpy as isl
import pytest

from polysched.ir.isl import isl_pointers
from polysched.ir.isl.isl_calls import TAKING
from polysched.ir.isl.isl_pointers import WORDS, find_layout
from tests.support.memory_growth import bytes_in_use

TAKEN = [(of_class, name) for of_class, names in TAKING.items() for name in names.split()]

SAMPLES = {
    "Aff": isl.Aff("[n] -> { S[i, j] -> [2*i + n] }"),
    "AstBuild": isl.AstBuild.from_context(isl.Set("[n] -> { : n > 0 }")),
    "BasicMap": isl.BasicMap("[n] -> { S[i, j] -> S[a, b] : a = i }"),
    "BasicSet": isl.BasicSet("[n] -> { S[i, j] : 0 <= i <= n and 0 <= j <= n }"),
    "Constraint": isl.BasicSet("[n] -> { S[i, j] : i >= 3 }").get_constraints()[0],
    "Id": isl.Id("name"),
    "IdList": isl.IdList.alloc(isl.DEFAULT_CONTEXT, 2).add(isl.Id("first")),
    "LocalSpace": isl.LocalSpace.from_space(isl.Space("[n] -> { S[i, j] }")),
    "Map": isl.Map("[n] -> { S[i, j] -> S[a, b] : a = i and 0 <= b < n or a = i + 1 and b = j }"),
    "MultiAff": isl.MultiAff("[n] -> { S[i, j] -> S[i, n] }"),
    "MultiUnionPwAff": isl.MultiUnionPwAff("[n] -> [{ S[i, j] -> [(i)] }]"),
    "MultiPwAff": isl.MultiPwAff("[n] -> { S[i, j] -> S[(i), (n)] }"),
    "Point": isl.Set("{ S[i, j] : i = 1 and j = 2 }").sample_point(),
    "PwAff": isl.PwAff("[n] -> { S[i, j] -> [(i + n)] : i > 0 }"),
    "PwMultiAff": isl.PwMultiAff("[n] -> { S[i, j] -> S[(i), (n)] : i > 0 }"),
    "Schedule": isl.Schedule('{ domain: "[n] -> { S[i, j] : 0 <= i, j < n }" }'),
    "ScheduleNode": isl.Schedule(
        '{ domain: "{ S[i, j] : 0 <= i, j < 9 }", child: { schedule: "[{ S[i, j] -> [(i)] }]" } }'
    )
    .get_root()
    .child(0),
    "Set": isl.Set("[n] -> { S[i, j] : 0 <= i <= n and 0 <= j <= 9 or i = 20 and j = 20 }"),
    "Space": isl.Space("[n] -> { S[i, j] }"),
    "UnionMap": isl.UnionMap("[n] -> { S[i, j] -> S[a, b] : a = i }"),
    "UnionPwAff": isl.UnionPwAff("[n] -> { S[i, j] -> [(i)] }"),
    "UnionSet": isl.UnionSet("[n] -> { S[i, j] : 0 <= i, j < n }"),
    "Val": isl.Val(6),
    "dim_type": isl.dim_type.set,
    "int": 1,
    "str": "text",
}

OTHERS: dict[str, Any] = {
    "Aff.eval": (isl.Aff("{ S[i, j] -> [(i)] }"), "Point"),
    "Aff.mul": ("Aff", isl.Aff("[n] -> { S[i, j] -> [(3)] }")),
    "Aff.set_coefficient_val": ("Aff", isl.dim_type.in_, 1, "Val"),
    "Map.add_constraint": (
        "Map",
        isl.BasicMap("[n] -> { S[i,j] -> S[a,b] : a > 3 }").get_constraints()[0],
    ),
    "Map.gist_params": ("Map", isl.Set("[n] -> { : n > 0 }")),
    "Map.identity": (isl.Space("{ S[i, j] -> S[a, b] }"),),
    "Map.intersect_params": ("Map", isl.Set("[n] -> { : n > 0 }")),
    "MultiAff.identity": (isl.Space("{ S[i, j] -> S[a, b] }"),),
    "PwAff.as_aff": (isl.PwAff("[n] -> { S[i, j] -> [(i + n)] }"),),
    "PwAff.add_dims": ("PwAff", isl.dim_type.in_, 1),
    "PwAff.eval": (isl.PwAff("{ S[i, j] -> [(i)] }"), "Point"),
    "PwAff.insert_dims": ("PwAff", isl.dim_type.in_, 1, 1),
    "PwAff.move_dims": ("PwAff", isl.dim_type.in_, 0, isl.dim_type.param, 0, 1),
    "PwAff.mul": ("PwAff", isl.PwAff("[n] -> { S[i, j] -> [(3)] }")),
    "PwAff.set_dim_id": ("PwAff", isl.dim_type.in_, 1, "Id"),
    "PwMultiAff.from_map": (isl.Map("{ S[i, j] -> T[i] }"),),
    "Schedule.sequence": ("Schedule", isl.Schedule('{ domain: "{ T[i] : 0 <= i < 9 }" }')),
    "Set.from_pw_aff": (isl.PwAff("[n] -> { [(n)] }"),),
    "Set.from_params": (isl.Set("[n] -> { : n > 0 }"),),
    "Space.range": (isl.Space("{ A[i] -> B[j] }"),),
    "Space.domain": (isl.Space("{ A[i] -> B[j] }"),),
    "Space.reverse": (isl.Space("{ A[i] -> B[j] }"),),
    "Space.from_range": ("Space",),
    "ScheduleNode.band_set_ast_build_options": ("ScheduleNode", isl.UnionSet("{ separate[i] }")),
}
"""Arguments of methods that the samples are no valid arguments of, or uninteresting ones."""


def arguments_of(of_class: str, name: str) -> list[Any]:
    """Arguments of a method, by the types that islpy declares."""
    given = OTHERS.get(f"{of_class}.{name}")
    if given is None:
        ((signature, *_),) = original(of_class, name).__nb_signature__
        found = re.search(r"\((.*)\) ->", signature)
        assert found is not None
        parts = found[1].split(", ")
        given = [part.partition(": ")[2].partition(" | ")[0] or of_class for part in parts]
    return [SAMPLES[one] if isinstance(one, str) and one in SAMPLES else one for one in given]


def original(of_class: str, name: str) -> Any:
    """islpy's own method."""
    return inspect.unwrap(getattr(getattr(isl, of_class), name))


def outcome(method: Any, arguments: list[Any]) -> tuple[type, str]:
    """What a call gives, or its error."""
    try:
        made = method(*arguments)
    except isl.Error as error:
        return type(error), str(error)
    text = str(made) if hasattr(made, "to_str") or hasattr(made, "_base_name") else ""
    return type(made), text if " at 0x" not in text else ""


def references(value: Any) -> int:
    """How many references there are to the isl object of an islpy object: its first member."""
    layout = find_layout()
    assert layout is not None
    return ctypes.c_int32.from_address(WORDS[layout.slot_finder()(value)]).value


@pytest.mark.parametrize(("of_class", "name"), TAKEN, ids=str)
def test_as_islpys_own(of_class: str, name: str) -> None:
    arguments = arguments_of(of_class, name)
    ours = getattr(getattr(isl, of_class), name)
    assert ours is not original(of_class, name), "not replaced"
    for _ in range(2):  # the first result of a class comes from islpy's own method
        assert outcome(ours, arguments) == outcome(original(of_class, name), arguments)
    objects = [value for value in arguments if hasattr(value, "_base_name")]
    before = [references(value) for value in objects]
    assert outcome(ours, arguments)
    assert [references(value) for value in objects] == before


@pytest.mark.parametrize("of_class", TAKING)
def test_no_leak(of_class: str) -> None:
    calls = [
        (getattr(getattr(isl, of_class), name), arguments_of(of_class, name))
        for name in TAKING[of_class].split()
    ]

    def growth() -> int:
        start = bytes_in_use()
        for method, arguments in calls * 100:
            method(*arguments)
        return bytes_in_use() - start

    # One method of islpy's own takes 32 bytes a call. A hash table of isl may grow once.
    assert any(growth() < 100 * 24 for _ in range(8))


def test_an_argument_of_a_class_that_isl_converts() -> None:
    part = SAMPLES["BasicSet"]
    assert SAMPLES["Set"].intersect(part) == SAMPLES["Set"].intersect(isl.Set.from_basic_set(part))
    before = references(part)
    SAMPLES["Set"].intersect(part)
    assert references(part) == before


@pytest.mark.parametrize(
    "call",
    [
        lambda intersect, fix: intersect(SAMPLES["Set"], isl.Set("{ T[i] }")),
        lambda intersect, fix: fix(SAMPLES["Set"], isl.dim_type.set, 7, isl.Val(1)),
    ],
)
def test_errors_are_those_of_islpy(call: Any) -> None:
    own = [original("Set", name) for name in ("intersect", "fix_val")]
    with pytest.raises(isl.Error) as expected:
        call(*own)
    with pytest.raises(isl.Error) as found:
        call(isl.Set.intersect, isl.Set.fix_val)
    assert str(found.value) == str(expected.value)


def test_what_is_unusual_is_left_to_islpy() -> None:
    points = isl.Set("{ [i, j] : 0 <= i, j < 3 }")
    fixed = points.fix_val(isl.dim_type.set, 0, 1)  # an integer in the place of a value
    assert fixed == isl.Set("{ [1, j] : 0 <= j < 3 }")
    assert points.intersect(set2=fixed) == fixed
    for wrong in ((points, 3), (points,), (3, points), (points, None), ()):
        with pytest.raises(TypeError):
            isl.Set.intersect(*wrong)
    with pytest.raises(TypeError):
        points.project_out(isl.dim_type.set, -1, 1)
    with pytest.raises(isl.Error):
        points.project_out(isl.dim_type.set, 0, 2**31 - 1)


def test_objects_of_another_context() -> None:
    context = isl.Context()
    points = isl.Set("{ [i] : 0 <= i < 9 }", context)
    assert points.params().get_ctx() == context
    assert points.intersect(points).get_ctx() == context
    assert isl.Set.universe(points.get_space()).get_ctx() == context


def test_operators_are_replaced_too() -> None:
    start = bytes_in_use()
    for _ in range(100):
        _ = -SAMPLES["Aff"]
        _ = SAMPLES["Val"] + SAMPLES["Val"]
        _ = SAMPLES["Set"] & SAMPLES["Set"]
    assert bytes_in_use() - start < 100 * 16


def test_a_stopped_question_is_an_error() -> None:
    context = isl.DEFAULT_CONTEXT
    points = isl.Set("{ [i, j] : 0 <= i, j < 3 and (i + j) mod 3 = 0 }")
    context.set_max_operations(1)
    try:
        with pytest.raises(isl.Error, match="maximal number of operations exceeded"):
            points.complement()
    finally:
        context.set_max_operations(0)
        context.reset_operations()
    assert not points.complement().is_empty()


def test_threads() -> None:
    """The C library gives threads memory elsewhere, so their objects hold pointers otherwise."""
    samples = [(of_class, name, arguments_of(of_class, name)) for of_class, name in TAKEN]
    expected = [outcome(getattr(getattr(isl, one), name), given) for one, name, given in samples]
    found: list[list[tuple[type, str]]] = []

    def call_all() -> None:
        found.append(
            [outcome(getattr(getattr(isl, one), name), given) for one, name, given in samples]
        )

    threads = [threading.Thread(target=call_all) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [expected] * 4


@pytest.mark.parametrize("numbers", [repeat(0), count(1)], ids=["no memory", "other pointers"])
def test_unknown_objects_leave_islpy_alone(
    numbers: Iterator[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(isl_pointers, "_word_at", lambda _: next(numbers))
    assert find_layout() is None

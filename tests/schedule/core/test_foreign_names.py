import copy
import inspect
import re

import pytest

import polysched as ps
from polysched.schedule.core.foreign_names import FOREIGN_NAMES, MODULE_NAMES, replacement
from tests.support import kernels


@pytest.mark.parametrize(
    ("word", "message"),
    [
        ("parallelize", "a schedule has no 'parallelize'; write parallel(loop)"),
        (
            "interchange",
            "a schedule has no 'interchange'; write reorder(*loops), the outermost fir",
        ),
        ("store_at", "a schedule has no 'store_at'; write promote(array, at)"),
        ("vectorrize", "a schedule has no 'vectorrize'; did you mean 'vectorize'"),
        ("zzz", "a schedule has no 'zzz'; known are 'apply', 'check', 'collapse'"),
        ("_repr_png_", "a schedule has no '_repr_png_'"),
    ],
)
def test_a_word_that_is_none(word: str, message: str) -> None:
    with pytest.raises(AttributeError) as raised:
        getattr(ps.Schedule(kernels.scale()), word)
    assert str(raised.value).startswith(message)


def test_no_word_is_ours() -> None:
    assert not {word for word in FOREIGN_NAMES if hasattr(ps.Schedule, word)}


@pytest.mark.parametrize("ours", sorted(set(FOREIGN_NAMES.values())))
def test_what_to_write_is_there(ours: str) -> None:
    if ours.startswith("no step"):
        return
    name, _, rest = ours.partition("(")
    if name.startswith("ps."):
        assert hasattr(ps, name.removeprefix("ps."))
        return
    given = rest.partition(")")[0].replace("*", "").split(", ") if rest[0] != ")" else []
    parameters = inspect.signature(getattr(ps.Schedule, name)).parameters
    if "*" not in rest and name != "unroll":
        assert [word.partition("=")[0] for word in given] == [*parameters][1 : 1 + len(given)]


def test_primitives_page_in_a_file() -> None:
    assert replacement("Parallelize", ["split"]) == "; write parallel(loop)"
    assert replacement("splt", ["split"]) == "; did you mean 'split'?"


def test_a_schedule_has_what_it_had() -> None:
    schedule = ps.Schedule(kernels.scale()).split("i", 4)
    assert copy.copy(schedule).trace() == schedule.trace()
    assert not hasattr(schedule, "parallelize")
    assert getattr(schedule, "__array__", None) is None


def test_names_of_other_modules() -> None:
    for name in MODULE_NAMES:
        assert not hasattr(ps, name)
    with pytest.raises(AttributeError, match="'njit'; write ps.jit"):
        ps.njit  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match=r"a method of a schedule: ps.Schedule\(kernel\).tile"):
        ps.tile  # type: ignore[attr-defined]  # noqa: B018
    with pytest.raises(AttributeError, match="did you mean 'matmul'"):
        ps.matmull  # type: ignore[attr-defined]  # noqa: B018


@pytest.mark.parametrize("ours", sorted(set(MODULE_NAMES.values())))
def test_what_to_write_for_a_module_is_there(ours: str) -> None:
    for name in re.findall(r"ps\.(\w+)", ours):
        assert hasattr(ps, name)


def test_what_cannot_be_called() -> None:
    schedule = ps.Schedule(kernels.scale())
    for value, makes in ((schedule, r"compile\(\)"), (schedule.kernel, r"ps.compile\(kernel\)")):
        with pytest.raises(TypeError, match=f"cannot be called; {makes} returns the function"):
            value(1)  # type: ignore[operator]

from dataclasses import dataclass
from enum import IntEnum, StrEnum

import pytest

import polysched as ps
from polysched.errors import StepError
from polysched.schedule.core.arguments import with_checked_arguments
from tests.support import kernels


@dataclass(frozen=True)
class Everything:
    """A step with a field of each type that steps have."""

    name: str = "i"
    number: int = 1
    flag: bool = False
    names: tuple[str, ...] = ()
    numbers: tuple[int, ...] = ()
    pair: tuple[str, str] | None = None


@pytest.mark.parametrize(
    "record",
    [
        Everything(),
        Everything(name="", number=-(2**100), flag=True, names=("a", "b"), numbers=(1,)),
        Everything(pair=("a", "b")),
    ],
)
def test_what_fits_stays_as_it_is(record: Everything) -> None:
    assert with_checked_arguments("step", record) is record


def test_lists_become_tuples() -> None:
    given = Everything(names=["a"], pair=["b", "c"])  # type: ignore[arg-type]
    assert with_checked_arguments("step", given) == Everything(names=("a",), pair=("b", "c"))


class _Unprintable:
    def __repr__(self) -> str:
        raise RuntimeError


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ({"name": 3}, "step: name=3; expected a name such as 'i'"),
        ({"name": None}, "step: name=None; expected a name such as 'i'"),
        ({"name": "i" * 201}, "expected a name such as 'i'"),
        ({"number": 2.0}, "step: number=2.0; expected an integer"),
        ({"number": True}, "step: number=True; expected an integer"),
        ({"number": "4"}, "step: number='4'; expected an integer"),
        ({"number": 10**5000}, "step: number=a huge int; expected an integer"),
        ({"flag": 1}, "step: flag=1; expected True or False"),
        ({"names": "ij"}, "step: names='ij'; expected a tuple such as ('i', 'j')"),
        ({"names": ("i", 3)}, "step: names=('i', 3); expected a tuple such as ('i', 'j')"),
        ({"numbers": (1, None)}, "step: numbers=(1, None); expected a tuple such as (4, 8)"),
        ({"pair": ("i",)}, "expected a tuple of 2 such as ('i', 'j') or None"),
        ({"pair": _Unprintable()}, "step: pair=<_Unprintable instance at"),
    ],
)
def test_what_does_not_fit(argument: dict[str, object], message: str) -> None:
    with pytest.raises(StepError) as raised:
        with_checked_arguments("step", Everything(**argument))  # type: ignore[arg-type]
    assert message in str(raised.value)


class _Names(StrEnum):
    INNER = "i"


class _Sizes(IntEnum):
    FOUR = 4


def test_members_of_enumerations_become_what_they_stand_for() -> None:
    given = Everything(
        name=_Names.INNER, number=_Sizes.FOUR, names=(_Names.INNER,), numbers=(_Sizes.FOUR,)
    )
    found = with_checked_arguments("step", given)
    assert repr(found) == repr(Everything("i", 4, names=("i",), numbers=(4,)))


def test_the_types_of_a_step_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with_checked_arguments("step", Everything())
    monkeypatch.delattr("polysched.schedule.core.arguments.get_type_hints")
    with_checked_arguments("step", Everything(number=2))


def test_loops_of_a_primitive_for_several_are_names() -> None:
    schedule = ps.Schedule(kernels.matmul())
    with pytest.raises(StepError, match=r"unroll: loops: 4; .* \('i', factor=4\)"):
        schedule.unroll("update.k", 4)  # type: ignore[arg-type]
    with pytest.raises(StepError, match=r"order: \['i', 'j'\]; .* reorder\('i', 'j'\)"):
        schedule.reorder(["i", "j"])  # type: ignore[arg-type]

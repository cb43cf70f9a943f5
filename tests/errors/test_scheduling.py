"""What a wrong schedule says."""

import re
from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.legality.condition import legality_condition
from polysched.schedule.primitives.split import Split
from tests.support import kernels


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (
            lambda s: s.split("i", 2**63),
            r"split('i') is 9223372036854775808; expected at most 2**4",
        ),
        (lambda s: s.split("i", True), "split: factor=True; expected an integer"),
        (lambda s: s.split("i", np.True_), "split: factor=np.True_; expected an integer"),
        (lambda s: s.split("i", np.float32(4)), "factor=np.float32(4.0); expected an integer"),
        (lambda s: s.split(None, 4), "split: loop=None; expected a name such as 'i'"),
        (
            lambda s: s.split("i", 4, into=("a", "b", "c")),
            "into=('a', 'b', 'c'); expected a tuple of 2 such as ('i', 'j') or None",
        ),
        (lambda s: s.split("i", 4, into="ab"), "into='ab'; expected a tuple of 2 such as"),
        (lambda s: s.split("i", 4, into=(1, 2)), "into=(1, 2); expected a tuple of 2 such as"),
        (lambda s: s.split("i", 4, into=("a b", "c")), "loop name 'a b' is not an identifier"),
        (lambda s: s.split("i" * 201, 4), "expected a name such as 'i'"),
        (lambda s: s.split("i", 10**5000), "split: factor=a huge int; expected an integer"),
        (lambda s: s.shift("i", 2**70), "shift('i') is 1180591620717411303424; expected at most"),
        (lambda s: s.shift("i", 1.5), "shift: amount=1.5; expected an integer"),
        (lambda s: s.skew("i", "i", 2**70), "skew('i') is 1180591620717411303424; expected at mo"),
        (lambda s: s.skew("i", "i", 0), "the factor of skew('i') is 0; expected an integer other"),
        (lambda s: s.unroll("i", factor=2**17), "unroll('i') is 131072; expected at most 1024"),
        (lambda s: s.unroll(), "unroll() names no loop"),
        (lambda s: s.reorder(), "reorder() names no loop"),
        (
            lambda s: s.reorder(["i"]),
            "reorder: order: ['i']; expected names, as in reorder('i', 'j')",
        ),
        (lambda s: s.tile((), ()), "tile() names no loop"),
        (lambda s: s.tile(("i",), 4), "factors=4; expected a tuple such as (4, 8)"),
        (lambda s: s.tile("i", (4,)), "loops='i'; expected a tuple such as ('i', 'j')"),
        (lambda s: s.then("split"), "'split' of type str is not a step; expected a record such as"),
    ],
)
def test_steps(step: Callable[[ps.Schedule], ps.Schedule], message: str) -> None:
    schedule = ps.Schedule(kernels.scale())
    with pytest.raises(ps.ScheduleError) as raised:
        step(schedule)
    assert message in str(raised.value)


def test_a_schedule_of_something_else() -> None:
    with pytest.raises(ps.ScheduleError, match=r"Schedule\(...\) of a KernelBuilder; expected a K"):
        ps.Schedule(ps.KernelBuilder("k"))  # type: ignore[arg-type]


@pytest.mark.parametrize("judge", [ps.check, ps.compile])
def test_a_kernel_is_its_program_as_written(judge: Callable[[object], object]) -> None:
    assert judge(kernels.scale()) is not None
    with pytest.raises(ps.ScheduleError, match="expected a Schedule"):
        judge("scale")


def test_a_machine_of_another_type() -> None:
    with pytest.raises(ps.MachineError, match="3 of type int is not a machine; expected a preset"):
        ps.compile(ps.Schedule(kernels.scale()), 3)  # type: ignore[arg-type]


def test_a_step_record_is_a_step() -> None:
    schedule = ps.Schedule(kernels.scale())
    assert schedule.then(Split("i", 4)).steps == schedule.split("i", 4).steps


def _grid() -> ps.Schedule:
    return ps.Schedule(kernels.grid(64, 8))


def _chain() -> ps.Schedule:
    return ps.Schedule(kernels.chain())


@pytest.mark.parametrize(
    ("schedule", "reference", "message"),
    [
        (
            _grid().split("i", 4),
            "i",
            "1, split(loop='i', factor=4), at HERE, replaced it by 'io', 'ii'",
        ),
        (
            _grid().reverse("j").tile(("i", "j"), (4, 8)),
            "j",
            "2, tile(loops=('i', 'j'), factors=(4, 8)), at HERE, replaced it by 'io', 'jo', 'ii', "
            "'ji'",
        ),
        (
            _grid().collapse("i", "j", "ij"),
            "i",
            "1, collapse(outer='i', inner='j', into='ij'), at HERE, replaced it by 'ij'",
        ),
        (
            _grid().skew("j", "i", into="wave"),
            "j",
            "1, skew(loop='j', by='i', into='wave'), at HERE, replaced it by 'wave'",
        ),
        (
            _grid().unroll("i", factor=4),
            "i",
            "1, unroll(loop='i', factor=4), at HERE, replaced it by 'io', 'ii'",
        ),
        (
            _chain().fuse("P.i", "C.i", into="both"),
            "C.i",
            "1, fuse(first='P.i', second='C.i', into='both'), at HERE, replaced it by 'both'",
        ),
        (
            _chain().split("C.i", 4).compute_at("P", at="io").split("P.i", 2, ("a", "b")),
            "P.i",
            "3, split(loop='P.i', factor=2, into=('a', 'b')), at HERE, replaced it by 'a', 'b'",
        ),
    ],
)
def test_a_loop_that_an_earlier_step_consumed(
    schedule: ps.Schedule, reference: str, message: str
) -> None:
    with pytest.raises(ps.ScheduleError) as raised:
        schedule.split(reference, 2)
    text = re.sub(r"at [^ ]*test_scheduling.py:\d+,", "at HERE,", str(raised.value))
    assert text == f"split(loop='{reference}', factor=2): no loop '{reference}': step {message}"


_ON_J: list[Callable[[ps.Schedule], ps.Schedule]] = [
    lambda s: s.split("j", 2),
    lambda s: s.tile(("j",), (2,)),
    lambda s: s.collapse("i", "j", "ij"),
    lambda s: s.skew("j", "i"),
    lambda s: s.shift("j", 1),
    lambda s: s.reverse("j"),
    lambda s: s.unroll("j"),
    lambda s: s.vectorize("j", 4),
    lambda s: s.parallel("j"),
    lambda s: s.distribute("j"),
    lambda s: s.pack("x", "j"),
    lambda s: s.promote("y", "j"),
]


@pytest.mark.parametrize("step", _ON_J)
def test_a_step_on_an_unrolled_loop(step: Callable[[ps.Schedule], ps.Schedule]) -> None:
    with pytest.raises(
        ps.ScheduleError,
        match=r"loop 'j' is unrolled already, by step 1, .*; split it before that step",
    ):
        step(_grid().unroll("j"))


@pytest.mark.parametrize("step", _ON_J)
def test_a_step_on_a_vector_loop(step: Callable[[ps.Schedule], ps.Schedule]) -> None:
    schedule = _grid().split("j", 4, into=("jo", "k")).vectorize("k", 4, into="j")
    with pytest.raises(
        ps.ScheduleError,
        match=r"loop 'j' is vectorized already, by step 2, .*; split it before that step",
    ):
        step(schedule)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.pack("xx", "i"), "no array 'xx'; did you mean 'x'?"),
        (lambda s: s.promote("z", "i"), "no array 'z'; known are 'x', 'y'"),
        (
            lambda s: s.compute_at("T", "i"),
            "'T' is neither a statement nor an array that a statement writes; known are 'S', '",
        ),
        (lambda s: s.shift("i", 1, "T"), "statement 'T' is not below loop 'i'; known are 'S'"),
        (lambda s: s.split("T.i", 4), "no statement 'T' (in loop 'T.i'); known are 'S'"),
        (lambda s: s.split("S.k", 4), "no loop 'S.k'; did you mean 'S.j' or 'S.i'?"),
        (
            lambda s: s.pack("x", "i", into="y"),
            "'y' cannot name the buffer of array 'x': it is tak",
        ),
        (lambda s: s.pack("x", "i", into="a b"), "'a b' cannot name the buffer of array 'x'"),
        (
            lambda s: s.pack("x", "i", order=("d0",)),
            "order=('d0',) must name each dimension of array",
        ),
        (lambda s: s.vectorize("i", 4, into="j"), "loop name 'j' is taken around statement 'S'"),
        (lambda s: s.collapse("i", "j", ""), "loop name '' is not an identifier"),
        (lambda s: s.skew("j", "i", into="a.b"), "loop name 'a.b' is not an identifier"),
    ],
)
def test_what_is_not_there_and_names_that_are_none(
    step: Callable[[ps.Schedule], ps.Schedule], message: str
) -> None:
    with pytest.raises(ps.ScheduleError) as raised:
        step(_grid())
    assert message in str(raised.value)


@pytest.mark.parametrize(
    ("step", "message"),
    [
        (lambda s: s.pack(3, "i"), "pack: array=3; expected a name such as 'i'"),
        (lambda s: s.pack("x", "i", into=3), "pack: into=3; expected a name such as 'i' or None"),
        (
            lambda s: s.pack("x", "i", order=3),
            "pack: order=3; expected a tuple such as ('i', 'j') o",
        ),
        (lambda s: s.compute_at(["S"], "i"), "compute_at: producer=['S']; expected a name such as"),
        (
            lambda s: s.distribute("i", 3),
            "distribute: after=3; expected a name such as 'i' or None",
        ),
        (lambda s: s.fuse("i", None), "fuse: second=None; expected a name such as 'i'"),
        (lambda s: s.vectorize("i", "8"), "vectorize: lanes='8'; expected an integer"),
        (
            lambda s: s.tile((1, 2), (4, 4)),
            "tile: loops=(1, 2); expected a tuple such as ('i', 'j')",
        ),
        (lambda s: s.tile(("i",), ("4",)), "tile: factors=('4',); expected a tuple such as (4, 8)"),
        (
            lambda s: s.promote("y", "i", lanes=2.0),
            "promote: lanes=2.0; expected an integer or None",
        ),
        (lambda s: s.parallel(b"i"), "parallel: loop=b'i'; expected a name such as 'i'"),
    ],
)
def test_wrong_types(step: Callable[[ps.Schedule], ps.Schedule], message: str) -> None:
    with pytest.raises(ps.ScheduleError) as raised:
        step(_grid())
    assert message in str(raised.value)


@pytest.mark.parametrize("name", ["λ", "größe", "None", "__", "x" * 190])
def test_odd_names_are_names(name: str) -> None:
    schedule = _grid().split("i", 4, into=(f"o{name}", f"i{name}")).vectorize("j", 8, into=name)
    assert ps.check(schedule).is_legal
    assert name in ps.show(schedule, "llvm")


@pytest.mark.parametrize("ask", [ps.check, legality_condition, ps.explain_loops])
def test_limits_of_questions(ask: Callable[..., object]) -> None:
    schedule = ps.Schedule(kernels.scale())
    with pytest.raises(ps.ScheduleError, match=r"quota=-1; expected the number of operations"):
        ask(schedule, quota=-1)
    with pytest.raises(ps.ScheduleError, match=r"seconds=nan; expected the number of seconds"):
        ask(schedule, seconds=float("nan"))


def test_integers_of_numpy_are_pythons() -> None:
    four, eight = np.int64(4), np.uint8(8)
    schedule = (
        _grid()
        .tile(("i", "j"), (four, eight))
        .vectorize("ji", np.int32(4))
        .unroll("ii", factor=four)
    )
    assert schedule.trace() == (
        _grid().tile(("i", "j"), (4, 8)).vectorize("ji", 4).unroll("ii", factor=4).trace()
    )
    assert ps.check(schedule).is_legal

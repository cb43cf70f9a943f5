"""The verifier names the statement and what is wrong with it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from polysched.errors import LoweringError
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index
from polysched.vector.ir import Assign, Keep, Loop, Prefetch, Store, Stream, VectorProgram
from polysched.vector.values import (
    Access,
    Address,
    All,
    First,
    Gather,
    Lane,
    Lanes,
    Load,
    Offsets,
    Only,
    Register,
    Shuffle,
    Sum,
    Uniform,
    Unpack,
)
from polysched.vector.verify import verify
from tests.loops.programs import assign
from tests.vector.programs import lanes, only_assign, v, vectorized, x

PROGRAM = vectorized(lanes(0, 8, assign("y", (v,), x(v))))
COPY = only_assign(PROGRAM)
EIGHT = Lanes(8, All())


def at(array: str = "x", movement: object = Uniform.CONTIGUOUS, alignment: int = 4) -> Access:
    return Access(Address(array, (), 0), movement, alignment)  # type: ignore[arg-type]


def loading(access: Access) -> Assign:
    return replace(COPY, value=Load(access, i32))


WRONG: list[tuple[Callable[[], Assign | Prefetch], str]] = [
    (lambda: replace(COPY, value=Index("i")), "'i' is used outside its loop"),
    (lambda: replace(COPY, value=Lane(), lanes=None), "lane in a scalar statement"),
    (lambda: replace(COPY, value=First(Sum(())), lanes=None), "first(0) in a scalar statement"),
    (lambda: replace(COPY, lanes=Lanes(8, Only(()))), "active lanes () of 8; expected some"),
    (lambda: replace(COPY, lanes=Lanes(4, Only((4,)))), "active lanes (4,) of 4"),
    (lambda: replace(COPY, lanes=Lanes(8, All(), some=False)), "literal lanes of which perhaps"),
    (lambda: loading(at("z")), "'z' is not an array of the function"),
    (lambda: loading(at(movement=Offsets((0, 1)))), "offsets of 'x' for other lanes"),
    (lambda: loading(at(movement=Offsets((1,) * 8))), "offsets of 'x' that do not begin at 0"),
    (lambda: loading(at(movement=Gather(()))), "gather of 'x' with other dimensions"),
    (lambda: loading(at(alignment=12)), "alignment of 12 bytes"),
    (lambda: replace(COPY, value=Unpack(at(), i32)), "unpack(contiguous(x[0]), i32) of the other"),
    (
        lambda: replace(COPY, value=Shuffle(COPY.value, COPY.value, (16,) * 8)),
        "shuffle of lanes [16, 16",
    ),
    (
        lambda: replace(COPY, target=Store(at("y", Uniform.BROADCAST))),
        "all lanes write one element",
    ),
    (
        lambda: replace(COPY, target=Stream(at("y")), lanes=Lanes(8, Only((0,)))),
        "a streaming store of less than a whole vector",
    ),
    (
        lambda: replace(COPY, value=Register("r", 0, i32, True)),
        "'r' is not a register of the function",
    ),
    (lambda: Prefetch(Address("x", (), 0), 4), "cache level 4; expected 1, 2 or 3"),
]


@pytest.mark.parametrize(("made", "problem"), WRONG)
def test_wrong_statements(made: Callable[[], Assign | Prefetch], problem: str) -> None:
    node = made()
    with pytest.raises(LoweringError) as caught:
        verify(replace(PROGRAM, body=node))
    assert problem in str(caught.value)


def test_wrong_programs() -> None:
    loop = Loop("i", "i", Sum(()), Sum((), 4), 0, True, COPY)
    with pytest.raises(LoweringError, match="loop 'i' with step 0"):
        verify(replace(PROGRAM, body=loop))
    frame = replace(PROGRAM.frame, stack=("t",))
    with pytest.raises(LoweringError, match=r"frame with undeclared arrays \['t'\]"):
        verify(replace(PROGRAM, frame=frame))


def test_a_written_register_belongs_to_the_function() -> None:
    target = Keep(Register("r", 0, i32, True))
    with pytest.raises(LoweringError, match="'r' is not a register"):
        verify(VectorProgram(**{**vars(PROGRAM), "body": replace(COPY, target=target)}))

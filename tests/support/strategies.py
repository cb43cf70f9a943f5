"""Random kernels and random schedules for hypothesis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from hypothesis import strategies as st

from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Loop, LoopKind, loops, statements
from polysched.ir.declare.builder import ArrayHandle, KernelBuilder
from polysched.ir.expr.dtypes import DType, i32
from polysched.ir.expr.expressions import Expression, Index, Operand
from polysched.ir.expr.functions import cast, equal, maximum, minimum, not_equal, select
from polysched.ir.expr.traversal import loads
from polysched.schedule.core.program import Program
from polysched.schedule.schedule import Schedule
from tests.support import kernels

Draw: TypeAlias = Callable[[st.SearchStrategy[Any]], Any]


def random_kernels(dtype: DType = i32) -> st.SearchStrategy[Kernel]:
    """Kernels over a parameter ``n`` or of a literal size: up to three nests, any dependences.

    Floats are combined so that neither a multiplication fused with an addition nor a reduction in
    another order rounds otherwise: results are the same bit for bit.
    """
    return st.composite(_random_kernel)(dtype)


def _random_kernel(draw: Draw, dtype: DType) -> Kernel:
    build = KernelBuilder("random")
    literal = draw(st.sampled_from([None, None, 1, 5, 8]))
    size = kernels.extent(build, "n", literal)
    plane = (2 * size + 3, 2 * size + 3)
    arrays = [build.inout("a", dtype, plane), build.inout("b", dtype, plane)]
    line = build.inout("c", dtype, (2 * size + 3,))
    data = build.input("x", dtype, plane)
    for number in range(draw(st.integers(1, 3))):
        nest = _Nest(draw, build, size, [*arrays, line], [*arrays, line, data], number)
        nest.open(draw(st.integers(1, 3)), ())
    return build.kernel()


class _Nest:
    """One random loop nest while it is declared."""

    def __init__(
        self,
        draw: Draw,
        build: KernelBuilder,
        size: Expression,
        written: list[ArrayHandle],
        read: list[ArrayHandle],
        number: int,
    ) -> None:
        self.draw = draw
        self.build = build
        self.size = size
        self.written = written
        self.read = read
        self.number = number
        self.dtype = written[0].array.dtype
        self.statements = 0

    def open(self, depth: int, around: tuple[str, ...]) -> None:
        name = "ijk"[len(around)]
        with self.build.loops(**{name: self._bound(around)}):
            inside = (*around, name)
            innermost = len(inside) == depth
            if innermost or self.draw(st.integers(0, 3)) == 0:
                self._statement(inside)
            if not innermost:
                self.open(depth, inside)
            if self.draw(st.integers(0, 3)) == 0:
                self._statement(inside)

    def _bound(self, around: tuple[str, ...]) -> Any:
        choices: list[Any] = [self.size, self.size, (1, self.size), (0, self.size, 2), 3]
        if around:
            outer = Index(around[-1])
            # No steps of 3 from an outer index on: see the strided triangle in test_generate.py.
            choices += [outer + 1, (outer, self.size)]
        return self.draw(st.sampled_from(choices))

    def _subscript(self, indices: tuple[str, ...]) -> Expression:
        one, other = (
            Index(self.draw(st.sampled_from(indices))),
            Index(self.draw(st.sampled_from(indices))),
        )
        subscript: Expression = self.draw(
            st.sampled_from(
                [
                    one,
                    one,
                    one + 1,
                    one + other,
                    2 * one,
                    self.size - one,
                    one % 3,
                    one // 2,
                    0 * one,
                ]
            )
        )
        return subscript

    def _element(self, arrays: list[ArrayHandle], indices: tuple[str, ...]) -> Any:
        array = self.draw(st.sampled_from(arrays))
        places = tuple(self._subscript(indices) for _ in array.array.shape)
        return array, places

    def _value(self, indices: tuple[str, ...]) -> Expression:
        array, places = self._element(self.read, indices)
        other, elsewhere = self._element(self.read, indices)
        left, right = array[places], other[elsewhere]
        index = Index(self.draw(st.sampled_from(indices)))
        values = [
            maximum(left, right),
            select(left < right, left, right + cast(index, self.dtype)),
            left,
        ]
        if self.dtype.is_float:
            values += [minimum(left, right), 0.5 * (left - right)]
        else:
            values += [left + right, left - 2 * right + 1, left * right]
        value: Expression = self.draw(st.sampled_from(values))
        return value

    def _statement(self, indices: tuple[str, ...]) -> None:
        array, places = self._element(self.written, indices)
        value: Operand = self._value(indices)
        order = "exact"
        if self.draw(st.booleans()):
            operator = self.draw(st.sampled_from(["add", "maximum"]))
            own = array[places]
            if all(load.array.name != array.array.name for load in self._sources(value)):
                free = operator == "maximum" or not self.dtype.is_float
                order = self.draw(st.sampled_from(["exact", "any", "any"])) if free else "exact"
                value = own + value if operator == "add" else maximum(own, value)
        name = f"S{self.number}{self.statements}"
        self.statements += 1
        if self.draw(st.integers(0, 4)):
            with self.build.statement(name, order=order):
                array[places] = value
            return
        with self.build.where(self._condition(indices)), self.build.statement(name, order=order):
            array[places] = value

    def _condition(self, indices: tuple[str, ...]) -> Expression:
        """A condition that leaves holes, makes a band or a stride, or cuts a corner off."""
        one, other = Index(self.draw(st.sampled_from(indices))), Index(indices[-1])
        condition: Expression = self.draw(
            st.sampled_from(
                [
                    not_equal(one, 3),
                    (one <= 1) | (one >= 4),
                    other <= one + 1,
                    equal((one + other) % 3, 0),
                    one + other <= self.size,
                ]
            )
        )
        return condition

    def _sources(self, value: Any) -> list[ArrayHandle]:
        named = {handle.array.name: handle for handle in self.read}
        return [named[load.array] for load in loads(value)]


def random_schedules(
    kernels_from: st.SearchStrategy[Kernel], steps: int = 5
) -> st.SearchStrategy[Schedule]:
    """Schedules of up to ``steps`` steps; steps that do not fit are left out."""

    def made(draw: Draw) -> Schedule:
        schedule = Schedule(draw(kernels_from))
        for _ in range(draw(st.integers(0, steps))):
            try:
                schedule = random_step(draw, schedule)
            except ScheduleError:
                continue
        return schedule

    return st.composite(made)()


def random_step(draw: Draw, schedule: Schedule) -> Schedule:
    """The schedule with one random step more.

    Raises:
        ScheduleError: the step does not fit.
    """
    program = schedule.program
    sequential = [loop for loop in loops(program.tree) if loop.kind is LoopKind.SEQUENTIAL]
    if not sequential:
        return schedule
    loop = draw(st.sampled_from(sequential))
    other = draw(st.sampled_from(sequential))
    inner = list(loops(loop.body))
    name = _reference(loop)
    factor = draw(st.sampled_from([1, 2, 3, 4, 5, 8]))
    array = draw(st.sampled_from(sorted(program.arrays)))
    below = _reference(draw(st.sampled_from(inner))) if inner else name
    fresh = f"{len(schedule.steps)}"
    actions: list[Callable[[], Schedule]] = [
        lambda: schedule.split(name, factor, into=(f"{loop.name}o{fresh}", f"{loop.name}i{fresh}")),
        lambda: schedule.divide(
            name, factor, draw(st.sampled_from([1, 3])), f"{loop.name}p{fresh}"
        ),
        lambda: schedule.reorder(below, name),
        lambda: schedule.fuse(name, _reference(other)),
        lambda: schedule.distribute(name),
        lambda: schedule.compute_at(draw(st.sampled_from(sorted(program.statements))), name),
        lambda: schedule.skew(below, name, draw(st.sampled_from([1, 2, -1]))),
        lambda: schedule.shift(name, draw(st.integers(-2, 2)), _one_of(draw, loop)),
        lambda: schedule.reverse(name),
        lambda: schedule.unroll(name, factor=draw(st.sampled_from([None, 2, 3, 4]))),
        lambda: schedule.vectorize(
            name, draw(st.sampled_from([2, 4, 8])), into=f"{loop.name}v{fresh}"
        ),
        lambda: schedule.vectorize(
            name, draw(st.sampled_from([2, 4, 8])), into=f"{loop.name}v{fresh}"
        ),
        lambda: schedule.prefetch(array, name, factor),
        lambda: schedule.pack(array, name, _order(draw, program, array), into=f"{array}p{fresh}"),
        lambda: schedule.promote(
            array, name, draw(st.sampled_from([None, None, 4])), into=f"{array}q{fresh}"
        ),
        lambda: schedule.collapse(name, below, f"{loop.name}c{fresh}"),
        lambda: schedule.tile(
            (name, below),
            (factor, draw(st.sampled_from([2, 4]))),
            (f"o{fresh}", f"p{fresh}"),
            (f"q{fresh}", f"r{fresh}"),
        ),
        lambda: schedule.parallel(name),
        lambda: schedule.parallel(name),
        lambda: schedule.rfactor(
            draw(st.sampled_from(sorted(program.statements))), name, into=f"partial{fresh}"
        ),
        lambda: schedule.privatize(array, name, into=f"{array}own{fresh}"),
        lambda: schedule.fold_storage(
            array, _dimension(draw, program, array), factor, into=f"{array}few{fresh}"
        ),
        lambda: schedule.compute_at(
            draw(st.sampled_from(sorted(program.statements))), name, recompute=True
        ),
    ]
    chosen: Callable[[], Schedule] = draw(st.sampled_from(actions))
    return chosen()


def _reference(loop: Loop) -> str:
    return f"{statements(loop)[0]}.{loop.name}"


def _one_of(draw: Draw, loop: Loop) -> str | None:
    chosen: str | None = draw(st.sampled_from([None, *statements(loop)]))
    return chosen


def _dimension(draw: Draw, program: Program, array: str) -> str:
    declared = program.arrays[array]
    names = declared.dimensions[declared.tile :] or ("none",)
    chosen: str = draw(st.sampled_from(names))
    return chosen


def _order(draw: Draw, program: Program, array: str) -> tuple[str, ...] | None:
    declared = program.arrays[array]
    names = declared.dimensions[declared.tile :]
    chosen: tuple[str, ...] | None = draw(st.sampled_from([None, tuple(reversed(names))]))
    return chosen

"""Small random kernels and random steps for them, from any source of random integers."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from polysched.errors import ScheduleError
from polysched.ir.builder import ArrayHandle, KernelBuilder
from polysched.ir.dtypes import i32
from polysched.ir.expressions import Expression, Parameter
from polysched.ir.kernel import Kernel
from polysched.ir.tree import path
from polysched.schedule.collapse import Collapse
from polysched.schedule.compute_at import ComputeAt
from polysched.schedule.distribute import Distribute
from polysched.schedule.fuse import Fuse
from polysched.schedule.pack import Pack
from polysched.schedule.primitives import Step
from polysched.schedule.promote import Promote
from polysched.schedule.reorder import Reorder
from polysched.schedule.reverse import Reverse
from polysched.schedule.schedule import Schedule
from polysched.schedule.shift import Shift
from polysched.schedule.skew import Skew
from polysched.schedule.split import Split
from polysched.schedule.unroll import Unroll
from polysched.schedule.vectorize import Vectorize

Integers = Callable[[int, int], int]
"""``integers(low, high)``: a random integer from low to high, both included."""

LARGEST_SIZE = 4
T = TypeVar("T")


def choose(integers: Integers, options: Sequence[T]) -> T:
    return options[integers(0, len(options) - 1)]


@dataclass
class Writing:
    """A random kernel while it is declared."""

    integers: Integers
    build: KernelBuilder
    size: Parameter
    arrays: list[ArrayHandle]
    statements: int
    loops: int = 0
    scope: list[Expression] = field(default_factory=list)


def random_kernel(integers: Integers) -> Kernel:
    """Up to three statements in up to three loops deep, triangular, strided, in place."""
    build = KernelBuilder("random")
    size = build.parameter("N", minimum=1, maximum=LARGEST_SIZE)
    arrays = [build.inout("A", i32, (64,)), build.inout("B", i32, (40, 40))]
    build.input("X", i32, (64,))
    writing = Writing(integers, build, size, arrays, integers(1, 3))
    while writing.statements:
        _nest(writing)
    return build.kernel()


def _nest(writing: Writing) -> None:
    name = f"i{writing.loops}"
    writing.loops += 1
    with writing.build.loops(**{name: _bound(writing)}) as index:
        writing.scope.append(index)
        for _ in range(writing.integers(1, 2)):
            if len(writing.scope) < 3 and writing.integers(0, 1):
                if writing.statements:
                    _nest(writing)
            elif writing.statements:
                _statement(writing)
        if writing.scope == [index] and writing.statements == 0:
            pass
        writing.scope.pop()


def _bound(writing: Writing) -> Any:
    size = writing.size
    bounds: list[Any] = [size, size, (1, size + 1), 3, (0, size, 2)]
    if writing.scope:
        around = choose(writing.integers, writing.scope)
        bounds += [(0, around + 1), (around, size)]
    return choose(writing.integers, bounds)


def _statement(writing: Writing) -> None:
    integers = writing.integers
    writing.statements -= 1
    name = f"S{writing.statements}"
    target = choose(integers, writing.arrays)
    subscripts = _subscripts(writing, target)
    if integers(0, 3) == 0:
        other = writing.arrays[target is writing.arrays[0]]
        value = target[subscripts] + other[_subscripts(writing, other)]
        order = choose(integers, ["any", "exact"])
    else:
        value, order = 3 * _read(writing) - _read(writing) + integers(0, 5), "exact"
    with writing.build.statement(name, order=order):
        target[subscripts] = value


def _read(writing: Writing) -> Expression:
    array = choose(writing.integers, writing.arrays)
    return array[_subscripts(writing, array)]


def _subscripts(writing: Writing, array: ArrayHandle) -> tuple[Expression, ...]:
    return tuple(_subscript(writing) for _ in array.array.shape)


def _subscript(writing: Writing) -> Expression:
    """Between 6 and 39 for indices from 0 to 4."""
    integers = writing.integers
    result: Expression = choose(integers, writing.scope) + 18
    match integers(0, 6):
        case 0:
            result = result + choose(integers, writing.scope)
        case 1:
            result = result - choose(integers, writing.scope)
        case 2:
            result = 2 * choose(integers, writing.scope) + 18
        case 3:
            result = choose(integers, writing.scope) // 2 + 18
        case 4:
            result = choose(integers, writing.scope) % 2 + 18
    return result + integers(-1, 1)


def random_schedule(
    integers: Integers, kernel: Kernel, *, buffers: bool, attempts: int = 5
) -> Schedule:
    """A schedule of the steps that could be applied among so many random ones, legal or not."""
    schedule = Schedule(kernel)
    for _ in range(integers(1, attempts)):
        step = _step(integers, schedule, buffers=buffers)
        try:
            schedule = schedule.then(step)
        except ScheduleError:
            continue
    return schedule


def _step(integers: Integers, schedule: Schedule, *, buffers: bool) -> Step:
    program = schedule.program
    number = len(schedule.steps)
    statement = choose(integers, list(program.statements))
    loops = [f"{statement}.{loop.name}" for loop in path(program.tree, statement)]
    loop = choose(integers, loops)
    other = choose(integers, loops)
    second = choose(integers, list(program.statements))
    elsewhere = choose(integers, [f"{second}.{loop.name}" for loop in path(program.tree, second)])
    names = (f"o{number}", f"n{number}")
    kind = integers(0, 14 if buffers else 11)
    match kind:
        case 0:
            return Split(loop, integers(1, 3), names)
        case 1 | 2:
            return Reorder((loop, other))
        case 3:
            return Reverse(loop)
        case 4:
            return Skew(loop, other, choose(integers, [-1, 1, 2]))
        case 5:
            return Shift(loop, choose(integers, [-1, 1, 2]), choose(integers, [None, statement]))
        case 6:
            return Fuse(loop, elsewhere, f"f{number}")
        case 7:
            return Distribute(loop)
        case 8:
            return Collapse(loop, other, f"c{number}")
        case 9:
            return Vectorize(loop, choose(integers, [2, 4]), f"v{number}")
        case 10:
            return ComputeAt(statement, elsewhere)
        case 11:
            return Unroll(loop, choose(integers, [None, 2]))
        case 12:
            return Pack(choose(integers, ["A", "B"]), loop, into=f"packed{number}")
        case _:
            array = choose(integers, list(program.arrays))
            return Promote(array, loop, choose(integers, [None, 2]), into=f"local{number}")

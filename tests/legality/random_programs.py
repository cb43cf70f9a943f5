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
    if integers(0, 2) == 0:
        given, scratch = build.input("X", i32, (40,)), build.temporary("T", i32, (40,))
        with build.loops(z=40) as z, build.statement("start"):
            scratch[z] = given[z]
        arrays.append(scratch)
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
        other = choose(integers, [array for array in writing.arrays if array is not target])
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
    loop, other = choose(integers, loops), choose(integers, loops)
    second = choose(integers, list(program.statements))
    elsewhere = choose(integers, [f"{second}.{loop.name}" for loop in path(program.tree, second)])
    amount = choose(integers, [-1, 1, 2])
    order_steps: list[Step] = [
        Split(loop, integers(1, 3), (f"o{number}", f"n{number}")),
        Reorder((loop, other)),
        Reorder((other, loop)),
        Reverse(loop),
        Skew(loop, other, amount),
        Shift(loop, amount, choose(integers, [None, statement])),
        Fuse(loop, elsewhere, f"f{number}"),
        Distribute(loop),
        Collapse(loop, other, f"c{number}"),
        Vectorize(loop, choose(integers, [2, 4]), f"v{number}"),
        ComputeAt(statement, elsewhere),
        Unroll(loop, choose(integers, [None, 2])),
    ]
    array, lanes = choose(integers, list(program.arrays)), choose(integers, [None, 2])
    buffer_steps: list[Step] = [
        Pack(array, loop, into=f"packed{number}"),
        Promote(array, loop, lanes, into=f"local{number}"),
        Promote(array, loop, None, into=f"local{number}"),
    ]
    return choose(integers, order_steps + buffer_steps if buffers else order_steps)

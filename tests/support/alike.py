"""Random kernels of many statements that differ little: names, constants, the loops around them."""

from __future__ import annotations

from contextlib import ExitStack, suppress
from random import Random

from polysched.dependence.relations import Dependence, DependenceKind, Reference, timestamps
from polysched.errors import ScheduleError
from polysched.ir.core.kernel import Kernel, Order, access_relation
from polysched.ir.core.tree import loops
from polysched.ir.declare.array_handle import ArrayHandle
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Index, Operand
from polysched.ir.expr.functions import maximum
from polysched.schedule.primitives.distribute import Distribute
from polysched.schedule.primitives.fuse import Fuse
from polysched.schedule.primitives.parallel import Parallel
from polysched.schedule.primitives.reorder import Reorder
from polysched.schedule.primitives.reverse import Reverse
from polysched.schedule.primitives.shift import Shift
from polysched.schedule.primitives.split import Split
from polysched.schedule.primitives.vectorize import Vectorize
from polysched.schedule.schedule import Schedule


def random_kernel(random: Random, most: int = 6) -> Kernel:
    """Nests of up to `most` statements each, on a few arrays, by a few subscripts."""
    build = KernelBuilder("alike")
    n = build.parameter("n", minimum=1, maximum=40)
    arrays = [build.inout(name, i32, (4 * n + 40,)) for name in "xy"]
    sums = build.inout("s", i32, (2,))
    where = build.input("where", i32, (n,), values=(0, n))
    for nest in range(random.randint(1, 3)):
        with ExitStack() as opened:
            i = opened.enter_context(build.loops(i=random.choice([n, (1, n + 1), (0, 2 * n, 2)])))
            inner = [i]
            if random.random() < 0.4:
                inner.append(opened.enter_context(build.loops(j=random.choice([4, (0, i + 1)]))))
            if random.random() < 0.2:
                opened.enter_context(build.where(i + nest < n))
            for _ in range(random.randint(1, most)):
                _statement(build, random, [*arrays, sums], where, inner)
    return build.kernel()


def _statement(
    build: KernelBuilder,
    random: Random,
    arrays: list[ArrayHandle],
    where: ArrayHandle,
    inner: list[Index],
) -> None:
    *vectors, sums = arrays
    target, source = random.choice(vectors), random.choice(vectors)

    def subscript() -> Operand:
        index = random.choice(inner)
        forms: list[Operand] = [
            index,
            index + 1,
            index + random.randint(0, 3),
            2 * index,
            2 * index + 1,
            7,
        ]
        forms += [index // 2, inner[0] + inner[-1]]
        return random.choice(forms)

    with ExitStack() as opened:
        if random.random() < 0.15:
            opened.enter_context(build.where(inner[-1] >= 1))
        kind = random.random()
        if kind < 0.15:
            sums[random.randint(0, 1)] += source[subscript()]
        elif kind < 0.25:
            target[where[inner[0] // 2]] = source[subscript()] + 1
        elif kind < 0.6:
            at = subscript()
            target[at] = target[at] + 1
        else:
            target[subscript()] = maximum(source[subscript()], 3)


def random_schedule(random: Random, kernel: Kernel) -> Schedule:
    """A schedule of a few random steps, legal or not; steps that do not apply are skipped."""
    schedule = Schedule(kernel)
    for _ in range(random.randint(0, 3)):
        names = [f"{loop.statements[0]}.{loop.name}" for loop in loops(schedule.program.tree)]
        name = random.choice(names)
        statement = random.choice(list(kernel.statements))
        other = random.choice(names)
        steps = (
            Split(name, 3),
            Vectorize(name, 4),
            Parallel(name),
            Reverse(name),
            Distribute(name),
            Shift(name, 2, statement),
            Fuse(name, other),
            Reorder((name, other)),
        )
        with suppress(ScheduleError):
            schedule = schedule.then(random.choice(steps))
    return schedule


def pairwise_dependences(kernel: Kernel) -> list[Dependence]:
    """The memory-based dependences, computed for each pair of references by their timestamps."""
    times = timestamps(kernel.body, kernel.statements)
    references = [
        (Reference(statement.name, position), statement, access)
        for statement in kernel.statements.values()
        for position, access in enumerate(statement.accesses)
    ]
    found = []
    for source, statement, written in references:
        for sink, other, read in references:
            if written.array != read.array or (source.position and sink.position):
                continue
            together = access_relation(statement, written).apply_range(
                access_relation(other, read).reverse()
            )
            before = times[source.statement].lex_lt_map(times[sink.statement])
            pairs = together.intersect(before)
            if pairs.is_empty():
                continue
            kind = (
                DependenceKind.ANTI
                if source.position
                else DependenceKind.FLOW
                if sink.position
                else DependenceKind.OUTPUT
            )
            reduction = statement.reduction
            free = (
                statement is other
                and reduction is not None
                and reduction.order is Order.ANY
                and {source.position, sink.position} <= {0, reduction.read}
            )
            may = written.is_data_dependent or read.is_data_dependent
            found.append(Dependence(kind, written.array, source, sink, pairs, free, may=may))
    return found

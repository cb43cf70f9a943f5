"""A witness of every cause of a violation, and changes that make each wrong."""

from collections.abc import Callable, Iterator
from dataclasses import replace

from polysched.dependence.relations import DependenceKind, Reference
from polysched.instructions.declaration import Instruction
from polysched.ir.core.kernel import Kernel
from polysched.ir.core.tree import Sequence, executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.ir.isl.smallest import SmallPoint
from polysched.legality.check import find_violation, kernel_violation
from polysched.legality.checks.bounds import bounds_violation
from polysched.legality.checks.storage import storage_violation
from polysched.legality.verdicts.verdict import (
    Cause,
    Occurrence,
    Timestamp,
    Violation,
    Witness,
)
from polysched.legality.verdicts.witness import occurrence
from polysched.schedule.core.program import Program, initial_program
from polysched.schedule.schedule import Schedule
from tests.instructions.test_declaration import nest
from tests.legality.checks.test_once import with_domain, with_value
from tests.legality.kernels import (
    copy_shifted,
    interrupted_sums,
    matmul,
    producer_consumer,
    windows,
)
from tests.schedule.primitives.test_tensorize import dots
from tests.support import packed_kernels
from tests.support.indirect import histogram, permutation
from tests.support.kernels import prefix


def behind() -> Kernel:
    """``S: t[i] = b[i]``, then ``T: b[i + 1] = 1``: T[0] comes before S[1]."""
    build = KernelBuilder("behind")
    n = build.parameter("N", minimum=1)
    b, t = build.inout("b", i32, (n + 1,)), build.output("t", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            t[i] = b[i]
        with build.statement("T"):
            b[i + 1] = 1
    return build.kernel()


def outside() -> Kernel:
    build = KernelBuilder("outside")
    n = build.parameter("N", minimum=1)
    a = build.inout("A", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        a[i] = a[i + 1]
    return build.kernel()


def sum_without_start() -> Kernel:
    build = KernelBuilder("sum")
    n = build.parameter("N", minimum=1)
    a, s = build.input("a", i32, (n,)), build.output("s", i32, (1,))
    with build.loops(i=n) as i, build.statement("S", order="any"):
        s[0] += a[i]
    return build.kernel()


def unfed() -> Program:
    """A buffer that nothing fills: no step makes such a program."""
    program = Schedule(windows()).promote("t", "i").program
    program = with_domain(program, "S", "[N] -> { S[i, k] : false }")
    without = [one for one in program.dependences if one.kind is not DependenceKind.FLOW]
    return replace(program, dependences=tuple(without))


def in_two_threads() -> Program:
    return Schedule(windows()).promote("t", "i").reorder("k", "i").parallel("k").program


def at_one_time() -> Program:
    program = initial_program(copy_shifted(1, 0))
    return program.with_tree(
        with_value(program.tree, "j", "[N, M] -> { S[i, j] -> [floor(j / 2)] }")
    )


def lost() -> Program:
    domain = "[N] -> { P[i] : N >= 2 and 0 < i <= N + 1 }"
    return with_domain(initial_program(producer_consumer()), "P", domain)


def unplaced() -> Program:
    program = initial_program(producer_consumer())
    assert isinstance(program.tree, Sequence)
    return program.with_tree(program.tree.children[1])


def added() -> Program:
    domain = "[N] -> { P[i] : N >= 2 and 0 <= i <= N + 2 }"
    return with_domain(initial_program(producer_consumer()), "P", domain)


def reassociated() -> Program:
    options = ("llvm.x86.avx512.vpdpbusd.512", ("sums", "a", "b"))
    instruction = Instruction(nest(), *options, broadcast=("a", "b"), reassociates=True)
    schedule = Schedule(dots(order="exact")).vectorize("n", 16).unroll("r")
    return schedule.tensorize("nv", instruction).program


def of_storage(program: Program) -> Violation | None:
    return storage_violation(program, executed(program.tree))


def of_bounds(program: Program) -> Violation | None:
    return bounds_violation(program, program.statements.values())


Finder = Callable[[Program], Violation | None]

CASES: dict[str, tuple[Cause, Program, Finder]] = {
    "loop": (
        Cause.LOOP,
        Schedule(copy_shifted(1, -1)).reorder("j", "i").program,
        find_violation,
    ),
    "sequence": (Cause.SEQUENCE, Schedule(behind()).distribute("i").program, find_violation),
    "lanes": (Cause.LANES, Schedule(prefix()).vectorize("i", 8).program, find_violation),
    "lanes that may meet": (
        Cause.LANES,
        Schedule(permutation()).vectorize("i", 8).program,
        find_violation,
    ),
    "lanes of a reduction": (
        Cause.REDUCTION_LANES,
        Schedule(matmul("any")).vectorize("k", 4).program,
        find_violation,
    ),
    "lanes of a reduction that may meet": (
        Cause.REDUCTION_LANES,
        Schedule(histogram()).vectorize("i", 8).program,
        find_violation,
    ),
    "threads": (Cause.THREADS, Schedule(prefix()).parallel("i").program, find_violation),
    "threads of a reduction": (
        Cause.REDUCTION_THREADS,
        Schedule(matmul("any")).parallel("k").program,
        find_violation,
    ),
    "terms of one instruction": (Cause.INSTRUCTION, reassociated(), find_violation),
    "bytes": (
        Cause.SHARED_BYTE,
        Schedule(packed_kernels.pack("i3")).parallel("i").program,
        find_violation,
    ),
    "one time": (Cause.SAME_TIME, at_one_time(), find_violation),
    "two tiles": (
        Cause.TWO_TILES,
        Schedule(windows()).promote("t", "i").distribute("k").distribute("i").program,
        find_violation,
    ),
    "two tiles in lanes": (
        Cause.TWO_TILES,
        Schedule(matmul()).promote("C", "update.j").vectorize("update.j", 4).program,
        find_violation,
    ),
    "overwritten": (
        Cause.OVERWRITTEN,
        Schedule(producer_consumer(2)).fold_storage("t", "d0", 2).program,
        find_violation,
    ),
    "two threads": (Cause.LIFETIME, in_two_threads(), of_storage),
    "unfed": (Cause.LIFETIME, unfed(), of_storage),
    "interrupted": (Cause.INTERRUPTED, interrupted_sums().program, find_violation),
    "outside": (Cause.OUTSIDE, initial_program(outside()), kernel_violation),
    "undefined": (Cause.NEVER_WRITTEN, initial_program(sum_without_start()), kernel_violation),
    "lost": (Cause.LOST, lost(), find_violation),
    "unplaced": (Cause.LOST, unplaced(), find_violation),
    "added": (Cause.ADDED, added(), find_violation),
}


def found(name: str) -> tuple[Program, Violation]:
    cause, program, finder = CASES[name]
    violation = finder(program)
    assert violation is not None
    assert violation.cause is cause
    return program, violation


def changed_ends(one: Occurrence) -> Iterator[tuple[str, Occurrence]]:
    if one.instance:
        yield "far", replace(one, instance=(*one.instance[:-1], one.instance[-1] + 1000))
        yield "short", replace(one, instance=one.instance[1:])
    yield "stranger", replace(one, statement="nobody")
    if one.element:
        yield "element", replace(one, element=(*one.element[:-1], one.element[-1] + 77))
    if one.array is not None:
        yield "action", replace(one, action="reads" if one.action == "writes" else "writes")
    if one.old:
        yield "old", replace(one, old=later(one.old))
    if one.new:
        yield "new", replace(one, new=later(one.new))


def later(time: Timestamp) -> Timestamp:
    (loop, value), *rest = time
    return ((loop, value + 1), *rest)


def changed(violation: Violation) -> Iterator[tuple[str, Violation]]:
    witness = violation.witness

    def with_witness(changed: Witness) -> Violation:
        return replace(violation, witness=changed)

    for what, end in changed_ends(witness.source):
        yield f"source: {what}", with_witness(replace(witness, source=end))
    if witness.sink is not None:
        for what, end in changed_ends(witness.sink):
            yield f"sink: {what}", with_witness(replace(witness, sink=end))
        yield "alone", with_witness(replace(witness, sink=None))
        yield "same", with_witness(replace(witness, sink=witness.source))
    if witness.parameters:
        yield "no sizes", with_witness(replace(witness, parameters=()))
        negative = tuple((name, -1) for name, _ in witness.parameters)
        yield "context", with_witness(replace(witness, parameters=negative))


def with_ends(
    program: Program, violation: Violation, *ends: tuple[Reference, tuple[int, ...]]
) -> Violation:
    """The violation with other instances, whose times and elements are right."""
    sizes = violation.witness.parameters
    source, sink = (
        occurrence(program, reference, SmallPoint(sizes, instance)) for reference, instance in ends
    )
    return replace(violation, witness=Witness(sizes, source, sink))

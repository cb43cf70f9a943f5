"""The judges of these tests, and checkers that are wrong on purpose."""

from polysched.fuzz.exploring import Case, Judges
from polysched.fuzz.generate.sketch import (
    ArraySketch,
    AssignSketch,
    KernelSketch,
    LoopSketch,
    ParameterSketch,
)
from polysched.fuzz.judge.judgment import Mode
from polysched.ir.core.kernel import Order, Role
from polysched.ir.expr.dtypes import i32
from polysched.ir.expr.expressions import Constant, Expression, Index, Load, Parameter
from polysched.legality.verdicts.verdict import Verdict, VerdictKind
from polysched.machine.load import load_machine
from polysched.schedule.schedule import Schedule
from polysched.schedule.table import Step

JUDGES = Judges(load_machine())
N, INDEX = Parameter("N"), Index("i")


def accepts_all(schedule: Schedule) -> Verdict:
    """A checker that checks nothing."""
    return Verdict(VerdictKind.LEGAL)


def element(array: str, subscript: Expression) -> Load:
    return Load(array, (subscript,), i32)


def chain(value: Expression, *, order: Order = Order.EXACT) -> KernelSketch:
    """``A[i + 1] = value`` for i from 0 to N, A being large enough."""
    statement = AssignSketch("S", element("A", INDEX + 1), value, order)
    return KernelSketch(
        (ParameterSketch("N", 0, None),),
        (ArraySketch("A", Role.INOUT, i32, (N + 4,)),),
        (LoopSketch("i", Constant(0), N, 1, (statement,)),),
    )


PREFIX = chain(element("A", INDEX) + 1)
"""Every instance needs the one before it."""

APART = chain(element("A", INDEX + 1) * 3)
"""No instance needs another."""


def case(sketch: KernelSketch, *steps: Step, mode: Mode = Mode.ORDER) -> Case:
    return Case(sketch, steps, mode)

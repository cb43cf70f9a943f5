"""Results that are remembered: by identity and by value, and only inside a search."""

from polysched.autoscheduler.facts.derive import statement_facts
from polysched.autoscheduler.forms.legal import applied
from polysched.ir.isl.shared_results import remembered, shared_results
from polysched.schedule.primitives.split import Split
from polysched.schedule.schedule import Schedule
from tests.support import kernels


def test_the_same_arguments_are_computed_once() -> None:
    calls: list[int] = []

    def count() -> int:
        calls.append(1)
        return len(calls)

    one, other = object(), object()
    with shared_results():
        assert remembered(count, count, (one,), 4) == 1
        assert remembered(count, count, (one,), 4) == 1
        assert remembered(count, count, (other,), 4) == 2
        assert remembered(count, count, (one,), 5) == 3
    assert remembered(count, count, (one,), 4) == 4
    with shared_results():
        assert remembered(count, count, (one,), 4) == 5


def test_steps_are_applied_once() -> None:
    start = Schedule(kernels.scale())
    with shared_results():
        once = applied(start, [Split("i", 4)])
        assert once is not None
        assert applied(start, [Split("i", 4)]) is once
        assert applied(start, [Split("i", 8)]) is not once
        assert applied(start, [Split("x", 4)]) is None
        assert applied(start, [Split("x", 4)]) is None
    assert applied(start, [Split("i", 4)]) is not once


def test_facts_change_with_the_loops_and_the_sizes() -> None:
    start = Schedule(kernels.scale())
    (name,) = start.program.statements
    small, large = {"n": 64}, {"n": 640}
    with shared_results():
        plain = statement_facts(start.program, name, small)
        assert statement_facts(start.program, name, small) is plain
        assert statement_facts(start.program, name, large) != plain
        split = applied(start, [Split("i", 4)])
        assert split is not None
        assert len(statement_facts(split.program, name, small).loops) == 2
        marked = start.vectorize("i", 8)
        assert statement_facts(marked.program, name, small) != plain

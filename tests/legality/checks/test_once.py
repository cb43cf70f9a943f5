"""Programs that no step makes: the checker does not trust the steps."""

from dataclasses import replace

import islpy as isl

from polysched.ir.core.tree import Leaf, Loop, Node, Sequence, executed
from polysched.legality.checks.once import once_violation
from polysched.legality.verdicts.verdict import Cause, Violation, ViolationKind
from polysched.schedule.core.program import Program, initial_program
from tests.legality.kernels import copy_shifted, producer_consumer


def judged(program: Program) -> Violation | None:
    return once_violation(program, executed(program.tree))


def with_domain(program: Program, statement: str, domain: str) -> Program:
    changed = replace(program.statements[statement], domain=isl.Set(domain))
    return replace(program, statements={**program.statements, statement: changed})


def with_value(node: Node, loop: str, function: str) -> Node:
    match node:
        case Loop(name=name, body=body):
            values = {"S": isl.PwAff(function)} if name == loop else node.values
            return replace(node, values=values, body=with_value(body, loop, function))
        case _:
            return node


def test_every_instance_once() -> None:
    assert judged(initial_program(producer_consumer())) is None


def test_a_lost_instance() -> None:
    program = with_domain(
        initial_program(producer_consumer()), "P", "[N] -> { P[i] : N >= 2 and 0 < i <= N + 1 }"
    )
    violation = judged(program)
    assert violation is not None
    assert (violation.kind, violation.cause) == (ViolationKind.ONCE, Cause.LOST)
    assert violation.witness.source.name == "P[0]"
    assert violation.witness.source.new is None


def test_an_added_instance() -> None:
    program = with_domain(
        initial_program(producer_consumer()), "P", "[N] -> { P[i] : N >= 2 and 0 <= i <= N + 2 }"
    )
    violation = judged(program)
    assert violation is not None
    assert violation.cause is Cause.ADDED
    assert violation.witness.source.name == "P[4]"


def test_a_statement_that_is_not_in_the_tree() -> None:
    program = initial_program(producer_consumer())
    assert isinstance(program.tree, Sequence)
    violation = judged(program.with_tree(program.tree.children[1]))
    assert violation is not None
    assert violation.cause is Cause.LOST
    assert violation.witness.source.statement == "P"


def test_a_statement_without_its_loop() -> None:
    program = initial_program(producer_consumer())
    assert isinstance(program.tree, Sequence)
    violation = judged(program.with_tree(Sequence((Leaf("P"), program.tree.children[1]))))
    assert violation is not None
    assert violation.cause is Cause.SAME_TIME


def test_two_instances_at_one_time() -> None:
    program = initial_program(copy_shifted(1, 0))
    tree = with_value(program.tree, "j", "[N, M] -> { S[i, j] -> [floor(j / 2)] }")
    violation = judged(program.with_tree(tree))
    assert violation is not None
    assert (violation.cause, violation.loop) == (Cause.SAME_TIME, "j")
    assert violation.witness.sink is not None
    assert [violation.witness.source.name, violation.witness.sink.name] == ["S[2,2]", "S[2,3]"]


def test_a_loop_without_a_value_for_an_instance() -> None:
    program = initial_program(copy_shifted(1, 0))
    tree = with_value(program.tree, "j", "[N, M] -> { S[i, j] -> [j] : j >= 3 }")
    violation = judged(program.with_tree(tree))
    assert violation is not None
    assert violation.cause is Cause.LOST
    assert violation.witness.source.name == "S[2,2]"

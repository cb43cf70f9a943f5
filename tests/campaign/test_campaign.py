"""A small part of the campaign, and that it notices mistakes."""

import dataclasses
from pathlib import Path

import pytest

import polysched as ps
from tests.campaign import c_functions, c_parts, kernels, printed, python_functions
from tests.campaign.c_statements import grown_function
from tests.campaign.c_text import smaller
from tests.campaign.declaring import declaration
from tests.campaign.description import (
    Array,
    E,
    Loop,
    Param,
    Program,
    Statement,
    add,
    lit,
    var,
)
from tests.campaign.drawing import Dice
from tests.campaign.executing import Oracle
from tests.campaign.kernels_shrunk import shrunk
from tests.campaign.modelled_steps import Step, applied
from tests.campaign.orders import declared
from tests.campaign.python_grown import Argument, Function
from tests.campaign.running import Expected
from tests.campaign.typed import Inexact, function
from tests.campaign.witnesses import (
    WitnessFault,
    accepted_fault,
    check_witness,
    condition_fault,
)


def _sweep() -> Program:
    """``a[i, j] = a[i - 1, j + 1] + 1``: the loops cannot be exchanged from n = 3 on."""
    n, i, j = var("n"), var("i"), var("j")
    value = E("add", "i32", (E("load", "i32", ("a", add(i, -1), add(j, 1))), lit(1, "i32")))
    inner = Loop("j", lit(0), add(n, -1), 1, (Statement("S", "a", (i, j), value),))
    return Program(
        (Param("n", 1),),
        (Array("a", "i32", "inout", (n, n)),),
        (Loop("i", lit(1), n, 1, (inner,)),),
    )


def _exchanged() -> tuple[Program, Oracle, ps.Schedule]:
    program = _sweep()
    names: dict[str, ps.Kernel] = {}
    exec(declaration(program), names)
    return program, Oracle(program), ps.Schedule(names["kernel"]).reorder("j", "i")


@pytest.mark.parametrize("seed", [2, 4, 5])
def test_kernels(seed: int) -> None:
    assert kernels.judge_seed(seed, lambda _: None, schedules=2).findings == []


def test_c_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_parts, "GROUP", 3)
    outcome = c_parts.judge_seed(0, lambda _: None)
    assert outcome.findings == []
    assert outcome.counts["regions"] > 0


def test_c_functions(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(c_functions, "GROUP", 2)
    outcome = c_functions.judge_seed(0, lambda _: None)
    assert outcome.findings == []
    assert outcome.counts["runs"]


def test_python_functions() -> None:
    outcomes = [python_functions.judge_seed(seed, lambda _: None) for seed in range(5)]
    assert [one.findings for one in outcomes] == [[]] * 5
    assert sum(one.counts["programs"] for one in outcomes)


def test_wrong_values_of_a_python_function_are_found_and_shrunk(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The compiled program that does nothing is noticed, in the smallest function that assigns."""
    text = """def f(A: "f32[n]", B: "f32[n]"):
    n = A.shape[0]
    for i in range(n):
        B[i] = A[i] + 2 * A[i]
        A[i] = 3 * A[i]
"""
    arrays = (Argument("A", "f32", ("n",)), Argument("B", "f32", ("n",)))
    function = Function("f", text, arrays, least=0)
    assert python_functions.judged(function, 0, tmp_path).outcome == python_functions.EQUAL
    monkeypatch.setattr(ps, "compile", lambda _: lambda *_: None)
    assert python_functions.judged(function, 0, tmp_path).outcome == python_functions.DIFFERENT
    small = python_functions.shrunk(function, 0, tmp_path).text.splitlines()
    assert len(small) == 4
    assert len(small[-1].strip()) < len("B[i] = A[i] + 2 * A[i]")


def test_c_text_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printed, "GROUP", 2)
    outcome = printed.judge_seed(0, lambda _: None)
    assert outcome.findings == []
    assert outcome.counts["runs"]


def test_findings_become_smaller() -> None:
    program = _sweep()
    steps = (Step("split", ("j", 2)), Step("reorder", ("j", "i")), Step("unroll", ("j",)))

    def shows(_: Program, steps: tuple[Step, ...]) -> bool:
        return any(one.method == "reorder" for one in steps)

    smaller_program, fewer = shrunk(program, steps, shows)
    assert fewer == steps[1:2]
    assert len(declaration(smaller_program)) < len(declaration(program))


def test_model_finds_an_order_that_is_wrong() -> None:
    program, oracle, _ = _exchanged()
    tree = applied(declared(program), Step("reorder", ("j", "i")))
    assert accepted_fault(program, oracle, declared(program)) is None
    assert "breaks a flow dependence on a" in str(accepted_fault(program, oracle, tree))


def test_witness_is_recomputed() -> None:
    program, oracle, schedule = _exchanged()
    tree = applied(declared(program), Step("reorder", ("j", "i")))
    violation = schedule.check().violation
    assert violation is not None
    assert violation.witness.sink is not None
    check_witness(program, oracle, tree, violation)
    sink = violation.witness.sink
    for wrong in (
        dataclasses.replace(sink, element=(0, 0)),
        dataclasses.replace(sink, instance=(1, 9)),
        dataclasses.replace(sink, new=(("j", 9), ("i", 9))),
    ):
        witness = dataclasses.replace(violation.witness, sink=wrong)
        with pytest.raises(WitnessFault):
            check_witness(program, oracle, tree, dataclasses.replace(violation, witness=witness))


def test_condition_is_recomputed() -> None:
    program, oracle, schedule = _exchanged()
    tree = applied(declared(program), Step("reorder", ("j", "i")))
    assert condition_fault(program, oracle, tree, str(schedule.condition())) is None
    assert condition_fault(program, oracle, tree, "n <= 3") is not None


def test_results_are_compared_bit_for_bit() -> None:
    program, oracle, schedule = _exchanged()
    kernel = schedule.first(0).compile()
    expected = Expected(program, oracle, {"n": 5}, Dice(0))
    assert expected.fault(kernel, Dice(0), None) is None
    expected.after["a"][3, 2] += 1
    assert "a[3, 2] is" in str(expected.fault(kernel, Dice(0), None))
    assert "is" in str(expected.fault(lambda **_: None, Dice(0), None))


def test_values_that_may_round_are_not_compared() -> None:
    assert function("add", "i8")(100, 100) == -56
    assert function("mul", "f32")(1.5, 0.25) == 0.375
    with pytest.raises(Inexact):
        function("mul", "f32")(0.125, 0.0625)


def test_c_functions_become_smaller() -> None:
    function = grown_function("f", 1)
    for _ in range(1000):
        less = next(smaller(function), None)
        if less is None:
            break
        function = less
    assert function.body == ()

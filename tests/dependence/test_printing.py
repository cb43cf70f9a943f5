"""The table of dependences, word for word."""

import pytest

from polysched.dependence.printing import format_dependences
from polysched.ir.core.tree import executed
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.dtypes import i32
from polysched.schedule.schedule import Schedule
from tests.legality.kernels import copy_shifted, matmul, producer_consumer, triangular_solve
from tests.legality.test_check import seidel_with_copy


def table(schedule: Schedule, *, relations: bool = False) -> list[str]:
    program = schedule.program
    text = format_dependences(
        program.dependences, program.statements, executed(program.tree), relations=relations
    )
    assert text.endswith("\n")
    return text.splitlines()


def test_a_reduction() -> None:
    assert table(Schedule(matmul())) == [
        "kind    value           source           sink             order  distance      carried by",
        "output                  init: C[i, j]    update: C[i, j]  kept   -             no loop",
        "flow    some            init: C[i, j]    update: C[i, j]  kept   -             no loop",
        "output                  update: C[i, j]  update: C[i, j]  kept   (0, 0, >= 1)  k",
        "flow    some (0, 0, 1)  update: C[i, j]  update: C[i, j]  kept   (0, 0, >= 1)  k",
        "anti                    update: C[i, j]  update: C[i, j]  kept   (0, 0, >= 1)  k",
    ]


def test_a_reduction_free_in_its_order() -> None:
    lines = table(Schedule(matmul("any")))
    assert [line.split()[0] for line in lines if "  any  " in line] == ["output", "flow", "anti"]
    assert [line.split()[0] for line in lines if "  kept  " in line] == ["output", "flow"]


def test_one_line_for_each_loop_that_carries_a_part() -> None:
    lines = [line.split("  ")[-1].strip() for line in table(Schedule(triangular_solve()))[1:]]
    assert lines == ["in the body", "in the body", "i", "j", "j", "i", "j"]


def test_what_is_overwritten_before_it_is_read() -> None:
    build = KernelBuilder("twice")
    n = build.parameter("N", minimum=1)
    a, b = build.inout("A", i32, (n,)), build.output("B", i32, (n,))
    with build.loops(i=n) as i:
        with build.statement("S"):
            a[i] = 1
        with build.statement("T"):
            a[i] = 2
        with build.statement("U"):
            b[i] = a[i]
    values = {line.split()[2]: line.split()[1] for line in table(Schedule(build.kernel()))[2:]}
    assert values == {"S:": "no", "T:": "yes"}


def test_along_the_loops_of_a_schedule() -> None:
    assert table(Schedule(copy_shifted(0, 1)).vectorize("j", 4)) == [
        "kind  value  source      sink                order  distance    carried by",
        "flow  yes    S: A[i, j]  S: A[i - 0, j - 1]  kept   (0, 1, -3)  j",
        "flow  yes    S: A[i, j]  S: A[i - 0, j - 1]  kept   (0, 0, 1)   jv, at once",
    ]


def test_what_a_schedule_breaks() -> None:
    assert table(Schedule(producer_consumer(1)).fuse("P.i", "C.i")) == [
        "kind  value  source   sink         order  distance  carried by",
        "flow  yes    P: t[i]  C: t[i]      kept   (0)       in the body",
        "flow  yes    P: t[i]  C: t[i + 1]  kept   (-1)      i, backwards",
    ]
    statements = table(Schedule(seidel_with_copy()).distribute("i"))
    assert any(line.endswith("no loop, backwards") for line in statements)


def test_exact_relations_on_request() -> None:
    header, only = table(Schedule(copy_shifted(1, -1)), relations=True)
    assert header.endswith("carried by  relation")
    assert "S[i, j] -> S[i' = 1 + i, j' = -1 + j]" in only


def test_subscripts_that_depend_on_data() -> None:
    build = KernelBuilder("scatter")
    n = build.parameter("N", minimum=1)
    index = build.input("index", i32, (n,), values=(0, n))
    a = build.inout("A", i32, (n,))
    with build.loops(i=n) as i, build.statement("S"):
        a[index[i]] = 1
    assert table(Schedule(build.kernel()))[1].startswith("may output")


def test_shared_memory() -> None:
    schedule = Schedule(producer_consumer()).fuse("P.i", "C.i").fold_storage("t", "d0", 1)
    assert any(line.startswith("shared ") for line in table(schedule))


def test_no_dependences() -> None:
    build = KernelBuilder("fill")
    a = build.output("A", i32, (4,))
    with build.loops(i=4) as i:
        a[i] = 1
    assert table(Schedule(build.kernel())) == ["no dependences"]


def test_what_takes_isl_too_long_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polysched.dependence.printing.QUOTA", 1)
    lines = table(Schedule(matmul()), relations=True)
    assert len(lines) == 6
    assert all(line.endswith("unknown: isl needs too long") for line in lines[1:])

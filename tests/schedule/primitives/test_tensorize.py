"""tensorize: the loops that it takes, its messages, and its legality."""

from collections.abc import Callable

import numpy as np
import pytest

import polysched as ps
from polysched.errors import LoweringError, ScheduleError, StepError
from polysched.instructions.byte_differences import byte_difference_forms
from polysched.instructions.x86 import x86_instructions
from polysched.legality.verdicts.verdict import Cause
from polysched.machine.load import load_machine
from polysched.schedule.notation.text import apply_text
from polysched.schedule.primitives.tensorize import Tensorize
from tests.instructions.test_declaration import nest, tile
from tests.support.differential import assert_agrees
from tests.support.showing import before_and_after

FULL = "llvm.x86.avx512.vpdpbusd.512"


def dots(
    x: ps.DType = ps.u8, y: ps.DType = ps.i8, terms: int = 4, lanes: int = 16, order: str = "any"
) -> ps.Kernel:
    build = ps.KernelBuilder("dots")
    a = build.input("x", x, (terms,))
    b = build.input("y", y, (3, 2 * lanes, terms))
    s = build.inout("s", ps.i32, (3, 2 * lanes))
    with build.loops(m=3, n=2 * lanes, r=terms) as (m, n, r), build.statement("s", order=order):
        s[m, n] += ps.cast(a[r], ps.i32) * ps.cast(b[m, n, r], ps.i32)
    return build.kernel()


def ready(kernel: ps.Kernel | None = None, lanes: int = 16) -> ps.Schedule:
    """Lanes and terms are vector and unrolled loops."""
    return ps.Schedule(kernel or dots()).vectorize("n", lanes).unroll("r")


def own(name: str = "mine", **options: bool) -> ps.Instruction:
    """``vpdpbusd`` under another name."""
    features, both = ("avx512vnni",), ("a", "b")
    return ps.Instruction(nest(name=name), FULL, ("sums", "a", "b"), features, both, **options)


def test_loops(check_golden: Callable[[str, str], None]) -> None:
    check_golden("schedule/tensorize.txt", before_and_after(ready().tensorize("nv", "vpdpbusd")))


def test_the_loops_are_printed_unchanged() -> None:
    before, after = ready(), ready().tensorize("nv", "vpdpbusd")
    assert after.show("loops") == before.show("loops")
    assert after.show("c") == before.show("c")
    assert after.show("tensorize", "zen4").rstrip().endswith("  # vpdpbusd")


def test_loops_in_the_other_order() -> None:
    schedule = ready().reorder("r", "nv").tensorize("r", "vpdpbusd")
    assert "vpdpbusd" in schedule.show("llvm", "zen4")
    assert_agrees(schedule, {}, machine="zen4")


Steps = Callable[[ps.Schedule], ps.Schedule]

REFUSED: list[tuple[ps.Kernel, Steps, str]] = [
    (
        dots(),
        lambda s: s.tensorize("nv", "vpdbusd"),
        "no instruction 'vpdbusd'; did you mean 'vpdpbusd', 'tdpbusd' or 'vpdpwssd'?; declare "
        "others as ps.Instruction",
    ),
    (
        dots(),
        lambda s: s.tensorize("n", "vpdpbusd"),
        "the nest of loop 'n' is 'n', 'nv', 'r'; vpdpbusd computes the nest lane in "
        "0..16, term in 0..4: name loop 'nv'",
    ),
    (
        dots(),
        lambda s: s.tensorize("r", "vpdpbusd"),
        "the nest of loop 'r' is 'r'; vpdpbusd computes the nest lane in 0..16, term in "
        "0..4: reorder the loops so that only these are inside",
    ),
    (
        dots(ps.u8, ps.u8),
        lambda s: s.tensorize("nv", "vpdpbusd"),
        "statement 's' does not match: array 'y' has elements of type u8; operand 'b' of vpdpbusd "
        "takes i8",
    ),
    (
        dots(terms=3),
        lambda s: s.tensorize("nv", "vpdpbusd"),
        "loop 'r' runs 3 iterations; vpdpbusd takes 4: split it by that number",
    ),
    (
        dots(),
        lambda s: s.tensorize("nv", "vpdpbusd").tensorize("nv", "vpdpbusd"),
        "loop 'nv' is computed by 'vpdpbusd' already; take one of the two steps away",
    ),
    (
        dots(),
        lambda s: s.transpose("nv", "r").tensorize("nv", "vpdpbusd"),
        "vector loop 'nv' is transposed in registers, and vpdpbusd reads its operands as they are "
        "in memory; take one of the two steps away",
    ),
    (
        dots(),
        lambda s: s.tensorize("nv", "vpdpbusd").reorder("r", "nv"),
        "after this step, 'vpdpbusd' does not compute the nest of loop 'nv' any more: the nest of "
        "loop 'nv' is 'nv'; vpdpbusd computes the nest lane in 0..16, term in 0..4: "
        "reorder the loops so that only these are inside",
    ),
    (
        dots(),
        lambda s: s.tensorize("nv", own("vpdpbusd")),
        "another instruction is called 'vpdpbusd'; give the kernel of this one another name",
    ),
    (dots(), lambda s: s.tensorize("nv", 4), "instruction=4; expected a name such as 'i' or a"),
]


@pytest.mark.parametrize(("kernel", "steps", "message"), REFUSED)
def test_refused(kernel: ps.Kernel, steps: Steps, message: str) -> None:
    with pytest.raises(StepError) as caught:
        steps(ready(kernel))
    assert message in str(caught.value)


def test_kinds_of_loops() -> None:
    schedule = ps.Schedule(dots())
    with pytest.raises(StepError, match=r"loop 'n' has kind 'for'; vpdpbusd takes.*; vectorize it"):
        schedule.tensorize("n", "vpdpbusd")
    with pytest.raises(StepError, match=r"loop 'r' has kind 'for'; vpdpbusd takes.*; unroll it"):
        schedule.vectorize("n", 16).tensorize("nv", "vpdpbusd")
    with pytest.raises(StepError, match="no loop of the nest of 'ni' is a vector loop; vpdpbusd"):
        schedule.split("n", 16).unroll("ni", "r").tensorize("ni", "vpdpbusd")


def test_lanes() -> None:
    with pytest.raises(StepError, match="vector loop 'nv' has 32 lanes; vpdpbusd takes 16 or 8 or"):
        ready(lanes=32).tensorize("nv", "vpdpbusd")


def test_several_statements() -> None:
    build = ps.KernelBuilder("two")
    x, y = build.input("x", ps.i16, (16, 2)), build.inout("y", ps.i32, (16,))
    with build.loops(n=16, r=2) as (n, r):
        with build.statement("first"):
            y[n] += ps.cast(x[n, r], ps.i32)
        with build.statement("second"):
            y[n] += 1
    with pytest.raises(StepError, match="loop 'r' holds the statements first, second; vpdpwssd"):
        ready(build.kernel()).tensorize("nv", "vpdpwssd")


def test_a_machine_without_the_feature() -> None:
    with pytest.raises(LoweringError) as caught:
        ready().tensorize("nv", "vpdpbusd").show("llvm", "skylake-avx512")
    assert str(caught.value) == (
        "tensorize('nv', 'vpdpbusd'): machine 'skylake-avx512' lacks the instruction, which needs "
        "the feature 'avx512vnni'; compile for a machine that has it, or remove the tensorize step"
    )


def test_an_instruction_of_the_user() -> None:
    mine = own()
    schedule = ready().tensorize("nv", mine)
    assert schedule.steps[-1] == Tensorize("nv", mine)
    assert schedule.trace().splitlines()[-1] == "tensorize(loop='nv', instruction='mine')"
    assert FULL in schedule.show("llvm", "zen4")
    with pytest.raises(ScheduleError, match="no instruction 'mine'"):
        apply_text(ps.Schedule(dots()), schedule.trace(), "f")
    again = apply_text(ps.Schedule(dots()), schedule.trace(), "f", (mine,))
    assert again.steps == schedule.steps
    if not load_machine("zen4").missing_on(load_machine(None)):
        assert_agrees(schedule, {}, machine="zen4")


@pytest.mark.parametrize(
    ("intrinsic", "reason"),
    [
        (FULL, "LLVM ERROR: "),
        ("llvm.x86.avx512.nonsense.512", "LLVM knows no such intrinsic"),
    ],
)
def test_a_wrong_declaration_does_not_abort_the_process(intrinsic: str, reason: str) -> None:
    wrong = ps.Instruction(nest(), intrinsic, ("sums", "a", "b"), (), ("a", "b"))
    with pytest.raises(LoweringError) as caught:
        ready().tensorize("nv", wrong).show("llvm", "haswell-avx2")
    assert str(caught.value).startswith(
        f"tensorize('nv', 'mine'): LLVM cannot compile '{intrinsic}' for machine 'haswell-avx2': "
        f"{reason}"
    )


def test_an_instruction_without_terms() -> None:
    """The rounded mean of bytes."""
    build = ps.KernelBuilder("vpavgb")
    a, b = build.input("a", ps.u8, (64,)), build.input("b", ps.u8, (64,))
    out = build.output("out", ps.u8, (64,))
    with build.loops(lane=64) as lane:
        total = ps.cast(a[lane], ps.i16) + ps.cast(b[lane], ps.i16) + 1
        out[lane] = ps.cast(total >> 1, ps.u8)
    mean = ps.Instruction(build.kernel(), "llvm.x86.avx512.pavg.b.512", ("a", "b"), ("avx512bw",))
    build = ps.KernelBuilder("mean")
    x, y = build.input("x", ps.u8, (100,)), build.input("y", ps.u8, (100,))
    z = build.output("z", ps.u8, (100,))
    with build.loops(i=100) as i:
        total = ps.cast(x[i], ps.i16) + ps.cast(y[i], ps.i16) + 1
        z[i] = ps.cast(total >> 1, ps.u8)
    schedule = ps.Schedule(build.kernel()).vectorize("i", 64).tensorize("iv", mean)
    assert schedule.show("llvm", "zen4").count('call <64 x i8> @"llvm.x86.avx512.pavg.b.512"') == 2


def test_an_own_tile() -> None:
    build = ps.KernelBuilder("product")
    x, y = build.input("x", ps.i8, (16, 128)), build.input("y", ps.i8, (32, 16, 4))
    s = build.inout("s", ps.i32, (16, 16))
    with build.loops(k=2, m=16, n=16, g=16, r=4) as (k, m, n, g, r):
        wide = ps.cast(x[m, 64 * k + 4 * g + r], ps.i32), ps.cast(y[16 * k + g, n, r], ps.i32)
        s[m, n] += wide[0] * wide[1]
    schedule = ps.Schedule(build.kernel()).vectorize("n", 16).reorder("k", "n", "nv", "m")
    schedule = schedule.unroll("m", "g", "r").reorder("k", "n", "m", "nv")
    schedule = schedule.tensorize("m", tile())
    assert schedule.check().is_legal
    assert schedule.show("asm", "sapphirerapids").count("\ttdpbssd") == 1
    with pytest.raises(LoweringError, match="lacks the instruction, which needs .*'amx-int8'"):
        schedule.show("asm", "znver4")


def test_an_instruction_that_reassociates_needs_a_free_order() -> None:
    kernel = dots(order="exact")
    verdict = ready(kernel).tensorize("nv", own(reassociates=True)).check()
    assert verdict.violation is not None
    assert verdict.violation.cause is Cause.INSTRUCTION
    assert "tensorize(loop='nv', instruction='mine') breaks a flow dependence on s" in str(verdict)
    assert (
        "One instruction computes iterations 0 and 1 of loop r and adds their terms in an order of "
        'its own; declare the reduction with order="any" to allow that.'
    ) in str(verdict)


def test_an_instruction_that_reassociates_a_free_sum() -> None:
    build = ps.KernelBuilder("dots")
    a, b = build.input("x", ps.u8, (4,)), build.input("y", ps.i8, (16, 4))
    s = build.inout("s", ps.i32, (16,))
    with build.loops(n=16, r=4) as (n, r), build.statement("add", order="any"):
        s[n] += ps.cast(a[r], ps.i32) * ps.cast(b[n, r], ps.i32)
    assert ready(build.kernel()).tensorize("nv", own(reassociates=True)).check().is_legal


def test_only_one_of_two_nests_reassociates() -> None:
    """Two nests that are alike but for the instruction are judged apart."""
    build = ps.KernelBuilder("dots")
    a, b = build.input("x", ps.u8, (4,)), build.input("y", ps.i8, (16, 4))
    for name in ("first", "second"):
        s = build.inout(name, ps.i32, (16,))
        with build.loops(n=16, r=4) as (n, r), build.statement(f"to_{name}", order="exact"):
            s[n] += ps.cast(a[r], ps.i32) * ps.cast(b[n, r], ps.i32)
    schedule = ps.Schedule(build.kernel())
    for name in ("first", "second"):
        schedule = schedule.vectorize(f"to_{name}.n", 16).unroll(f"to_{name}.r")
    schedule = schedule.tensorize("to_first.nv", "vpdpbusd")
    assert schedule.check().is_legal
    verdict = schedule.tensorize("to_second.nv", own(reassociates=True)).check()
    assert verdict.violation is not None
    assert verdict.violation.array == "second"


def test_values_of_every_known_form_are_those_of_its_kernel() -> None:
    """Each declaration, tensorized by its own instruction, against the loops."""
    host = load_machine(None)
    known = {**x86_instructions(), "vpsadbw": byte_difference_forms()}
    for name, forms in known.items():
        for form in {form.lanes: form for form in forms}.values():
            schedule = ps.Schedule(form.kernel).vectorize("lane", form.lanes).unroll("term")
            schedule = schedule.tensorize("lanev", name)
            if not {*form.features} <= host.enabled_features:
                continue
            if form.kernel.arrays["sums"].dtype.is_float:
                assert_agrees(schedule, {})  # of small integers, which are exact in any order
                continue
            generator = np.random.default_rng(form.lanes)
            given = {}
            for operand in ("a", "b"):
                array = form.kernel.arrays[operand]
                ends = [array.dtype.lowest, array.dtype.highest, -1 if array.dtype.is_signed else 1]
                shape = (form.lanes, form.terms)
                given[operand] = generator.choice(ends, shape).astype(array.dtype.numpy())
            total = form.kernel.arrays["sums"].dtype
            sums = np.full(form.lanes, total.highest, total.numpy())
            assert_agrees(schedule, {}, given={**given, "sums": sums})

import pytest

from polysched.errors import LoweringError
from polysched.machine.presets import PRESETS
from polysched.runtime.jit import emit_assembly, optimized_ir, unscheduled_ir
from polysched.runtime.pipeline import CompileOptions

# y[i] += a[0] * x[i] with a load of a[0] and the index arithmetic in the loop, through memory.
AXPY = """
define i32 @axpy(ptr noalias %a, ptr noalias %x, ptr noalias %y, i64 %n) "no-builtins" {
entry:
  %slot = alloca i64
  store i64 0, ptr %slot
  br label %head
head:
  %i = load i64, ptr %slot
  %more = icmp slt i64 %i, %n
  br i1 %more, label %body, label %done
body:
  %a0 = load float, ptr %a, align 4
  %x_at = getelementptr inbounds float, ptr %x, i64 %i
  %xi = load float, ptr %x_at, align 4
  %product = fmul contract float %a0, %xi
  %y_at = getelementptr inbounds float, ptr %y, i64 %i
  %yi = load float, ptr %y_at, align 4
  %sum = fadd contract float %product, %yi
  store float %sum, ptr %y_at, align 4
  %next = add nsw i64 %i, 1
  store i64 %next, ptr %slot
  br label %head
done:
  ret i32 0
}
"""

COPY = """
define i32 @copy(ptr noalias %x, ptr noalias %y, i64 %n) ATTRIBUTES {
entry:
  %some = icmp slt i64 0, %n
  br i1 %some, label %body, label %done
body:
  %i = phi i64 [0, %entry], [%next, %body]
  %x_at = getelementptr inbounds float, ptr %x, i64 %i
  %xi = load <16 x float>, ptr %x_at, align 4
  %y_at = getelementptr inbounds float, ptr %y, i64 %i
  store <16 x float> %xi, ptr %y_at, align 4
  %next = add nsw i64 %i, 16
  %more = icmp slt i64 %next, %n
  br i1 %more, label %body, label %done
done:
  ret i32 0
}
"""

ZEN5 = PRESETS["znver5"]


def test_variables_become_values_and_loads_leave_the_loop() -> None:
    text = optimized_ir(AXPY, ZEN5)
    assert "alloca" not in text
    loop = text[text.index("body:") : text.index("done:")]
    assert loop.count("load float") == 2  # x[i] and y[i], not a[0]


@pytest.mark.parametrize("level", [1, 2, 3])
@pytest.mark.parametrize("bound", ["%n", "8", "1024"])
def test_nothing_is_vectorised_or_unrolled(level: int, bound: str) -> None:
    source = AXPY.replace("slt i64 %i, %n", f"slt i64 %i, {bound}")
    text = optimized_ir(source, ZEN5, CompileOptions(simplification=level))
    assert "x float>" not in text
    assert text.count("store float") == 1


def test_without_simplification_the_text_stays() -> None:
    assert "alloca" in optimized_ir(AXPY, ZEN5, CompileOptions(simplification=0))


def test_multiply_and_add_contract() -> None:
    assert "vfmadd" in emit_assembly(AXPY, ZEN5)
    assert "vfmadd" not in emit_assembly(AXPY.replace("contract", ""), ZEN5)


def test_the_attribute_keeps_copies_inline() -> None:
    assert "memcpy" in emit_assembly(COPY.replace("ATTRIBUTES", ""), ZEN5)
    assembly = emit_assembly(COPY.replace("ATTRIBUTES", '"no-builtins"'), ZEN5)
    assert "memcpy" not in assembly
    assert "zmm" in assembly


@pytest.mark.parametrize("name", ["simplification", "code_generation"])
@pytest.mark.parametrize("level", [-1, 4])
def test_levels_out_of_range(name: str, level: int) -> None:
    with pytest.raises(LoweringError, match=f"{name} is {level}; expected a level from 0 to 3"):
        CompileOptions(**{name: level})


def test_overwritten_stores_are_removed() -> None:
    text = AXPY.replace(
        "  %next = add",
        "  %twice = fadd float %sum, %sum\n  store float %twice, ptr %y_at, align 4\n  %next = add",
    )
    after = optimized_ir(text, PRESETS["skylake-avx512"])
    assert after.count("store float") == 1


def test_sums_of_bits_become_one_instruction() -> None:
    text = """
define i32 @bits(i32 %x) "no-builtins" {
  %half = lshr i32 %x, 1
  %odd = and i32 %half, 1431655765
  %pairs = sub i32 %x, %odd
  %low = and i32 %pairs, 858993459
  %shifted = lshr i32 %pairs, 2
  %high = and i32 %shifted, 858993459
  %nibbles = add i32 %low, %high
  %fourth = lshr i32 %nibbles, 4
  %both = add i32 %fourth, %nibbles
  %bytes = and i32 %both, 252645135
  %product = mul i32 %bytes, 16843009
  %count = lshr i32 %product, 24
  ret i32 %count
}
"""
    assert "@llvm.ctpop.i32" in optimized_ir(text, PRESETS["skylake-avx512"])


def test_programs_as_written_are_optimized_one_after_another_in_a_process() -> None:
    vectors = [unscheduled_ir(AXPY, ZEN5).count("fmul contract <") for _ in range(2)]
    assert vectors[0] == vectors[1] > 0

import re
import subprocess
import sys
from dataclasses import replace

import pytest
from llvmlite import binding

from polysched.errors import MachineError
from polysched.machine.presets import PRESETS
from polysched.machine.target import require_x86_names, target_machine
from polysched.machine.x86_names import FEATURES, INDISPENSABLE, PROCESSORS

ZEN = PRESETS["znver4"]
FMA = """
define <16 x float> @f(<16 x float> %x, <16 x float> %y) {
  %m = fmul contract <16 x float> %x, %y
  %s = fadd contract <16 x float> %m, %y
  ret <16 x float> %s
}
"""

SCALARS = """
define double @f(float %x, i64 %i) {
  %y = fpext float %x to double
  %j = sitofp i64 %i to double
  %s = fadd double %y, %j
  ret double %s
}
"""


def assembly(features: str) -> str:
    machine = replace(ZEN, features=features)
    return str(target_machine(machine).emit_assembly(binding.parse_assembly(FMA)))


def test_features_overrule_what_the_name_promises() -> None:
    assert re.search(r"vfmadd\w+\s.*%zmm", assembly(ZEN.features))
    masked = assembly(f"{ZEN.features},-avx512f")
    assert "%zmm" not in masked
    assert re.search(r"vfmadd\w+\s.*%ymm", masked)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cpu": "znver44"}, "LLVM knows no x86 processor 'znver44'; did you mean 'znver4'"),
        ({"features": "+avx512g"}, "LLVM knows no x86 feature 'avx512g'; did you mean 'avx512"),
        (
            {"features": "+avx2,-64bit,-sse"},
            "features switches off 64bit, sse, which every 64-bit x86 processor has, and LLVM "
            "needs; leave out -64bit,-sse",
        ),
        ({"triple": "z80-cpm"}, "LLVM does not know the triple 'z80-cpm'; expected one such as"),
    ],
)
def test_what_llvm_does_not_know_or_cannot_do_without(change: dict[str, str], message: str) -> None:
    with pytest.raises(MachineError, match=message):
        target_machine(replace(ZEN, **change))  # type: ignore[arg-type]


def test_optimization_level() -> None:
    with pytest.raises(MachineError, match="optimization is 4; expected a level from 0 to 3"):
        target_machine(ZEN, optimization=4)


def test_the_known_names_are_llvms() -> None:
    script = (
        "from llvmlite import binding\n"
        "binding.initialize_all_targets()\n"
        "binding.initialize_all_asmprinters()\n"
        "target = binding.Target.from_triple('x86_64-unknown-linux-gnu')\n"
        "target.create_target_machine(cpu='help')\n"
    )
    listing = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    ).stderr
    names = set(re.findall(r"^  (\S+)\s+- ", listing, re.MULTILINE))
    assert len(names) > 200
    assert names >= PROCESSORS
    assert names >= FEATURES


def test_all_features_that_llvm_can_detect_are_known() -> None:
    if not binding.get_process_triple().startswith("x86_64"):
        pytest.skip("the features of another processor")
    assert set(binding.get_host_cpu_features()) <= FEATURES


def test_position_independent_code_has_no_absolute_addresses() -> None:
    text = """
@table = internal constant [2 x i32] [i32 5, i32 7]
define i32 @f(i64 %i) {
  %at = getelementptr i32, ptr @table, i64 %i
  %value = load i32, ptr %at
  ret i32 %value
}
"""
    module = binding.parse_assembly(text)
    linked = target_machine(ZEN, position_independent=True).emit_assembly(module)
    assert "table(%rip)" in linked
    assert "movabs" not in linked
    assert "movabs" in target_machine(ZEN).emit_assembly(module)


def test_names_of_x86() -> None:
    require_x86_names(ZEN)
    with pytest.raises(MachineError, match="LLVM knows no x86 processor 'zen9'"):
        require_x86_names(replace(ZEN, cpu="zen9"))


def test_the_last_mention_of_a_feature_counts() -> None:
    target_machine(replace(ZEN, features="-sse2,+sse2"))
    with pytest.raises(MachineError, match="features switches off sse2, which"):
        target_machine(replace(ZEN, features="+sse2,-sse2"))


def test_llvm_does_without_all_other_features() -> None:
    script = f"""
from llvmlite import binding
binding.initialize_all_targets()
binding.initialize_all_asmprinters()
target = binding.Target.from_triple("x86_64-unknown-linux-gnu")
for name in {sorted(FEATURES - INDISPENSABLE)}:
    machine = target.create_target_machine(cpu="znver4", features="-" + name)
    machine.emit_object(binding.parse_assembly('''{SCALARS}'''))
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")

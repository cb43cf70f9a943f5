import ctypes
import dataclasses
import gc
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from polysched.errors import CacheWarning, LoweringError, MachineError
from polysched.machine.description import Machine
from polysched.machine.presets import PRESETS
from polysched.runtime import jit
from polysched.runtime.cache import ObjectCache
from polysched.runtime.jit import (
    Entry,
    compile_module,
    compile_once,
    emit_assembly,
    emit_object,
    load_object,
    object_key,
    require_runnable,
)
from polysched.runtime.pipeline import CompileOptions

OPTIONS = CompileOptions()
NOWHERE = ObjectCache(None)
ADD = """
define i32 @add(i64 %a, i64 %b) {
  %sum = add i64 %a, %b
  %status = trunc i64 %sum to i32
  ret i32 %status
}
"""
ADD_ENTRY = Entry("add", 0, 2)


def test_a_module_runs(saxpy, host: Machine) -> None:
    native = compile_module(saxpy.llvm, Entry("saxpy", 3, 1), host, OPTIONS, NOWHERE)
    x, y, out = np.arange(5, dtype="f4"), np.ones(5, "f4"), np.zeros(5, "f4")
    assert native.call(x.ctypes.data, y.ctypes.data, out.ctypes.data, 4) == 0
    assert out.tolist() == [1, 3, 5, 7, 0]


def test_integers_have_64_bits(host: Machine) -> None:
    text = (
        "define i32 @high(i64 %a) { %h = ashr i64 %a, 32\n %t = trunc i64 %h to i32\n ret i32 %t }"
    )
    native = compile_module(text, Entry("high", 0, 1), host, OPTIONS, NOWHERE)
    assert native.call(5 << 32) == 5
    assert native.call(-(1 << 63)) == -(1 << 31)


def test_the_code_lives_as_long_as_the_function(host: Machine) -> None:
    code = emit_object(ADD, "add", host)
    calls = [load_object(code, ADD_ENTRY, host).call for _ in range(20)]
    gc.collect()
    assert [call(number, 3) for number, call in enumerate(calls)] == list(range(3, 23))


def test_functions_of_the_process_are_found(host: Machine) -> None:
    text = """
    declare ptr @malloc(i64)
    declare void @free(ptr)
    declare float @llvm.exp.f32(float)
    define i32 @libm(ptr %x) {
      %memory = call ptr @malloc(i64 64)
      call void @free(ptr %memory)
      %value = load float, ptr %x
      %power = call float @llvm.exp.f32(float %value)
      store float %power, ptr %x
      ret i32 0
    }"""
    native = compile_module(text, Entry("libm", 1, 0), host, OPTIONS, NOWHERE)
    x = np.ones(1, np.float32)
    native.call(x.ctypes.data)
    assert x[0] == pytest.approx(np.e, rel=1e-6)


def test_calling_an_unknown_function_is_an_error_not_an_abort(host: Machine) -> None:
    text = (
        "declare i32 @polysched_nowhere()\ndefine i32 @f() { %r = call i32 @polysched_nowhere()\n"
    )
    with pytest.raises(
        LoweringError, match=r"object code of 'f' cannot be linked: .*process lacks"
    ):
        compile_module(text + " ret i32 %r }", Entry("f", 0, 0), host, OPTIONS, NOWHERE)


def test_object_code_that_is_none(host: Machine) -> None:
    with pytest.raises(LoweringError, match="object code of 'add' cannot be linked"):
        load_object(b"nonsense" * 100, ADD_ENTRY, host)


@pytest.mark.parametrize(
    "text",
    [
        "define i32 @add(",
        "define i32 @add(i64 %a) { ret i64 %a }",
        "define i32 @add() {\nentry:\n br label %b\nb:\n %y = add i32 %x, 1\n %x = add i32 %y, 1\n"
        " ret i32 %x }",
    ],
)
def test_text_that_llvm_refuses(text: str, host: Machine) -> None:
    with pytest.raises(LoweringError, match="LLVM refuses the generated code: "):
        compile_module(text, ADD_ENTRY, host, OPTIONS, NOWHERE)


def test_entry_point_that_is_missing(host: Machine) -> None:
    with pytest.raises(LoweringError, match=r"does not define 'sub'; it defines \['add'\]"):
        compile_module(ADD, Entry("sub", 0, 2), host, OPTIONS, NOWHERE)


# -- machines --


def test_code_for_more_than_the_host_has_is_not_run(host: Machine) -> None:
    assert not host.has("avx10.2")
    richer = dataclasses.replace(host, name="rich", features=f"{host.features},+avx10.2")
    with pytest.raises(
        MachineError, match=r"machine 'rich' cannot run on this host, which lacks avx10\.2; compile"
    ):
        compile_module(ADD, ADD_ENTRY, richer, OPTIONS, NOWHERE)


def test_avx512_code_is_refused_without_avx512() -> None:
    with pytest.raises(
        MachineError, match=r"'znver5' cannot run on this host, which lacks .*avx512f"
    ):
        require_runnable(PRESETS["znver5"], PRESETS["haswell-avx2"])
    require_runnable(PRESETS["haswell-avx2"], PRESETS["znver5"])


def test_another_architecture(host: Machine) -> None:
    other = dataclasses.replace(
        host, name="arm", cpu="generic", features="", triple="aarch64-unknown-linux-gnu"
    )
    with pytest.raises(MachineError, match=r"machine 'arm' \(aarch64\) cannot run on this host"):
        compile_module(ADD, ADD_ENTRY, other, OPTIONS, NOWHERE)


def test_assembly_is_the_machines_not_the_hosts() -> None:
    text = """
    define i32 @twice(ptr %x) {
      %v = load <8 x double>, ptr %x
      %w = fadd <8 x double> %v, %v
      store <8 x double> %w, ptr %x
      ret i32 0
    }"""
    assert "zmm" in emit_assembly(text, PRESETS["znver5"])
    narrow = emit_assembly(text, PRESETS["haswell-avx2"])
    assert "ymm" in narrow
    assert "zmm" not in narrow


# -- the caches --


@pytest.fixture
def compilations(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The symbols compiled since the test began."""
    compiled: list[str] = []

    def counted(ir_text: str, symbol: str, machine: Machine, options: CompileOptions) -> bytes:
        compiled.append(symbol)
        return emit_object(ir_text, symbol, machine, options)

    monkeypatch.setattr(jit, "emit_object", counted)
    return compiled


def test_the_disk_saves_the_second_compilation(
    tmp_path: Path, host: Machine, compilations: list[str]
) -> None:
    cache = ObjectCache(tmp_path)
    for _ in range(2):
        assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert compilations == ["add"]


@pytest.mark.parametrize("damage", [b"", b"nonsense", None])
def test_damaged_entry_is_compiled_again_and_rewritten(
    tmp_path: Path, host: Machine, compilations: list[str], damage: bytes | None
) -> None:
    cache = ObjectCache(tmp_path)
    compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache)
    (path,) = tmp_path.iterdir()
    intact = path.read_bytes()
    path.write_bytes(intact[:-10] if damage is None else damage)
    assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert path.read_bytes() == intact
    assert compilations == ["add", "add"]


def test_the_entry_of_another_kernel_does_not_run(
    tmp_path: Path, host: Machine, compilations: list[str]
) -> None:
    cache = ObjectCache(tmp_path)
    compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache)
    (own,) = tmp_path.iterdir()
    compile_module(ADD.replace("= add", "= sub"), ADD_ENTRY, host, OPTIONS, cache)
    (other,) = (path for path in tmp_path.iterdir() if path != own)
    other.replace(own)
    assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert compilations == ["add", "add", "add"]


def test_a_folder_that_others_may_write_to_only_costs_time(
    tmp_path: Path, host: Machine, compilations: list[str]
) -> None:
    tmp_path.chmod(0o777)
    cache = ObjectCache(tmp_path)
    with pytest.warns(CacheWarning, match="is not used: other users may write to it"):
        assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert compilations == ["add", "add"]
    assert not list(tmp_path.iterdir())


def test_unwritable_cache_only_costs_time(host: Machine, compilations: list[str]) -> None:
    for _ in range(2):
        cache = ObjectCache(Path("/proc/polysched"))
        assert compile_module(ADD, ADD_ENTRY, host, OPTIONS, cache).call(2, 3) == 5
    assert compilations == ["add", "add"]


def test_memory_saves_the_second_load(host: Machine, compilations: list[str]) -> None:
    text = ADD.replace("@add", "@kept")
    entry = Entry("kept", 0, 2)
    first = compile_once(text, entry, host, OPTIONS, NOWHERE)
    assert compile_once(text, entry, host, OPTIONS, NOWHERE) is first
    assert compilations == ["kept"]


def test_the_key_covers_all_that_the_code_follows_from(host: Machine) -> None:
    variants = [
        object_key(ADD, "add", host, OPTIONS),
        object_key(ADD + "\n", "add", host, OPTIONS),
        object_key(ADD, "ad", host, OPTIONS),
        object_key(ADD, "add", dataclasses.replace(host, cpu="x86-64"), OPTIONS),
        object_key(ADD, "add", dataclasses.replace(host, features="+sse2"), OPTIONS),
        object_key(ADD, "add", dataclasses.replace(host, triple="x86_64-pc-linux-gnu"), OPTIONS),
        object_key(ADD, "add", host, CompileOptions(code_generation=2)),
        object_key(ADD, "add", host, CompileOptions(simplification=2)),
    ]
    assert len(set(variants)) == len(variants)
    renamed = dataclasses.replace(host, name="the same under another name")
    assert object_key(ADD, "add", renamed, OPTIONS) == variants[0]


def test_the_key_covers_the_versions(host: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    before = object_key(ADD, "add", host, OPTIONS)
    names = [text.split()[0] for text in jit.versions()]
    assert names == ["polysched", "llvmlite", "LLVM"]
    monkeypatch.setattr(jit, "versions", lambda: ("polysched 99",))
    assert object_key(ADD, "add", host, OPTIONS) != before


# -- threads --


def test_threads_compile_at_once(host: Machine) -> None:
    def run(number: int) -> int:
        text = ADD.replace("@add", f"@add{number}")
        return compile_module(text, Entry(f"add{number}", 0, 2), host, OPTIONS, NOWHERE).call(
            number, 1
        )

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(run, range(16))) == list(range(1, 17))


def test_the_gil_is_released_while_code_runs(meet, host: Machine) -> None:
    # The code waits for a number that only this thread writes, once it has seen the code's own.
    native = compile_module(meet.llvm, Entry("meet", 1, 0), host, OPTIONS, NOWHERE)
    state = (ctypes.c_int64 * 3)(0, -1, 0)
    runner = threading.Thread(target=native.call, args=(ctypes.addressof(state),))
    runner.start()
    while state[0] == 0:
        pass
    state[1] = 1
    runner.join()
    assert state[2] == 1

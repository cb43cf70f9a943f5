import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from types import SimpleNamespace

import pytest

from polysched.bench.conv import peers as peers_conv
from polysched.bench.conv.peers import prepare_onednn, prepare_torch
from polysched.bench.conv.work import (
    ConvolutionData,
    ConvolutionSize,
    random_data,
    reference,
    tolerance,
)
from polysched.bench.measure.contestant import Runner, UnavailableError
from polysched.bench.measure.race import max_abs_err

needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="torch is not installed")


@needs_torch
@pytest.mark.parametrize("prepare", [prepare_torch, prepare_onednn])
@pytest.mark.parametrize(
    "size", [ConvolutionSize(1, 1, 1, 1, 1), ConvolutionSize(2, 3, 10, 8, 64)], ids=str
)
def test_torch_computes_the_convolution(
    prepare: Callable[[ConvolutionData], Runner], size: ConvolutionSize
) -> None:
    data = random_data(size)
    runner = prepare(data)
    for _ in range(2):
        runner.run()
        assert max_abs_err(runner.output(), reference(data)) <= tolerance(size)


@pytest.mark.parametrize("prepare", [prepare_torch, prepare_onednn])
def test_without_torch_there_is_a_reason(
    prepare: Callable[[ConvolutionData], Runner], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(UnavailableError, match="torch is not installed"):
        prepare(random_data(ConvolutionSize(1, 1, 1, 1, 1)))


@pytest.mark.parametrize(
    ("has_onednn", "operators"),
    [(False, SimpleNamespace()), (True, SimpleNamespace(_convolution_pointwise=None))],
)
def test_a_torch_without_onednn_is_named(
    has_onednn: bool, operators: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch = SimpleNamespace(
        __version__="9.9",
        set_num_threads=lambda count: None,
        ops=SimpleNamespace(mkldnn=operators),
        backends=SimpleNamespace(mkldnn=SimpleNamespace(is_available=lambda: has_onednn)),
    )
    monkeypatch.setattr(peers_conv, "torch_on", lambda threads: torch)
    with pytest.raises(UnavailableError, match=r"torch 9\.9 has no oneDNN convolution"):
        prepare_onednn(random_data(ConvolutionSize(1, 1, 1, 1, 1)))


@needs_torch
@pytest.mark.slow
@pytest.mark.parametrize("order", ["torch, llvmlite.binding", "llvmlite.binding, torch"])
def test_torch_and_llvmlite_live_in_one_process(order: str) -> None:
    """Both carry an LLVM or its like; each must work whichever is loaded first."""
    program = f"""
import {order}
import torch
import llvmlite.binding as llvm
llvm.initialize_native_target()
llvm.initialize_native_asmprinter()
module = llvm.parse_assembly("define i32 @answer() {{ ret i32 42 }}")
machine = llvm.Target.from_default_triple().create_target_machine()
engine = llvm.create_mcjit_compiler(module, machine)
import ctypes
answer = ctypes.CFUNCTYPE(ctypes.c_int32)(engine.get_function_address("answer"))
tensor = torch.nn.functional.conv2d(torch.ones(1, 1, 3, 3), torch.ones(1, 1, 3, 3))
print(answer(), tensor.item())
"""
    finished = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False
    )
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.split() == ["42", "9.0"]

"""Calls whose machine code is on disk: they import no checker, compile nothing, and agree."""

import os
import subprocess
import sys
from pathlib import Path

CALLS = {
    "matmul": "ps.matmul(y, y, specialize=False)",
    "matmul on two threads": "ps.matmul(y, y, threads=2, specialize=False)",
    "matmul for one shape": "ps.matmul(y, y, threads=2, specialize=True)",
    "matmul of bytes": "ps.matmul(y.astype('i1'), y.T.astype('i1'), scale=0.5)",
    "matmul with an epilogue": "ps.matmul(y, y[:, :9], bias=y[0, :9], activation='relu')",
    "matmul without terms": "ps.matmul(y[:, :0], y[:0])",
    "bias alone": "ps.matmul(y[:, :0], y[:0], bias=y[0])",
    "softmax": "ps.softmax(x)",
    "layer_norm": "ps.layer_norm(x)",
    "attention": "ps.attention(x, x, x, threads=1)",
    "attention on two threads": "ps.attention(x, x, x, threads=2)",
    "conv1d": "ps.conv1d(x, weight, threads=1, specialize=False)",
    "conv1d for one shape": "ps.conv1d(x, weight, threads=2, specialize=True)",
    "conv2d": "ps.conv2d(x[:, None], weight[None], padding=1)",
}

SCRIPT = """
import sys
import numpy as np, polysched as ps
from polysched.runtime import jit
if sys.argv[1] == "warm":
    jit.emit_object = None
modules = "polysched.lower", "polysched.legality.check"
x = np.random.default_rng(0).normal(size=(2, 200, 80)).astype("f4")
weight = np.ones((3, 80, 48), "f4")
y = x[0, :80]
for line in sys.stdin:
    result = eval(line)
    print(*(module in sys.modules for module in modules), result.tobytes().hex()[:400])
"""


def test_a_second_process_compiles_nothing_and_imports_no_checker(tmp_path: Path) -> None:
    environment = {**os.environ, "POLYSCHED_CACHE": str(tmp_path / "cache")}
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT, state],
            env=environment,
            input="\n".join(CALLS.values()),
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        for state in ("cold", "warm")
    )
    assert (cold.returncode, cold.stderr) == (0, "")
    assert (warm.returncode, warm.stderr) == (0, "")
    compiled = [line.split() for line in cold.stdout.splitlines()]
    loaded = [line.split() for line in warm.stdout.splitlines()]
    assert len(compiled) == len(CALLS)
    assert [result for *_, result in loaded] == [result for *_, result in compiled]
    assert all(imported == ["True", "True"] for *imported, _ in compiled)
    for name, (*imported, _) in zip(CALLS, loaded, strict=True):
        assert imported == ["False", "False"], name

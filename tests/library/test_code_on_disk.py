"""Machine code of calls, which a second process loads from the disk."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import numpy as np, polysched as ps
from polysched.runtime import jit
if sys.argv[1] == "warm":
    jit.emit_object = None
x = np.random.default_rng(0).normal(size=(2, 200, 80)).astype("f4")
weight = np.ones((3, 80, 48), "f4")
results = [ps.attention(x, x, x, threads=threads) for threads in (1, 2)]
results += [ps.conv1d(x, weight, threads=t, specialize=s) for t in (1, 2) for s in (True, False)]
y = x[0, :80]
results += [ps.matmul(y, y, threads=t, specialize=s) for t in (1, 2) for s in (True, False)]
results += [ps.matmul(y, y[:, :9], bias=y[0, :9], activation="relu"), ps.matmul(y[:, :0], y[:0])]
results += [ps.matmul(y[:, :0], y[:0], bias=y[0])]
print([result.tobytes().hex()[:400] for result in results])
"""


def test_a_second_process_compiles_nothing(tmp_path: Path) -> None:
    environment = {**os.environ, "POLYSCHED_CACHE": str(tmp_path / "cache")}
    cold, warm = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT, state],
            env=environment,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        for state in ("cold", "warm")
    )
    assert (cold.returncode, cold.stderr) == (0, "")
    assert (warm.returncode, warm.stderr) == (0, "")
    assert warm.stdout == cold.stdout

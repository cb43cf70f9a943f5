"""Machine code of calls, which a second process loads from the disk."""

import os
import subprocess
import sys
from pathlib import Path

SCRIPT = """
import sys
import numpy as np, polysched as ps
from polysched.library.matmul.generic import compiled
if sys.argv[1] == "warm":
    compiled._compiled = None
x = np.random.default_rng(0).normal(size=(2, 200, 80)).astype("f4")
weight = np.ones((3, 80, 48), "f4")
results = [ps.attention(x, x, x, threads=threads) for threads in (1, 2)]
results += [ps.conv1d(x, weight, threads=t, specialize=s) for t in (1, 2) for s in (True, False)]
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

"""Calls whose code is on disk import neither the checker nor the passes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = {
    "matmul": "ps.matmul(x[0, 0], x[0, 0].T, specialize=False)",
    "matmul for one shape": "ps.matmul(x[0, 0], x[0, 0].T, specialize=True)",
    "matmul of bytes": "ps.matmul(x[0, 0].astype('i1'), x[0, 0].T.astype('i1'), scale=0.5)",
    "softmax": "ps.softmax(x)",
    "layer_norm": "ps.layer_norm(x)",
    "attention": "ps.attention(x, x, x)",
    "conv2d": "ps.conv2d(x, np.ones((3, 3, 16, 16), 'f4'), padding=1)",
}

PROGRAM = """
import sys, numpy as np, polysched as ps
x = np.ones((1, 8, 32, 16), "f4")
{call}
print(*(name for name in ("polysched.lower", "polysched.legality.check") if name in sys.modules))
"""


@pytest.mark.parametrize("name", CALLS)
def test_a_call_whose_code_is_on_disk_imports_no_checker(name: str, tmp_path: Path) -> None:
    program = PROGRAM.format(call=CALLS[name])
    environment = {**os.environ, "POLYSCHED_CACHE": str(tmp_path)}
    first, second = (
        subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.split()
        for _ in range(2)
    )
    assert first == ["polysched.lower", "polysched.legality.check"]
    assert second == []

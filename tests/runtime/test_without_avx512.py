"""A machine without AVX-512: the features of this one are masked in another process."""

import subprocess
import sys
from pathlib import Path

MASKED = """
from llvmlite import binding

detected = binding.get_host_cpu_features


def masked():
    features = detected()
    for name in list(features):
        if name.startswith(("avx512", "avx10", "amx")):
            features[name] = False
    return features


binding.get_host_cpu_features = masked

import numpy as np
import polysched as ps

assert ps.load_machine().vector_bits <= 256, ps.load_machine()


@ps.jit
def blur(x):
    y = np.zeros_like(x)
    y[1:-1] = (x[:-2] + x[1:-1] + x[2:]) / 3
    return y


x = np.random.default_rng(0).random(5000)
assert np.array_equal(blur(x), blur.python(x))

build = ps.KernelBuilder("scale")
n = build.parameter("n", minimum=1)
u, v = build.input("u", ps.f32, (n,)), build.output("v", ps.f32, (n,))
with build.loops(i=n) as i:
    v[i] = 2 * u[i]
run = ps.Schedule(build.kernel()).vectorize("i").compile()
assert "zmm" not in run.assembly
assert run(np.arange(21, dtype="f4")).tolist() == [2 * i for i in range(21)]

p, q = x[:65 * 30].reshape(65, 30).astype("f4"), x[:30 * 33].reshape(30, 33).astype("f4")
assert np.allclose(ps.matmul(p, q), p @ q, rtol=1e-5)
r, s = (100 * p).astype("i1"), (100 * q).astype("i1")
assert np.array_equal(ps.matmul(r, s), r.astype("i4") @ s.astype("i4"))
assert np.array_equal(ps.transpose(p, (1, 0)), p.T)
"""


def test_everything_that_is_compiled_for_this_machine_runs_without_it(tmp_path: Path) -> None:
    path = tmp_path / "masked.py"  # the source of a function is read from its file
    path.write_text(MASKED, encoding="utf-8")
    command = [sys.executable, str(path)]
    found = subprocess.run(command, check=False, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr

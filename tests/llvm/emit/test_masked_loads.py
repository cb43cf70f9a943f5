"""Loads of vectors some of whose lanes do not run."""

import re

from polysched.ir.declare.builder import KernelBuilder
from polysched.lower import show
from polysched.schedule.schedule import Schedule


def test_what_a_masked_store_wrote_is_not_loaded_again() -> None:
    """The processor does not forward masked stores: such a load waits for the cache."""
    build = KernelBuilder("twice_and_more")
    n = build.parameter("n", minimum=1, maximum=15)
    x = build.input("x", "f32", (n,))
    y, z = (build.output(name, "f32", (n,)) for name in "yz")
    with build.loops(i=n) as i:
        y[i] = 2 * x[i]
        z[i] = y[i] + 1
    assembly = show(Schedule(build.kernel()).vectorize("i", 16), "asm", "zen4")
    assert len(re.findall(r"\), %zmm\d+ \{%k\d\}", assembly)) == 1
    assert len(re.findall(r"%zmm\d+, \(.*\) \{%k\d\}", assembly)) == 2

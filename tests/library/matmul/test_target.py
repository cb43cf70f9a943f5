import numpy as np

import polysched as ps
from polysched.library.matmul.target import matmul_target
from polysched.runtime.call_cache import CallCache


def test_a_call_cache_of_another_function() -> None:
    generator = np.random.default_rng(0)
    a, b = (generator.integers(-4, 5, shape).astype("f4") for shape in ((5, 7), (7, 6)))
    target = matmul_target(a, b, None)
    assert target is not None
    cache = CallCache(8)
    cache.add("product", (a, b, None), target)
    np.testing.assert_array_equal(cache.run("product", a, b, None), a @ b)


def test_what_takes_more() -> None:
    a = np.ones((5, 5), "f4")
    for left, right in ((np.flip(a), a), (a, np.broadcast_to(a[:1], (5, 5))), (a[:0], a)):
        np.testing.assert_array_equal(ps.matmul(left, right), left @ right)
        assert matmul_target(left, right, None) is None

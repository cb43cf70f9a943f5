import numpy as np

import polysched as ps
from polysched.library.matmul.finish import PLAIN
from polysched.library.matmul.known_route import described, known_route
from polysched.library.matmul.target import matmul_target


def test_a_call_and_those_who_ask_for_its_target_share_a_route() -> None:
    a, b = np.ones((9, 13), "f4"), np.ones((13, 11), "f4")
    ps.matmul(a, b)
    before = known_route.cache_info().misses
    route = known_route(described(a), described(b), None, PLAIN, None, None)
    assert matmul_target(a, b, None) is route.door is not None
    assert known_route.cache_info().misses == before


def test_a_route_is_that_of_types_shapes_strides_and_alignment() -> None:
    a = np.ones((6, 6), "f4")
    misaligned = np.zeros(4 * a.size + 1, np.uint8)[1:].view("f4").reshape(a.shape)
    others = (
        a.astype("f8"),
        np.ones((6, 7), "f4"),
        a.T,
        np.ones((6, 12), "f4")[:, ::2],
        misaligned,
    )
    assert described(a) == described(a + 1)
    assert len({described(one) for one in (a, *others)}) == 1 + len(others)

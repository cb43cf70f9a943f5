import random

from polysched.fuzz.generate.limits import Limits, machine_limits, order_limits, plain_limits
from polysched.ir.expr.dtypes import f32, i8, i32


def test_what_is_written_beside_rounded_floats_is_a_float() -> None:
    limits = Limits(dtype=i32, others=(f32, i8))
    assert limits.types(written=False) == (i32, i32, f32, i8)
    assert limits.types(written=True) == (f32,)
    exact = Limits(dtype=i32, others=(f32, i8), exact=True)
    assert exact.types(written=True) == exact.types(written=False)
    assert Limits(others=(i8,)).types(written=True) == (i32, i32, i8)


def test_plain_kernels_keep_most_of_the_draw() -> None:
    draws = [random.Random(seed).randint for seed in range(400)]
    interpreted = [plain_limits(draw) for draw in draws]
    assert 260 < interpreted.count(Limits()) < 340
    judged = [order_limits(draw) for draw in draws]
    assert 300 < judged.count(Limits()) < 370
    assert all(one.dtype.is_odd_width for one in judged if one != Limits())
    compiled = [machine_limits(draw) for draw in draws]
    plain = [limits for limits in compiled if not (limits.others or limits.strided or limits.exact)]
    assert 180 < len(plain) < 260
    assert sum(limits.strided for limits in compiled) > 60
    assert sum(any(one.is_odd_width for one in limits.others) for limits in compiled) > 60

"""Random kernels of whole-array statements: fills, chains of temporaries, time loops, updates."""

from __future__ import annotations

import random

from polysched.ir.core.kernel import Kernel
from polysched.ir.declare.builder import KernelBuilder
from polysched.ir.expr.expressions import Constant, Expression

MARGIN = 3


def random_chain(seed: int) -> Kernel:
    """A kernel over arrays of one or two dimensions whose elements are all defined first."""
    draw = random.Random(seed)
    build = KernelBuilder(f"chain_{seed}")
    n, m = build.parameter("n"), build.parameter("m")
    build.assume(n >= 2 * MARGIN)
    build.assume(m >= 2 * MARGIN)
    rank = draw.choice((1, 1, 2))
    shape = (n, m)[:rank]
    dtype = draw.choice(("f32", "i32", "f64"))
    names = [f"t{number}" for number in range(draw.randint(2, 5))]
    arrays = {name: build.temporary(name, dtype, shape) for name in names}
    arrays["x"] = build.inout("x", dtype, shape)
    arrays["y"] = build.output("y", dtype, shape)
    zero = 0 if dtype == "i32" else 0.0

    def statement(target: str, number: int) -> None:
        low, high = draw.choice(((0, 0), (MARGIN, MARGIN), (1, MARGIN), (0, 2)))
        step = draw.choice((1, 1, 1, 2)) if rank == 1 else 1
        bounds = {
            f"i{axis}_{number}": (low, extent - high, step) for axis, extent in enumerate(shape)
        }
        with build.loops(**bounds) as opened:
            indices = opened if isinstance(opened, tuple) else (opened,)
            farthest = min(low, high)

            def read() -> Expression:
                array = draw.choice(list(arrays.values()))
                if draw.random() < 0.15:
                    return Constant(draw.randint(1, 3)) + array[indices]
                apart = [draw.randint(-farthest, farthest) for _ in indices]
                same = draw.random() < 0.6
                return array[
                    tuple(i if same else i + by for i, by in zip(indices, apart, strict=True))
                ]

            value = read() * read() - read() if draw.random() < 0.6 else read()
            if draw.random() < 0.15:
                value = arrays[target][indices] + read()
            arrays[target][indices] = value

    for name, array in arrays.items():
        if name != "x":
            bounds = {f"f{axis}_{name}": extent for axis, extent in enumerate(shape)}
            with build.loops(**bounds) as opened:
                array[opened if isinstance(opened, tuple) else (opened,)] = zero
    count = draw.randint(2, 7)
    is_loop = draw.random() < 0.4
    targets = [draw.choice([*names, *names, "x", "y"]) for _ in range(count)]
    if is_loop:
        with build.loops(t=(0, draw.randint(2, 3))):
            for number, target in enumerate(targets):
                statement(target, number)
    else:
        for number, target in enumerate(targets):
            statement(target, number)
    statement("y", count)
    return build.kernel()

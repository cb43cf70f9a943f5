"""Explain a tiling config in words: what it does to a problem and why."""

from __future__ import annotations

from collections.abc import Iterator

from polysched.library.matmul.config import (
    Config,
    fitted,
    part_of,
    registers_needed,
    vectors_of_sums,
)
from polysched.library.matmul.operands import Stored
from polysched.library.matmul.problem import Problem
from polysched.library.matmul.register_tile import cache_bytes
from polysched.library.matmul.tiling import tile_loops
from polysched.library.matmul.work_partition import is_short
from polysched.machine.description import Machine

_WORDS = {"m": "rows", "n": "columns", "k": "terms"}


def explain(config: Config, problem: Problem, machine: Machine) -> str:
    """Explain a config for a problem on a machine, one line for each decision.

    Args:
        config: written by hand, or from :func:`polysched.library.matmul.plan.plan`.
        problem: the product.
        machine: the machine that the config is for.
    """
    used = fitted(config, problem.sizes)
    lines = (
        _head(problem, machine),
        *_adjusted(config, used),
        _register_tile(used, problem, machine),
        *_split_accumulators(used),
        _threads(used, problem, machine),
        _blocks(used, problem, machine),
        *_packing(used, problem, machine),
        f"loops: {' '.join(tile_loops(used))} around the register tile",
    )
    return "\n".join(lines)


def _head(problem: Problem, machine: Machine) -> str:
    sizes = problem.sizes
    batch = f"{sizes.batch} products of " if sizes.batch > 1 else ""
    total = "" if problem.total == problem.dtype else f", summed in {problem.total}"
    rows = _distances(problem)
    apart = f", {' and '.join(rows)} apart" if rows else ""
    where = f"on '{machine.name}'{apart}"
    return f"{batch}{sizes.m} x {sizes.n} x {sizes.k} {problem.dtype}{total} {where}"


def _distances(problem: Problem) -> list[str]:
    """The leading dimensions of the arrays with gaps, in elements, as text."""
    stored = {"a": problem.a, "b": problem.b, "out": Stored(strides=problem.strides_out)}
    return [
        f"rows of {name} {one.strides[-2]}"
        for name, one in stored.items()
        if isinstance(one, Stored) and one.strides
    ]


def _adjusted(config: Config, used: Config) -> Iterator[str]:
    for name, wanted in vars(config).items():
        got = getattr(used, name)
        if wanted != got:
            what = "left out" if got is None else f"{got}"
            yield f"{name}: {what} instead of {wanted}, which does not fit the problem or the tile"


def _register_tile(config: Config, problem: Problem, machine: Machine) -> str:
    lanes = machine.lanes(problem.total.bits)
    sums = vectors_of_sums(config, machine, problem.total)
    rows = (
        config.inner_n if config.dot_form else sums // (config.inner_m * config.split_accumulators)
    )
    needed = registers_needed(config, machine, problem.total)
    hidden = machine.fma_units * machine.fma_latency
    latency = "hides" if sums >= hidden else "too few to hide"
    along = "terms of a sum" if config.dot_form else "columns"
    return (
        f"register tile: {config.inner_m} x {config.inner_n}, {sums} vectors of {lanes} {along} "
        f"({latency} the latency of {hidden} FMAs), {needed} of {machine.vector_registers} "
        f"registers, {config.split_accumulators * (config.inner_m + rows)} loads for {sums} FMAs"
    )


def _split_accumulators(config: Config) -> Iterator[str]:
    if config.split_accumulators > 1:
        count = config.split_accumulators
        yield f"sums: {count} accumulators each, which take the terms in turn, added at the end"


def _threads(config: Config, problem: Problem, machine: Machine) -> str:
    sizes = problem.sizes
    if config.parallel_batch:
        return f"threads: share the {sizes.batch} products"
    extents = {"m": sizes.m, "n": sizes.n, "k": sizes.k}
    parts = [
        f"{config.threads(d)} parts of at most {part_of(config, d, extent)} {_WORDS[d]}"
        for d, extent in extents.items()
        if config.threads(d) > 1
    ]
    if parts:
        added = ", sums added up at the end" if config.k_threads > 1 else ""
        return f"threads: {' by '.join(parts)}{added}"
    if is_short(problem, machine):
        return f"threads: one; {problem.flops:,} operations are too few to wake another"
    return "threads: one"


def _blocks(config: Config, problem: Problem, machine: Machine) -> str:
    extents = [f"{config.block(d)} {_WORDS[d]}" for d in "mnk" if config.block(d) is not None]
    terms = config.k_block or part_of(config, "k", problem.sizes.k)
    panel = terms * config.inner_n * problem.dtype.bytes
    blocks = " by ".join(extents) or "none"
    return (
        f"blocks: {blocks}; a panel of b has {_kib(panel)}, the caches "
        f"{_kib(cache_bytes(machine, 1))} and {_kib(cache_bytes(machine, 2))}"
    )


def _packing(config: Config, problem: Problem, machine: Machine) -> Iterator[str]:
    sizes = problem.sizes
    b_bytes = sizes.k * sizes.n * problem.dtype.bytes
    tiles = -(-sizes.m // config.inner_m)
    level = next((n for n in (1, 2, 3) if b_bytes <= cache_bytes(machine, n)), None)
    where = "in memory" if level is None else f"fits the L{level} cache"
    times = "once" if tiles == 1 else f"by {tiles} tiles of rows"
    read = f"{_kib(b_bytes)}, {where}, read {times}"
    if problem.computed_b:
        how = "computed for each panel" if config.pack_b else "computed in registers"
    else:
        how = "packed into panels" if config.pack_b else "read in place"
    yield f"b: {how} ({read})"
    if config.pack_a and config.dot_form:
        yield "a: transposed first, so that its rows are read along the sums too"
    elif config.pack_a:
        yield "a: a block of it packed, so that its rows do not meet in one set of the cache"
    if config.prefetch_a:
        yield "a: the rows of the next register tile prefetched, cache line by cache line"


def _kib(count: int) -> str:
    return f"{count / 1024:,.0f} KiB" if count >= 10240 else f"{count / 1024:.3g} KiB"

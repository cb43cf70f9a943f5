"""Cache blocks of several panels of ``b``, for rows of ``a`` that come from a distant cache.

All rows meet a panel of ``b`` before the next one. If ``a`` exceeds L2, each panel therefore
reloads it from L3. In a block of panels that L2 holds, the rows of a register tile meet every panel
of the block before the next rows are loaded.

Rates on Sapphire Rapids in a virtual machine (10 bytes a cycle from L3), over those without blocks:
1.09 at 1024^3 and 1000^3 in f32 and f64, 1.12 at 2048^3, 1.10 at 512^3 in f64.
"""

from __future__ import annotations

from dataclasses import replace

from polysched.ir.core.cache_lines import LINE_BYTES
from polysched.library.matmul.kernel.declare import Sizes
from polysched.library.matmul.plan.config import B_BLOCKS_OUTERMOST, Config
from polysched.library.matmul.plan.problem import Problem
from polysched.machine.contraction_model import even_block
from polysched.machine.description import Machine

RELOADED_PART = 0.16
"""The part of the FMAs' cycles that lines of ``a`` may take. Sapphire Rapids: 0.2 with tiles of
four vectors in f32, 0.4 in f64. Zen 4 and Zen 5: 0.02 to 0.13, and 1024^3 loses by blocks of rows.
"""

FEWEST_PANELS = 2
"""A block of a single panel reloads as much as no block."""


def in_blocks_of_panels(
    config: Config, part: Sizes, problem: Problem, machine: Machine
) -> Config | None:
    """The config with packed blocks of panels in a quarter of L2; None if they gain nothing.

    Args:
        config: the config with a register tile and blocks of terms.
        part: the sizes of a thread's part.
    """
    near, element, costs = machine.cache_bytes(2), problem.dtype.bytes, machine.costs
    vectors = config.inner_n / machine.lanes(problem.total.bits)
    reloading = costs.line_into_l2 * element / LINE_BYTES * machine.fma_units / vectors
    is_far = part.m * (config.k_block or part.k) * element >= near // 2
    if not is_far or reloading <= RELOADED_PART:
        return None
    fitting = near // 4 // (config.inner_n * element)  # terms of one panel
    longest = max(costs.block_terms, fitting // FEWEST_PANELS)
    terms = part.k if part.k <= longest else even_block(part.k, longest, LINE_BYTES // element)
    columns = max(FEWEST_PANELS, fitting // terms) * config.inner_n
    if part.n <= columns:
        return None
    return replace(
        config,
        order=B_BLOCKS_OUTERMOST,
        k_block=terms,
        n_block=columns,
        pack_b=True,
        prefetch_packed=0 if problem.computed_b else costs.panel_prefetch,
    )

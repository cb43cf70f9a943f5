"""Recipes: ways to schedule one loop nest, each in a file of its own.

A recipe is a function from a :class:`~polysched.autoscheduler.forms.candidate.Situation` to
proposals, the most promising first. See the package :mod:`polysched.autoscheduler`.
"""

from polysched.autoscheduler.forms.candidate import Recipe
from polysched.autoscheduler.recipes.contraction import contraction
from polysched.autoscheduler.recipes.lane_buffers import lane_buffers
from polysched.autoscheduler.recipes.outer_lanes import outer_lanes
from polysched.autoscheduler.recipes.partial_sums import partial_sums
from polysched.autoscheduler.recipes.recurrence import recurrence
from polysched.autoscheduler.recipes.register_blocks import register_blocks
from polysched.autoscheduler.recipes.register_tile import (
    innermost_lanes,
    instruction_tile,
    register_tile,
)
from polysched.autoscheduler.recipes.row_sweeps import row_sweeps
from polysched.autoscheduler.recipes.skewed_lanes import skewed_lanes
from polysched.autoscheduler.recipes.wavefront import wavefront
from polysched.autoscheduler.recipes.written_out import written_out

RECIPES: tuple[Recipe, ...] = (
    contraction,
    instruction_tile,
    register_tile,
    partial_sums,
    outer_lanes,
    written_out,
    register_blocks,
    lane_buffers,
    row_sweeps,
    recurrence,
    wavefront,
    skewed_lanes,
)
"""All recipes, in the order in which ties are broken."""

FALLBACK: tuple[Recipe, ...] = (innermost_lanes,)
"""The recipes for a program whose better candidates cannot be proved."""

QUICK: tuple[Recipe, ...] = (innermost_lanes, partial_sums)
"""The recipes for a program that is too short to be worth a search.

Sums are the only work of many such programs: 31 of 256 products took 9 us scalar, and 3 us.
"""

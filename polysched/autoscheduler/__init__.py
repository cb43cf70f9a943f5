"""The autoscheduler: it finds a schedule of public primitives, which the checker proves.

The package is not named after its entry point ``ps.optimize``: importing a subpackage
``polysched.optimize`` would replace that function by the module.

Stages, one file each; every stage is a pure function:

========================= ========================================================================
:mod:`.sizes`             the parameter values for which costs are predicted
:mod:`.operations`        the arithmetic of one statement instance
:mod:`.facts`             one statement in numbers: trip counts, strides, operations
:mod:`.cost`              facts, machine -> predicted cycles (the one cost model)
:mod:`.memory`            results that one search asks for again, kept until it ends
:mod:`.nests`             the loop nests of a program
:mod:`.inlining`          values that one statement reads, without a temporary
:mod:`.normalize`         privatize temporaries, distribute loops as far as legal
:mod:`.recipes`           a nest -> proposals: steps, with the reason for them; one file a recipe
:mod:`.legal`             the cheap necessary test: does the program keep the order of dependences?
:mod:`.search`            proposals of all recipes for all nests -> candidates, the best first
:mod:`.proof`             candidates -> the first that the checker proves
:mod:`.threads`           the outermost independent loops with enough work become parallel
:mod:`.report`            what was done to each loop and why, or what stands in the way
:mod:`.driver`            all stages in order
========================= ========================================================================

To add a recipe, write a function ``(Situation) -> Iterator[Proposal]`` in a file of
:mod:`.recipes` and add it to ``RECIPES`` in ``recipes/__init__.py``. A recipe need not prove
anything. The search drops proposals whose steps do not fit or whose order is illegal, predicts the
cost of the others from the program that results, and keeps the best. The order of ``RECIPES``, and
of the proposals of a recipe, breaks ties, so it must not depend on hashes, times or addresses.
"""

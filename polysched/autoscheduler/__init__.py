"""The autoscheduler: it finds a schedule of public primitives, which the checker proves.

The package is not named after its entry point ``ps.optimize``: importing a subpackage
``polysched.optimize`` would replace that function by the module.

Stages, in order; every stage is a pure function:

===================== ============================================================================
:mod:`.facts`         each statement in numbers: sizes, loops, strides, operations
:mod:`.cost`          facts, machine -> predicted cycles (the one cost model)
:mod:`.forms`         a program -> the same program with its loops and statements in another order
:mod:`.recipes`       a nest -> proposals: steps, with the reason for them; one file a recipe
:mod:`.search`        proposals of all recipes for all nests -> candidates, the best first
:mod:`.proof`         candidates -> the first that the checker proves
:mod:`.threads`       for each nest the cheapest legal way to share its work
:mod:`.driver`        all stages in order
:mod:`.report`        what was done to each loop and why, or what stands in the way
:mod:`.gaining_sizes` the sizes at which a schedule gains over the program as written
:mod:`.slowdown`      a warning of a legal schedule that is predicted to be far slower
===================== ============================================================================

To add a recipe, write a function ``(Situation) -> Iterator[Proposal]`` in a file of
:mod:`.recipes`       and add it to ``RECIPES`` in ``recipes/__init__.py``. A recipe need not prove
anything. The search drops proposals whose steps do not fit or whose order is illegal, predicts the
cost of the others from the program that results, and keeps the best. The order of ``RECIPES``, and
of the proposals of a recipe, breaks ties, so it must not depend on hashes, times or addresses.
"""

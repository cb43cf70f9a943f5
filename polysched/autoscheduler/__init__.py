"""The autoscheduler: it finds a schedule of public primitives, which the checker proves.

The package is not named after its entry point ``ps.optimize``: importing a subpackage
``polysched.optimize`` would replace that function by the module.

Stages, one file each; every stage is a pure function:

========================= ========================================================================
:mod:`.sizes`             the parameter values for which costs are predicted
:mod:`.operations`        the arithmetic of one statement instance
:mod:`.subscripts`        subscripts as linear functions of the loops around a statement
:mod:`.facts`             one statement in numbers: trip counts, strides, operations
:mod:`.traffic`           bytes between the caches, from the footprints of accesses
:mod:`.chains`            cycles for which an iteration waits for the one before
:mod:`.body`              what one iteration needs of the execution units and ports
:mod:`.cost`              facts, machine -> predicted cycles (the one cost model)
:mod:`.program_cost`      costs of all statements: what one leaves in caches for the next
:mod:`.least_cost`        lower bound of the cost under any schedule
:mod:`.nests`             the loop nests of a program
:mod:`.legal`             the cheap necessary test: does the program keep the order of dependences?
:mod:`.simplification`    values that one statement reads, without a temporary
:mod:`.normalize`         privatize temporaries, distribute loops as far as legal
:mod:`.stride_order`      the loop along which memory is contiguous becomes innermost
:mod:`.alignment`         shifts and skew factors that make neighboring loops permutable
:mod:`.time_tiles`        sweeps of a time loop, several of them in flight per tile
:mod:`.owner_tiles`       all updates of a matrix in one nest, tiled over its elements
:mod:`.column_form`       each finished element is added to all the sums that need it
:mod:`.row_blocks`        an imperfect nest is distributed inside blocks of rows
:mod:`.row_fusion`        nests that stream the same arrays run block by block
:mod:`.recipes`           a nest -> proposals: steps, with the reason for them; one file a recipe
:mod:`.search`            proposals of all recipes for all nests -> candidates, the best first
:mod:`.proof`             candidates -> the first that the checker proves
:mod:`.thread_costs`      the cost of a parallel region, and how much faster its work runs
:mod:`.thread_work`       the work of a loop for threads
:mod:`.thread_parts`      parts of a sum, one for each thread
:mod:`.thread_wavefronts` wavefronts of tiles where two loops carry dependences
:mod:`.threads`           for each nest the cheapest legal way to share its work
:mod:`.slowdown`          a warning of a legal schedule that is predicted to be far slower
:mod:`.report`            what was done to each loop and why, or what stands in the way
:mod:`.driver`            all stages in order
========================= ========================================================================

To add a recipe, write a function ``(Situation) -> Iterator[Proposal]`` in a file of
:mod:`.recipes` and add it to ``RECIPES`` in ``recipes/__init__.py``. A recipe need not prove
anything. The search drops proposals whose steps do not fit or whose order is illegal, predicts the
cost of the others from the program that results, and keeps the best. The order of ``RECIPES``, and
of the proposals of a recipe, breaks ties, so it must not depend on hashes, times or addresses.
"""

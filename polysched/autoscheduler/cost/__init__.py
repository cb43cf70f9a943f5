"""The cost model: the facts of statements and the machine give predicted cycles.

======================== =========================================================================
:mod:`.traffic`          bytes between the caches, from the footprints of accesses
:mod:`.body`             demand of one iteration on the execution units and ports
:mod:`.chains`           cycles for which an iteration waits for the one before
:mod:`.carried_chains`   chains of operations through several statements
:mod:`.sum_starts`       where sums start anew, and whether they wait for those before
:mod:`.statement`        the cost of one statement
:mod:`.program`          costs of all statements: what one leaves in caches for the next
:mod:`.bound`            lower bound of the cost under any schedule
======================== =========================================================================
"""

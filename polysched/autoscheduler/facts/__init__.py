"""Facts: what the stages know of each statement, in numbers.

======================== =========================================================================
:mod:`.sizes`            the parameter values for which costs are predicted
:mod:`.operations`       the arithmetic of one statement instance
:mod:`.subscripts`       subscripts as linear functions of the loops around a statement
:mod:`.instance_count`   the instances of a statement, counted
:mod:`.statement`        the facts of a statement: trip counts, strides, operations
:mod:`.derive`           a program -> the facts of its statements
:mod:`.term_groups`      instructions that add a group of consecutive terms
======================== =========================================================================
"""

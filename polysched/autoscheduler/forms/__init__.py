"""Forms of a program: other orders of its loops and statements, each of them legal.

======================== =========================================================================
:mod:`.nests`            the loop nests of a program
:mod:`.legal`            the cheap necessary test: does the program keep the order of dependences?
:mod:`.candidate`        proposals, and candidates for the final schedule
:mod:`.simplification`   values that one statement reads, without a temporary
:mod:`.private_arrays`   temporaries of one iteration, privatized
:mod:`.normalize`        loops distributed as far as legal
:mod:`.stride_order`     the loop along which memory is contiguous becomes innermost
:mod:`.alignment`        shifts and skew factors that make neighboring loops permutable
:mod:`.time_tiles`       sweeps of a time loop, several of them in flight per tile
:mod:`.owner_tiles`      all updates of a matrix in one nest, tiled over its elements
:mod:`.column_form`      each finished element is added to all the sums that need it
:mod:`.row_blocks`       an imperfect nest is distributed inside blocks of rows
:mod:`.row_fusion`       nests that stream the same arrays run block by block
:mod:`.shared_sums`      neighboring nests that add to the same elements are fused
======================== =========================================================================
"""

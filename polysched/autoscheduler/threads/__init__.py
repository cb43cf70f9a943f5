"""Threads: the loops that threads share, where the cost model predicts that it pays.

================== ===============================================================================
:mod:`.costs`      the cost of a parallel region, and how much faster its work runs
:mod:`.work`       the work of a loop for threads
:mod:`.parts`      parts of a sum, one for each thread
:mod:`.cuts`       loops cut where they meet the value of a loop around them
:mod:`.moves`      parallel loops moved outward: fewer regions
:mod:`.wavefronts` wavefronts of tiles where two loops carry dependences
:mod:`.share`      for each nest the cheapest legal way to share its work
================== ===============================================================================
"""

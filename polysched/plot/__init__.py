"""Pictures of schedules: the iteration domain, its dependences, the order of execution, tiles.

:mod:`polysched.plot.picture` computes what is shown; :mod:`polysched.plot.draw` draws it
with matplotlib, the optional extra ``plot``. Nothing else in polysched needs that library.
"""

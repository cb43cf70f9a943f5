"""Pictures of schedules: the iteration domain, its dependences, the order of execution, tiles.

:mod:`polysched.plot.picture` computes the contents of a picture; :mod:`polysched.plot.draw` draws
it with matplotlib, the optional extra ``plot``. Nothing else in polysched needs matplotlib.
"""

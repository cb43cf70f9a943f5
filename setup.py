"""The C extension of repeated calls; everything else stands in pyproject.toml."""

import numpy as np
from setuptools import Extension, setup

FASTCALL = Extension(
    "polysched.runtime._fastcall",
    ["polysched/runtime/_fastcall.c", "polysched/runtime/planned_call.c"],
    include_dirs=[np.get_include()],
    depends=["polysched/runtime/planned_call.h"],
    py_limited_api=True,
    optional=True,  # without a C compiler or Python's headers it is left out
)

setup(ext_modules=[FASTCALL])

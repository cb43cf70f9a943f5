"""The C extension of repeated calls; everything else stands in pyproject.toml."""

import numpy as np
from setuptools import Extension, setup

CALL_TABLE = Extension(
    "polysched.runtime._call_table",
    [f"polysched/runtime/{name}.c" for name in ("_call_table", "planned_call", "workspace")],
    include_dirs=[np.get_include()],
    depends=["polysched/runtime/planned_call.h", "polysched/runtime/workspace.h"],
    py_limited_api=True,
    optional=True,  # without a C compiler or Python's headers it is left out
)

setup(ext_modules=[CALL_TABLE])

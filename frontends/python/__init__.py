"""Plain Python functions over arrays and ``range`` loops as kernels: ``@polysched.kernel``."""

"""Which polysched this is."""

from __future__ import annotations

import importlib.metadata


def own_version() -> str | None:
    """The version of the installed package; None if the source tree is used without installing."""
    try:
        return importlib.metadata.version("polysched")
    except importlib.metadata.PackageNotFoundError:
        return None


__version__ = own_version() or "unknown"
"""The version as text, for ``ps.__version__``."""

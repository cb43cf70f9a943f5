"""Plot a schedule as a matplotlib figure, and save figures; checks that matplotlib is installed."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from polysched.errors import PlotError
from polysched.legality.verdicts.verdict import Verdict
from polysched.plot.picture import Picture, picture
from polysched.plot.view import View
from polysched.schedule.schedule import Schedule

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FORMATS = ("png", "svg", "pdf")

_RESOLUTION = 160
"""Resolution of PNG files in dots per inch."""


def plot(schedule: Schedule, view: View | None = None, *, verdict: Verdict | None = None) -> Figure:
    """Plot a schedule, which need not be legal, as a figure, which notebooks show.

    Args:
        view: options of the picture; see :class:`polysched.plot.view.View`.
        verdict: the checker's verdict, if already known.

    Raises:
        PlotError: matplotlib is missing, a name is unknown, or isl's computations take too long.
        CallError: the sizes violate the kernel's context.
    """
    require_matplotlib()
    return drawn(picture(schedule, view, verdict=verdict))


def require_matplotlib() -> None:
    """Check that matplotlib is installed."""
    try:
        import matplotlib  # noqa: F401, PLC0415  (the optional extra `plot`)
    except ModuleNotFoundError as error:
        raise PlotError("plotting needs matplotlib: pip install matplotlib") from error


def drawn(shown: Picture) -> Figure:
    """Draw a picture as a matplotlib figure."""
    require_matplotlib()
    from polysched.plot.draw import draw  # noqa: PLC0415  (the optional extra `plot`)

    return draw(shown)


def picture_format(path: Path) -> str:
    """The image format of a file, from its extension."""
    extension = path.suffix.removeprefix(".").lower()
    if extension not in FORMATS:
        endings = ", ".join(f".{extension}" for extension in FORMATS)
        raise PlotError(f"cannot write a picture to '{path}'; expected a name ending in {endings}")
    return extension


def save(figure: Figure, path: Path) -> None:
    """Write a figure to a file in the format of its extension.

    The output is deterministic: equal figures give identical files.
    """
    content = _rendered(figure, picture_format(path))
    try:
        path.write_bytes(content)
    except OSError as error:
        raise PlotError(f"cannot write '{path}': {error.strerror}") from error


def svg_text(figure: Figure) -> str:
    """Render a figure as an SVG element for HTML, with labels as text."""
    text = _rendered(figure, "svg").decode()
    return text[text.index("<svg") :]


def _rendered(figure: Figure, file_format: str) -> bytes:
    from matplotlib import rc_context  # noqa: PLC0415  (the optional extra `plot`)

    # For identical files: no date, and a fixed salt for SVG ids. SVG text stays text, not outlines.
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": None}[file_format]
    buffer = io.BytesIO()
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "polysched"}):
        figure.savefig(buffer, format=file_format, dpi=_RESOLUTION, metadata=metadata)
    return buffer.getvalue()

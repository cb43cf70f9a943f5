"""Title, subtitle and tile labels of a picture."""

from __future__ import annotations

from polysched.plot.picture import Picture
from polysched.plot.view import Color, fixed_text


def title(picture: Picture) -> str:
    """The title: the kernel and the verdict."""
    return f"{picture.kernel}: {picture.verdict.kind.value}"


def subtitle(picture: Picture) -> tuple[str, ...]:
    """The subtitle lines: statements and sizes, the meaning of colors, and omissions."""
    plural = "statements" if len(picture.statements) > 1 else "statement"
    sizes = [f"{name} = {value}" for name, value in picture.parameters.items()]
    first = f"{plural} {', '.join(picture.statements)}"
    lines = [f"{first} at {', '.join(sizes)}" if sizes else first]
    lines += _hidden(picture)
    if picture.color is Color.TILE:
        tiles = len({dot.tile for dot in picture.dots})
        lines.append(f"colored by tile ({', '.join(picture.tile)}); {tiles:,} in the picture")
    violation = picture.verdict.violation
    if violation is not None:
        lines.append(picture.verdict.reason.splitlines()[0].removeprefix("illegal: "))
    return (*lines, *picture.notes)


def _hidden(picture: Picture) -> list[str]:
    lines = []
    if picture.fixed:
        lines.append(f"only the instances at {fixed_text(picture.fixed)}")
    if picture.projected:
        most = max(dot.instances for dot in picture.dots)
        coloring = "" if picture.color is Color.NONE else ", colored by the first to run"
        lines.append(
            f"projected along {', '.join(picture.projected)}: a dot is up to {most:,} "
            f"instances{coloring}"
        )
    return lines


def tile_label(picture: Picture, tile: tuple[int, ...]) -> str:
    """The label of a tile: the values of its loops."""
    values = zip(picture.tile, tile, strict=True)
    return f"tile {', '.join(f'{name} = {value}' for name, value in values)}"

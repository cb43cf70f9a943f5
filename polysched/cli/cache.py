"""``polysched cache``: show or clear the on-disk cache of compiled code."""

from __future__ import annotations

import click
from rich.table import Table

from polysched.cli.terminal import output
from polysched.runtime.cache import ENVIRONMENT_VARIABLE, LIMIT_VARIABLE, ObjectCache, default_cache


@click.command(
    "cache",
    epilog=f"{ENVIRONMENT_VARIABLE} sets another folder, or 'off' for no cache. {LIMIT_VARIABLE} "
    "sets the size limit, in bytes or with suffix K, M or G. If the cache exceeds the limit, the "
    "least recently used entries are deleted.",
)
@click.option("--clear", is_flag=True, help="Delete all entries.")
def cache_command(clear: bool) -> None:
    """Show the on-disk cache of compiled code: its folder, entries, size and limit.

    \b
    polysched cache
    polysched cache --clear
    """
    cache = default_cache()
    if clear:
        cache.clear()
    output().print(_table(cache), soft_wrap=False)


def _table(cache: ObjectCache) -> Table:
    table = Table(show_header=False, box=None, pad_edge=False)
    table.add_column(style="bold", no_wrap=True)
    table.add_column(overflow="fold")
    if cache.folder is None:
        table.add_row("folder", f"none ({ENVIRONMENT_VARIABLE}=off, or no home folder is known)")
        return table
    table.add_row("folder", str(cache.folder))
    usage = cache.usage()
    if usage is None:
        table.add_row("entries", "none: the folder does not exist, or cannot be used")
    else:
        table.add_row("entries", str(usage.entries))
        table.add_row("size", _size(usage.bytes))
    table.add_row("limit", _size(cache.limit_bytes))
    return table


def _size(count: int) -> str:
    """A size as text, such as ``12.3 MiB (12,897,485 bytes)``."""
    for unit, name in ((1024**3, "GiB"), (1024**2, "MiB"), (1024, "KiB")):
        if count >= unit:
            return f"{count / unit:.1f} {name} ({count:,} bytes)"
    return f"{count} bytes"

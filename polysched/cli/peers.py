"""Print the peers of a benchmark: their kernels, the processor and the cleared environment."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

import click

from polysched.bench.peers import PeerKernels
from polysched.machine.detect import detect_host


def print_peers(context: click.Context, peers: Iterable[PeerKernels], *, as_records: bool) -> None:
    """Print the processor, the kernels of each peer, and the cleared environment variables.

    Args:
        context: the context of a subcommand of ``polysched bench``, whose ``obj`` holds the names
            of the cleared environment variables.
        peers: the peers of all races; duplicates are printed once. If empty, nothing is printed.
        as_records: print a JSON object on each line.
    """
    host = detect_host()
    cleared: tuple[str, ...] = context.obj or ()
    distinct = tuple(dict.fromkeys(peers))
    if not distinct:
        return
    if as_records:
        about = {"processor": host.name, "vector_bits": host.vector_bits, "cleared": cleared}
        for record in (about, *map(asdict, distinct)):
            click.echo(json.dumps(record))
        return
    click.echo(f"processor: {host.name}, vectors of {host.vector_bits} bits")
    for peer in distinct:
        click.echo(f"peer {peer}")
    if cleared:
        click.echo(f"cleared from the environment: {' '.join(cleared)}")

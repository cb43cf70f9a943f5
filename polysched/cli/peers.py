"""What the benches print of the peers of a race and of the environment that they raced in."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict

import click

from polysched.bench.peers import PeerKernels
from polysched.machine.detect import detect_host


def print_peers(context: click.Context, peers: Iterable[PeerKernels], *, as_records: bool) -> None:
    """Print the processor, the kernels of each peer, and what was cleared from the environment.

    Args:
        context: of a subcommand of ``polysched bench``, which keeps there what it cleared.
        peers: of all races; what is said of one twice is printed once. If there are none, nothing
            is printed.
        as_records: print a JSON object a line.
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

"""Many machines: the scheduler that gives them work, and joining it."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
from pathlib import Path
from typing import TYPE_CHECKING

import click

from redolab.commands.console import progress
from redolab.errors import InvalidInput

if TYPE_CHECKING:
    from collections.abc import Mapping


@click.command()
@click.option("--host", default="127.0.0.1", metavar="HOST", help="Listen on this address.  [default: 127.0.0.1]")
@click.option("--port", default=8786, metavar="PORT", type=click.IntRange(1, 65535), help="[default: 8786]")
@click.option(
    "--dashboard", is_flag=True, help="Serve Dask's dashboard at localhost:8787. Every account here can read it."
)
def scheduler(host: str, port: int, dashboard: bool) -> None:
    """Start Dask's scheduler, which gives machines their work.

    On this machine alone it needs nothing: the lab makes the certificate that workers and runs of the same account have.
    For other machines it needs certificates of yours (docs/machines.md).
    """
    from redolab.machines.cluster.dask import ClusterAddress, serve_scheduler

    _check_installed()
    bare = host.strip("[]")
    address = ClusterAddress(f"[{bare}]" if ":" in bare else bare, port)
    asyncio.run(serve_scheduler(address, dashboard=dashboard, say=click.echo))


@click.command()
@click.argument("address", metavar="ADDRESS")
@click.option("--name", metavar="NAME", help="What this machine is called in tables.  [default: its host name]")
def worker(address: str, name: str | None) -> None:
    """Measure on this machine for the scheduler at ADDRESS.

    As in tls://db-control:8786, or tls://127.0.0.1:8786 on this machine. One group at a time, until Ctrl-C.
    """
    from redolab.machines.cluster.dask import join, parse_cluster

    parsed = parse_cluster(address)
    _check_installed()
    asyncio.run(join(parsed, name or socket.gethostname(), click.echo))


@click.command("do-job", hidden=True)
@click.argument("folder", type=click.Path(path_type=Path))
def do_job(folder: Path) -> None:
    """Do the job in a folder, for a cluster's worker."""
    from redolab.machines.cluster.worker import do_job_in

    do_job_in(folder, progress())


def run_on(cluster: str, name: str, given: Mapping[str, str | None]) -> None:
    """Run an experiment with these texts of its factors on the machines of a cluster."""
    from redolab.machines.cluster.dask import parse_cluster
    from redolab.machines.cluster.running import run_on_cluster
    from redolab.runs.factors import read_factors
    from redolab.runs.loading import load_experiment

    address = parse_cluster(cluster)
    _check_installed()
    run_on_cluster(name, read_factors(load_experiment(name).factors_type, given), address, progress())


def _check_installed() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("distributed", "bokeh")):
        raise InvalidInput(
            "the packages for clusters are not installed",
            "'make cluster' in a clone, pip install 'redolab[cluster]' elsewhere",
        )

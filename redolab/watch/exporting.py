"""`redolab export`: a server's metrics over HTTP, or in a file for node_exporter's textfile collector."""

from __future__ import annotations

import ipaddress
import signal
import time
from contextlib import suppress
from pathlib import Path

from prometheus_client import CollectorRegistry, start_http_server, write_to_textfile

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.machine import interrupts
from redolab.watch.metrics import ServerCollector
from redolab.watch.watched import ServerToCome

_SUFFIX = ".prom"
_SHORTEST = 0.1
"""Seconds."""


def parse_listen(text: str) -> tuple[str, int]:
    """Parse an address and port such as `127.0.0.1:9400` or `[::1]:9400`. Raises `InvalidInput`."""
    host, _, port = text.rpartition(":")
    try:
        address, number = ipaddress.ip_address(host.strip("[]")), int(port)
    except ValueError:
        raise InvalidInput(f"'{text}' is no address to listen on", "as in 127.0.0.1:9400") from None
    if not 1 <= number <= 65535:
        raise InvalidInput(f"{number} is no port", "choose 1 to 65535")
    return str(address), number


def serve(server: ServerToCome, host: str, port: int) -> None:
    """Answer scrapes until SIGINT, SIGTERM or SIGHUP. Raises `LabError` if nothing can listen there."""
    registry = _registry(server)
    try:
        serving, thread = start_http_server(port, host, registry)
    except OSError as error:
        raise LabError(
            f"nothing can listen on {host}:{port} ({error.strerror})", "choose another with --listen"
        ) from None
    with suppress(Interrupted), interrupts.unwinding():
        signal.pause()
    serving.shutdown()
    serving.server_close()
    thread.join()


def write_file(server: ServerToCome, file: Path, every: float) -> None:
    """Write the metrics into a file every `every` seconds, atomically, until SIGINT, SIGTERM or SIGHUP; then remove it.

    Raises `InvalidInput` for a name that node_exporter would not read, or a time that is too short.
    """
    if every < _SHORTEST:
        raise InvalidInput(f"a file every {every:g} s is not possible", f"choose {_SHORTEST:g}s or more")
    if file.suffix != _SUFFIX:
        raise InvalidInput(f"node_exporter does not read {file.name}", f"give it a name that ends in {_SUFFIX}")
    registry = _registry(server)
    due = time.monotonic()
    with suppress(Interrupted), interrupts.unwinding():
        try:
            while True:
                with interrupts.held():
                    write_to_textfile(str(file), registry)
                # Counted from fixed points, and past those that a slow answer made it miss.
                due += every * max(1, -(-(time.monotonic() - due) // every))
                time.sleep(max(0.0, due - time.monotonic()))
        finally:
            # A stale file would be scraped for ever as the server's present state.
            with suppress(FileNotFoundError):
                file.unlink()


def _registry(server: ServerToCome) -> CollectorRegistry:
    registry = CollectorRegistry(auto_describe=False)
    registry.register(ServerCollector(server))
    return registry

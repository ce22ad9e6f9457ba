"""Another account of a machine asks a port of Dask's to run something: `python -m tests.cluster.stranger PORT FILE`.

It prints, a line each, how it asked and what came of it: without TLS, with a certificate of its own, and with the one
that stands on its standard input, if any. What has been run for it makes FILE.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from distributed import Security
from distributed.core import rpc
from distributed.protocol.pickle import dumps


async def _ask(address: str, certificates: Security | None, file: Path) -> list[str]:
    """Ask for it in the words of a worker and in those of a scheduler."""
    asked = {"function": dumps(Path.touch), "args": dumps((file,)), "kwargs": dumps({})}
    connection = certificates.get_connection_args("client") if certificates else {}
    answers = []
    async with rpc(address, timeout=5, connection_args=connection) as there:
        for ask in (there.run, there.run_function):
            try:
                answers.append(str(await asyncio.wait_for(ask(**asked), 10)))
            except (OSError, TimeoutError) as error:
                answers.append(type(error).__name__)
    return answers


def _main(port: str, file: str) -> None:
    asked: dict[str, Security | None] = {"without TLS": None, "with its own": Security.temporary()}
    if held := sys.stdin.read():
        asked["with ours"] = Security(tls_ca_file=held, tls_client_cert=held, tls_client_key=held)
    for how, certificates in asked.items():
        address = f"{'tls' if certificates else 'tcp'}://127.0.0.1:{port}"
        answers = asyncio.run(_ask(address, certificates, Path(file)))
        print(f"{how}: {'run' if Path(file).exists() else 'nothing run'} ({', '.join(answers)})")


_main(*sys.argv[1:])

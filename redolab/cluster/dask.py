"""Dask as the lab uses it: whether it is there, its certificates, and settings that leave a machine to what is measured."""

from __future__ import annotations

import importlib.util
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from redolab.cluster.address import ClusterAddress
from redolab.cluster.certificate import own_certificate
from redolab.errors import InvalidInput
from redolab.project import PROJECT

if TYPE_CHECKING:
    from distributed import Security

Role = Literal["scheduler", "worker", "client"]
MACHINE = "machine"
"""The resource of which each worker has one and each group takes one: a machine measures one thing at a time."""
WHOSE = "it and we must be of one account, or our certificates of one CA"
"""Why one that is there may not answer."""
_SCHEDULER_LASTS = timedelta(days=60)
"""For at least so long the lab's own certificate is good when a scheduler starts with it."""
_LOGS = ("distributed", "distributed.client", "tornado", "tornado.application", "bokeh")
_SETTINGS = {
    # What Dask does besides, each so often, would run beside a recovery that is being timed.
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.admin.system-monitor.interval": "5s",
    # Gone for half a minute is gone: another machine takes its group.
    "distributed.comm.timeouts.tcp": "30s",
}


def check_installed() -> None:
    """Raises `InvalidInput` where the packages for clusters are not installed."""
    if any(importlib.util.find_spec(name) is None for name in ("distributed", "bokeh")):
        raise InvalidInput(
            "the packages for clusters are not installed",
            "'make cluster' in a clone, pip install 'redolab[cluster]' elsewhere",
        )


def prepare() -> None:
    """Have Dask quiet, on its log and on the processor: before anything of it is started."""
    import dask

    # Read when `distributed` is imported. Who wants its log says so in Dask's configuration.
    if dask.config.get("logging", None) is None:
        dask.config.set(logging=dict.fromkeys(_LOGS, "critical"))
    import distributed  # noqa: F401

    dask.config.set(_SETTINGS)


def security(role: Role, address: ClusterAddress) -> Security:
    """The certificates for a role at that scheduler: those of Dask's own configuration, or the lab's on loopback. Raises `LabError`."""
    from distributed import Security

    found = Security(require_encryption=True)
    wanted = {"ca-file": "tls_ca_file", f"{role}.cert": f"tls_{role}_cert", f"{role}.key": f"tls_{role}_key"}
    if address.is_loopback and not any(getattr(found, attribute) for attribute in wanted.values()):
        # Renewed ahead by the scheduler alone: what joins takes the certificate that a running scheduler has.
        still = _SCHEDULER_LASTS if role == "scheduler" else timedelta()
        own = own_certificate(PROJECT.own_cluster, datetime.now(UTC), still)
        return Security(require_encryption=True, **dict.fromkeys(wanted.values(), own))
    for name, attribute in wanted.items():
        path = getattr(found, attribute)
        if not path:
            variable = f"DASK_DISTRIBUTED__COMM__TLS__{name.replace('.', '__').replace('-', '_').upper()}"
            raise InvalidInput(
                f"Dask has no certificate for TLS (distributed.comm.tls.{name})",
                f"set it in ~/.config/dask/distributed.yaml or as {variable} (docs/machines.md)",
            )
        if not Path(path).is_file():
            raise InvalidInput(f"{path} is not there", f"distributed.comm.tls.{name} of Dask's configuration names it")
    try:
        found.get_connection_args(role)
    except (ssl.SSLError, OSError) as error:
        raise InvalidInput(
            f"the certificates of Dask's configuration cannot be used ({error})", "see distributed.comm.tls there"
        ) from error
    return found


def reasons(error: BaseException) -> list[str]:
    """What an error of Dask's and those behind it say, a line each, the first cause last."""
    said: list[str] = []
    each: BaseException | None = error
    while each is not None:
        said += str(each).splitlines()[:1]
        each = each.__cause__ or each.__context__
    return said or [type(error).__name__]

"""The check configuration: one small crash and three recoveries of it, to compare the machines of a cluster."""

from __future__ import annotations

from redolab.models.sizes import default_dataset, default_pool
from redolab.units import MIB

from .factors import Factors

_LOG = 64 * MIB
_SEED = 1


def check(asked: Factors) -> Factors:
    """Return the check's factors: the run's first server, on local disk, with a pool that holds the tables."""
    return Factors(
        log_size=(_LOG,),
        server=asked.server[:1],
        pool=(default_pool(default_dataset(_LOG)),),
        repeat=3,
        seed=_SEED,
        keep=asked.keep,
        new_crash=asked.new_crash,
        check_disks=False,
        beside_others=asked.beside_others,
    )

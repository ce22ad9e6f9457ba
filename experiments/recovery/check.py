"""The check cell: one small crash and three recoveries of it, by which machines of a cluster are told alike or not."""

from __future__ import annotations

from redolab.models.sizes import default_dataset, default_pool
from redolab.units import MIB

from .factors import Factors

_LOG = 64 * MIB
_SEED = 1


def check(asked: Factors) -> Factors:
    """Of the run's first server, on the lab's own storage, with a pool that holds the tables; the same on every machine."""
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

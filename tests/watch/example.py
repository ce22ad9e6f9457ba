"""A server as it may stand."""

from __future__ import annotations

from redolab.counters.series import SegmentGrowth
from redolab.predict.recovery import Prediction
from redolab.predict.recovery_time.spread import Spread
from redolab.predict.recovery_time.terms import Part
from redolab.servers.redo_counters import Sample
from redolab.units import MIB
from redolab.watch.crash_now import Expected, When
from redolab.watch.standing import Driver, FlushLimits
from redolab.watch.watched import Standing

STANDING = Standing(
    sample=Sample(
        monotonic=10.0, wall=100.0, lsn=5_000_000, os_log_written=9_000_000, checkpoint_age=50 * MIB, dirty_pages=700
    ),
    limits=FlushLimits(hard=100 * MIB, sync=80 * MIB, adaptive=10 * MIB, dirty_share=0.9, pool_pages=1000),
    driver=Driver.CHECKPOINT_AGE,
    growth=SegmentGrowth(5.0, 1_000_000, 3_000_000, None),
    seconds_until_waiting=25.0,
    expected=tuple(
        Expected(when, 50 * MIB, 700, Prediction({Part.SCAN: 4.0}, 0.0, Spread(deviation=0.3, count=30)))
        for when in When
    ),
)

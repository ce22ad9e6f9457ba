"""The plan of the slow log plugin's experiment: block after block, in each every cell of every server once."""

from __future__ import annotations

from redolab.lab import Lab
from redolab.querylogs.plugin.building import built_slow_log_plugin, check_has_plugin
from redolab.runs.plan import draw_in_blocks

from .arms import Arm, Place
from .bench import PlannedInstance, PlannedStretch, PluginConditions, PluginPlan
from .factors import Factors

_KILLED_WITH = 16
"""Clients while a server is killed."""


def plan(factors: Factors, lab: Lab) -> PluginPlan:
    """The plan; what is in a block is done close together in time. Raises `InvalidInput`, `LabError`."""
    factors.check()
    for name in factors.server:
        server = lab.server(name)
        check_has_plugin(name, server.dialect)
        if not lab.reads_only:
            built_slow_log_plugin(lab, server)
    blocks = [
        [group for server in factors.server for group in _groups(factors, server, number)]
        for number in range(1, factors.repeat + 1)
    ]
    return draw_in_blocks(
        blocks,
        repeat=1,
        seed=factors.drawn_seed(),
        conditions=PluginConditions(buffer=factors.buffer),
        keep=False,
    )


def _groups(factors: Factors, server: str, number: int) -> list[tuple[PlannedInstance, list[PlannedStretch]]]:
    groups = []
    for schema in (False, True):
        steps = [
            PlannedStretch(arm=arm, place=place, connections=connections, seconds=factors.seconds)
            for arm in factors.arm
            if arm.has_schema == schema
            for place in (factors.log if arm.has_file else (Place.NOWHERE,))
            for connections in factors.connections
        ]
        if steps:
            groups.append((PlannedInstance(server=server, block=number, schema=schema), steps))
    if factors.kill:
        groups += [
            (
                PlannedInstance(server=server, block=number, killed=arm),
                [PlannedStretch(arm=arm, place=factors.log[-1], connections=_KILLED_WITH, seconds=factors.seconds)],
            )
            for arm in (Arm.PLUGIN, Arm.BUFFERED)
            if arm in factors.arm
        ]
    return groups

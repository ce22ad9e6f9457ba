"""A watched server whose settings are changed while it runs."""

from __future__ import annotations

import pytest

from redolab.servers.address import Address
from redolab.servers.redo_counters import Sample
from redolab.units import GIB
from redolab.watch.watched import WatchedServer


class _Live:
    """Stand-in for a server that is asked, with the settings of a MySQL as shipped."""

    def __init__(self, address: Address) -> None:
        self.version = "9.7.1"
        self.variables: dict[str, str] = {}
        self.buffer_pool, self.log_size, self.binary_log, self.read_threads = 2 * GIB, GIB, GIB, 4
        self.sync_flush_point = None
        self.looks = 0

    def sample(self) -> Sample:
        self.looks += 1
        return Sample(monotonic=float(self.looks), wall=None, checkpoint_age=self.looks)


def test_a_binary_log_of_another_size_changes_the_prediction(monkeypatch: pytest.MonkeyPatch) -> None:
    live = _Live(Address())
    monkeypatch.setattr("redolab.watch.watched.LiveServer", lambda _: live)
    server = WatchedServer(Address(), "local", None)
    before, same = server.look(), server.look()
    live.binary_log = 0
    after = server.look()
    assert before is not None
    assert same is not None
    assert after is not None
    assert before.expected[-1].prediction == same.expected[-1].prediction
    assert after.expected[-1].prediction.seconds < before.expected[-1].prediction.seconds

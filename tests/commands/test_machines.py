"""Which machine a person means by a name."""

from __future__ import annotations

import pytest

from redolab.commands.machines import _meant
from redolab.errors import InvalidInput
from redolab.remote.address import SshAddress


def test_a_folder_that_is_named_goes_before_the_one_that_was_used_last(monkeypatch: pytest.MonkeyPatch) -> None:
    home, disk = SshAddress("db"), SshAddress("db", "/mnt/data/redolab")
    monkeypatch.setattr("redolab.remote.visit.known_machines", lambda: [home, disk, SshAddress("spare", "/srv/lab")])
    assert _meant("ssh:db") == home
    assert _meant("ssh:db:/mnt/data/redolab") == disk
    assert _meant("spare") == _meant("ssh:spare") == SshAddress("spare", "/srv/lab")
    monkeypatch.setattr("redolab.remote.visit.known_machines", lambda: [disk, SshAddress("db", "/srv/lab")])
    with pytest.raises(
        InvalidInput, match=r"several folders of db: name one: ssh:db:/mnt/data/redolab, ssh:db:/srv/lab"
    ):
        _meant("db")

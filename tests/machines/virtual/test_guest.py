"""The virtual machine for real: built, brought up, a run in it on several storages, halted, removed, nothing left. For `make test-vm`."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from redolab.project import PROJECT
from redolab.results.storages import storages_of
from redolab.runs.schema import RunState
from redolab.runs.store import RunStore
from tests.command import recoveries, redolab

pytestmark = pytest.mark.vm

_MINUTES = 25


def _redolab(*words: str, folder: Path, settings: str = "") -> str:
    """`redolab WORDS` with a lab of its own, to its end in order; what it printed."""
    own = folder / "settings.local.yaml"
    own.write_text(settings)
    environment = {"REDOLAB_LAB": str(folder / "lab"), "REDOLAB_VAGRANT_SETTINGS": str(own)}
    done = redolab(*words, environment=environment, seconds=_MINUTES * 60)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def _left() -> dict[str, list[str]]:
    """What a virtual machine could leave on this machine."""
    listed = {
        "processes": ["pgrep", "-f", "(libvirt|virtlog|qemu-system|dnsmasq).*"],
        "links": ["ip", "-brief", "link"],
        "mounts": ["findmnt", "--raw", "--noheadings", "--output", "TARGET"],
        "loops": ["losetup", "--list", "--noheadings"],
    }
    return {
        what: sorted(subprocess.run(words, capture_output=True, text=True, check=False).stdout.splitlines())
        for what, words in listed.items()
    }


@pytest.fixture(scope="module")
def folder() -> Path:
    """Kept between sessions, so that the box is built once."""
    kept = PROJECT.root / ".lab/tests/vm"
    kept.mkdir(parents=True, exist_ok=True)
    return kept


def test_a_run_goes_through_the_virtual_machine_and_nothing_is_left(folder: Path) -> None:
    before = _left()
    images = Path("/var/lib/libvirt/images")
    images_before = sorted(images.glob("*"))
    _redolab("vm", "box", folder=folder)
    assert "not created" in _redolab("vm", "status", folder=folder)

    known = [run.name for run in RunStore().all()]
    small = ["--log-size", "64M", "--dataset", "32M", "--open-transaction", "5000", "--pool", "64M", "--repeat", "1"]
    # 'vagrant' brings it up by itself; its own disk is throttled, and a slow one is modelled on it.
    where = ["--machine", "vagrant", "--storage", "local,hdd"]
    said = _redolab("run", "recovery", *small, *where, folder=folder, settings="disk_profile: gp3-3000\n")
    (run,) = [run for run in RunStore().all() if run.name not in known]
    record = run.record()
    assert record.state is RunState.COMPLETE
    assert record.sessions[0].address == "vagrant"
    assert record.sessions[0].machine.virtualisation in ("kvm", "qemu")
    assert sorted(trial.storage for trial in recoveries(run)) == ["hdd", "local"]
    figures = {each.storage: each.check.got for each in storages_of(run).records if each.check is not None}
    assert figures["local"].queued_read.per_second < 3300
    assert figures["hdd"].read.latency_us > 10_000
    assert run.name in said

    assert "running" in _redolab("vm", "status", folder=folder)
    assert "redolab\n" in _redolab("vm", "ssh", "hostname", folder=folder)
    _redolab("vm", "halt", folder=folder)
    assert _left() == before
    assert "shut off" in _redolab("vm", "status", folder=folder)
    _redolab("vm", "up", folder=folder)
    assert "redolab-machine.json" in _redolab("vm", "ssh", "ls", "/mnt/redolab/lab", folder=folder)

    _redolab("vm", "destroy", folder=folder)
    assert _left() == before
    assert sorted(images.glob("*")) == images_before
    assert sorted(path.name for path in (folder / "lab/vagrant").iterdir()) == [".lock", "boxes", "home"]

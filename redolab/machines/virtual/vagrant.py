"""The virtual machine under Vagrant: its settings, bringing it up, halting it, destroying it, and ssh into it."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from redolab.disks.catalogue import storage_catalogue
from redolab.disks.profiles import FlashDisk
from redolab.errors import CommandFailed, Interrupted, InvalidInput, LabError
from redolab.lab import tools_of
from redolab.machine import files, processes
from redolab.machine.interrupts import unwinding
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.lock import is_locked, locked
from redolab.machine.processes import Command
from redolab.machines.virtual.box import KERNEL, boots_under_kvm, box_file, build_box, watch
from redolab.progress import Progress, Stage
from redolab.project import PROJECT

GUEST = "vagrant"
"""Name of the guest for ssh."""
LAB_THERE = "/mnt/redolab/lab"
"""The lab's folder in the guest, on its data disk."""
OWN_BOX = "redolab/debian"
_NEEDS: Mapping[str, Mapping[str, str]] = {
    "libvirt": {
        "vagrant": "vagrant-libvirt",
        "virsh": "libvirt-clients",
        "qemu-system-x86_64": "qemu-system-x86",
        "qemu-img": "qemu-utils",
        "libvirtd": "libvirt-daemon-system",
        "dnsmasq": "dnsmasq-base",
        "iptables": "iptables",
    },
    "virtualbox": {"vagrant": "vagrant"},
}
"""Provider → program → the Debian package that has it."""
_DOMAIN, _DATA_DISK = "redolab-default", "vdb"
"""Names of the guest at libvirt and of its data disk, given by the Vagrantfile."""
_LIBVIRT_SCRIPT = Path(__file__).with_name("libvirt.sh")
"""Script that starts and ends libvirt, which may be the lab's own in namespaces of its own."""
_BOOTS_WITHIN = 3600.0
_ENDS_WITHIN = 600.0
_MEGABYTE = 1_000_000


def _own_settings() -> Path:
    """Return the file with the user's own values; $REDOLAB_VAGRANT_SETTINGS, if set, is another one."""
    return Path(os.environ.get("REDOLAB_VAGRANT_SETTINGS") or PROJECT.vagrant / "settings.local.yaml")


def read_settings(provider: str | None = None) -> Mapping[str, Any]:
    """Return the settings: a given provider first, then the user's own, then the project's. Raises `InvalidInput`.

    The Vagrantfile reads the same files, and reports values that make no sense.
    """
    known, own = _read(PROJECT.vagrant / "settings.yaml"), _own_settings()
    values = {**known, **(_read(own) if own.exists() else {}), **({"provider": provider} if provider else {})}
    if unknown := sorted(values.keys() - known.keys()):
        raise InvalidInput(f"{own}: there is no setting {', '.join(unknown)}", f"choose from {', '.join(known)}")
    if values["provider"] not in _NEEDS:
        raise InvalidInput(f"there is no provider {values['provider']}", f"choose from {', '.join(_NEEDS)}")
    return values


def _read(path: Path) -> dict[str, Any]:
    try:
        return msgspec.yaml.decode(path.read_bytes(), type=dict[str, Any] | None) or {}
    except msgspec.MsgspecError as error:
        raise InvalidInput(f"{path} cannot be read ({error})", "it has lines as in 'memory: 4G'") from error


def limits_of(profile: str) -> Sequence[str]:
    """Return the options of `virsh blkdeviotune` for a storage profile.

    Raises `InvalidInput` for a profile that needs more than such limits.
    """
    disk = storage_catalogue().get(profile)
    if not isinstance(disk, FlashDisk):
        raise InvalidInput(
            f"disk_profile: libvirt limits operations and bytes a second, and {profile} is more than that",
            "choose a disk without moving parts, as gp3-3000; STORAGE= has the others, by the disk model in the guest",
        )
    writes = disk.write_mb_s or disk.read_mb_s
    limited = (
        {"total": (disk.read_iops, disk.read_mb_s)}
        if disk.shared
        else {"read": (disk.read_iops, disk.read_mb_s), "write": (disk.write_iops, writes)}
    )
    return [
        f"--{what}-{unit}-sec={round(value)}"
        for what, (operations, megabytes) in limited.items()
        for unit, value in (("iops", operations), ("bytes", megabytes * _MEGABYTE))
        if value is not None
    ]


class Guest:
    """The virtual machine that the settings describe, existing or not, at their provider or at another one."""

    def __init__(self, provider: str | None = None) -> None:
        """Raises `InvalidInput`."""
        self._settings = read_settings(provider)
        self._provider = self._settings["provider"]
        self._of_libvirt = self._provider == "libvirt"
        self._folder = PROJECT.lab / "vagrant"
        self._libvirt = self._folder / "libvirt"
        """Files of the lab's own libvirt."""
        self._boxes = self._folder / "boxes"
        self._machine = self._folder / "machine"
        """Vagrant's own files of the virtual machine."""
        self._ssh_config = self._folder / "ssh_config"
        self._box = box_file(self._boxes) if self._of_libvirt and self._settings["box"] == OWN_BOX else None
        """The lab's own box, if the guest is made of it."""

    @property
    def exists(self) -> bool:
        """Return whether the virtual machine was brought up and not destroyed."""
        return self._known_to() is not None

    @property
    def has_left(self) -> bool:
        """Return whether the virtual machine exists, or the lab's own libvirt that was started for it."""
        return self.exists or self._libvirt.exists()

    def build_box(self, progress: Progress) -> Path:
        """Build the lab's own box if it is missing, and return its file. Raises `LabError`."""
        with self._alone("the box is not built"):
            return build_box(self._boxes, progress)

    def up(self, progress: Progress) -> None:
        """Take the missing steps until the guest is up and ready. Raises `LabError`."""
        self._check(is_there=False)
        if self._ssh_config.exists():
            probe = Command([*self.ssh_words(), "-oBatchMode=yes", "-oConnectTimeout=30", GUEST, "true"])
            if processes.run(probe, seconds=60, check=False).status == 0:
                return
        profile = self._settings["disk_profile"]
        limits = limits_of(profile) if profile else []
        with self._alone("'make up' goes on with it, 'make destroy' removes what there is"):
            needs = _NEEDS[self._provider].items()
            if missing := [package for program, package in needs if processes.which(program) is None]:
                tools_of(PROJECT.lab).install(missing, progress)
            if self._of_libvirt:
                self._start_libvirt(progress)
                if self._box is None and is_locked(self._libvirt / "lock"):
                    raise InvalidInput(
                        f"{self._settings['box']} is set up over the network, and guests of the lab's own libvirt have none",
                        f"start the system's libvirt ('systemctl start libvirtd'), or take the box {OWN_BOX}",
                    )
            # One that is there keeps the box that it was made of.
            if self._box is not None and not self.exists:
                build_box(self._boxes, progress)
                for name in files.names(self._folder / "home/boxes"):
                    if not name.endswith(self._box.parent.name):
                        files.remove(self._folder / "home/boxes" / name)
            with progress.stage("bringing up the virtual machine") as stage:
                under = {}
                if self._of_libvirt:
                    stage.say("whether it boots under KVM")
                    kvm = boots_under_kvm(self._box and self._box.with_name(KERNEL), self._folder)
                    under["REDOLAB_VAGRANT_DRIVER"] = "kvm" if kvm else "qemu"
                    stage.outcome = "under KVM" if kvm else "in software emulation"
                self._do(stage, _BOOTS_WITHIN, "up", f"--provider={self._provider}", **under)
            if self._of_libvirt and limits:
                virsh = ("virsh", "--quiet", "--connect=qemu:///system")
                processes.run(
                    self._libvirt_command("in", *virsh, "blkdeviotune", _DOMAIN, _DATA_DISK, "--live", *limits)
                )
            ssh_config = processes.run(self._command("ssh-config", f"--host={GUEST}")).out
            files.write_whole(self._ssh_config, ssh_config.encode())

    def status(self) -> str:
        """Return the state of the virtual machine in Vagrant's words. Raises `LabError`."""
        if not self.exists:
            return "not created"
        if not self._can_be_asked():
            return "shut off (libvirt does not run)"
        status = processes.run(self._command("status", "--machine-readable")).out
        return next((line.split(",")[3] for line in status.splitlines() if ",state-human-short," in line), "unknown")

    def halt(self, progress: Progress) -> None:
        """Shut the virtual machine down; its disks stay. Raises `LabError`."""
        self._check(is_there=True)
        with (
            self._alone("'make status' says how it stands"),
            progress.stage("shutting down the virtual machine") as stage,
        ):
            if self._can_be_asked():
                self._do(stage, _ENDS_WITHIN, "halt")
            files.remove(self._ssh_config)
            processes.run(self._libvirt_command("stop"))

    def destroy(self, progress: Progress) -> None:
        """Remove the virtual machine, its disks and all that was made for it; the box stays. Raises `LabError`."""
        self._check(is_there=not self.has_left)
        with self._alone("'make destroy' goes on with it"), progress.stage("removing the virtual machine") as stage:
            if self.exists:
                if self._of_libvirt:
                    self._start_libvirt(progress)
                self._do(stage, _ENDS_WITHIN, "destroy", "--force")
            processes.run(self._libvirt_command("stop"))
            for left in (self._libvirt, self._ssh_config, self._machine, *self._folder.glob("*.log")):
                files.remove(left)

    def ssh_words(self) -> Sequence[str]:
        """Return the command, in place of `ssh`, that enters the guest as root. Raises `LabError` if it is not up."""
        if not self._ssh_config.exists():
            raise LabError("the virtual machine is not up", "'make up' brings it up")
        # Vagrant's configuration names an account of its own.
        return self._libvirt_command("in", "ssh", "-F", str(self._ssh_config), "-l", "root").arguments

    def _start_libvirt(self, progress: Progress) -> None:
        with progress.stage("starting libvirt, unless it runs", brief=True):
            try:
                # libvirt must outlive the lab: the guest is up until it is halted.
                processes.run(self._libvirt_command("start"), to_its_end=True)
            except CommandFailed as error:
                raise LabError("libvirt does not answer and could not be started", details=error.details) from error

    def _can_be_asked(self) -> bool:
        return not self._of_libvirt or processes.run(self._libvirt_command("answers"), check=False).status == 0

    def _libvirt_command(self, verb: str, *command: str) -> Command:
        """Return the command for a verb of the script, such as `in`, which runs another command where libvirt runs."""
        return Command(["sh", str(_LIBVIRT_SCRIPT), verb, str(self._libvirt), *command])

    def _check(self, *, is_there: bool) -> None:
        """Raise `InvalidInput` if Vagrant has the guest at another provider, or, with `is_there`, has none."""
        known_to = self._known_to()
        if known_to not in (None, self._provider):
            raise InvalidInput(
                f"the virtual machine is one of {known_to}, not of {self._provider}",
                "'make destroy' with that PROVIDER= removes it",
            )
        if is_there and known_to is None:
            raise InvalidInput("there is no virtual machine", "'make up' makes one")

    @contextmanager
    def _alone(self, interrupted: str) -> Iterator[None]:
        """Keep others from bringing the guest up or down within the block; an interrupt says what is left."""
        claim_lab_folder(PROJECT.lab)
        files.make_folder(self._folder)
        try:
            with locked(self._folder / ".lock"), unwinding():
                yield
        except Interrupted:
            raise Interrupted(f"stopped: {interrupted}") from None

    def _known_to(self) -> str | None:
        """Return the provider at which Vagrant knows of a virtual machine; None if it knows of none."""
        return next((path.parent.name for path in self._machine.glob("machines/*/*/id")), None)

    def _do(self, stage: Stage, seconds: float, verb: str, *words: str, **environment: str) -> None:
        # Vagrant ignores --machine-readable beside --no-tty, so only these verbs have it.
        command, log = self._command(verb, *words, "--no-tty", **environment), self._folder / f"{verb}.log"
        watch(command, log, stage, seconds, f"vagrant {verb} did not succeed")

    def _command(self, *words: str, **environment: str) -> Command:
        settings = {
            "HOME": os.environ.get("HOME") or str(self._folder),
            # nsenter does not keep the folder that it was called in.
            "VAGRANT_CWD": str(PROJECT.vagrant),
            "VAGRANT_HOME": str(self._folder / "home"),
            "VAGRANT_DOTFILE_PATH": str(self._machine),
            "VAGRANT_CHECKPOINT_DISABLE": "1",
            "VAGRANT_EXPERIMENTAL": "disks",
            "REDOLAB_VAGRANT_SETTINGS": str(_own_settings()),
            **({"REDOLAB_VAGRANT_BOX": str(self._box)} if self._box is not None else {}),
        }
        vagrant = self._libvirt_command("in", "vagrant", *words).arguments
        return Command(vagrant, environment={**settings, **environment})

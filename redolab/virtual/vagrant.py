"""The virtual machine as Vagrant keeps it: up, halted, destroyed, and how ssh gets into it."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from redolab.errors import Interrupted, InvalidInput, LabError
from redolab.lab import journal_of, tools_of
from redolab.machine import files, processes
from redolab.machine.interrupts import unwinding
from redolab.machine.kvm import boots_under_kvm
from redolab.machine.lab_folder import claim_lab_folder
from redolab.machine.lock import locked
from redolab.machine.processes import Command, Output
from redolab.progress import Progress
from redolab.project import PROJECT
from redolab.virtual.box import Box
from redolab.virtual.libvirt import Libvirt
from redolab.virtual.settings import LIBVIRT, OWN_BOX, VIRTUALBOX, Settings, own_settings, read_settings
from redolab.virtual.throttle import limits_of, throttle
from redolab.virtual.watching import watch

GUEST = "vagrant"
"""What ssh calls the guest."""
LAB_THERE = "/mnt/redolab/lab"
"""The lab's folder in the guest, on its data disk."""
NEEDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    LIBVIRT: {
        "vagrant": ("vagrant", "vagrant-libvirt"),
        "virsh": ("libvirt-clients",),
        "qemu-system-x86_64": ("qemu-system-x86", "qemu-utils"),
        "libvirtd": ("libvirt-daemon-system",),
        "dnsmasq": ("dnsmasq-base",),
        "iptables": ("iptables",),
    },
    VIRTUALBOX: {"vagrant": ("vagrant",)},
}
"""Provider → program → the Debian packages that have it."""
_DOMAIN, _DATA = "redolab-default", "redolab-data"
"""As the Vagrantfile names the guest at libvirt, and its data disk."""
_BOOTS_WITHIN = 3600.0
_ENDS_WITHIN = 600.0
_STATE = re.compile(r"^default +(\S.*) \(\w+\)$", re.MULTILINE)
"""As `vagrant status` says it."""
_HOW = {"kvm": "under KVM", "qemu": "in software emulation", "": ""}


@dataclass(frozen=True, slots=True)
class Guest:
    """The virtual machine, there or not; `folder` is where all that it takes lies."""

    folder: Path
    settings: Settings

    @classmethod
    def of_settings(cls, provider: str | None = None) -> Guest:
        """The one that the settings describe, or the same at another provider. Raises `InvalidInput`."""
        settings = read_settings()
        chosen = provider or settings.provider
        if chosen not in NEEDS:
            raise InvalidInput(f"'{chosen}' is no provider of virtual machines", f"choose from {', '.join(NEEDS)}")
        return cls(PROJECT.lab / "vagrant", msgspec.structs.replace(settings, provider=chosen))

    @property
    def exists(self) -> bool:
        """Whether it was brought up and not destroyed."""
        return self._mark is not None

    @property
    def has_left(self) -> bool:
        """Whether there is anything of it: itself, or the lab's own libvirt that was started for it."""
        return self.exists or (self._of_libvirt and self._libvirt.has_kept)

    def build_box(self, progress: Progress) -> Path:
        """Have the lab's own box; its file. Raises `LabError`."""
        with self._alone("the box is not built"):
            self._box.build(journal_of(PROJECT.lab), progress)
        return self._box.file

    def up(self, progress: Progress) -> None:
        """Do what is missing until it is up and ready. Raises `LabError`."""
        self._check_provider()
        if self._ssh_config.exists() and self._answers():
            return
        if self.settings.disk_profile:
            limits_of(self.settings.disk_profile)
        with self._alone("'make up' goes on with it, 'make destroy' removes what there is"):
            self._require(progress)
            if self._of_libvirt:
                self._libvirt.start(progress)
                self._check_network()
            if self._has_own_box:
                self._box.build(journal_of(PROJECT.lab), progress)
                self._add_box(progress)
            with progress.stage("bringing up the virtual machine") as stage:
                driver = self._driver(stage.say)
                up = self._command("up", f"--provider={self.settings.provider}", driver=driver)
                watch(up, self.folder / "up.log", stage, _BOOTS_WITHIN, "vagrant up did not succeed")
                stage.outcome = _HOW[driver]
            if self._of_libvirt and self.settings.disk_profile:
                throttle(self._libvirt, _DOMAIN, _DATA, self.settings.disk_profile)
            self._write_ssh_config()

    def status(self) -> str:
        """As Vagrant says it, in a word or two. Raises `LabError`."""
        if not self.exists:
            return "not created"
        if self._of_libvirt and not self._libvirt.answers():
            return "shut off (libvirt does not run)"
        said = _STATE.search(self._run("status").out)
        return said[1] if said else "unknown"

    def halt(self, progress: Progress) -> None:
        """Shut it down; its disks stay. Raises `LabError`."""
        self._check_there()
        with (
            self._alone("'make status' says how it stands"),
            progress.stage("shutting down the virtual machine") as stage,
        ):
            if not self._of_libvirt or self._libvirt.answers():
                watch(
                    self._command("halt"), self.folder / "halt.log", stage, _ENDS_WITHIN, "vagrant halt did not succeed"
                )
            files.remove(self._ssh_config)
            if self._of_libvirt:
                self._libvirt.stop()

    def destroy(self, progress: Progress) -> None:
        """Remove it with its disks and all that was made for it; the box stays. Raises `LabError`."""
        if not self.exists and self.has_left:
            self._libvirt.remove()
            return
        self._check_there()
        with self._alone("'make destroy' goes on with it"), progress.stage("removing the virtual machine") as stage:
            if self._of_libvirt:
                self._libvirt.start(progress)
            words = self._command("destroy", "--force")
            watch(words, self.folder / "destroy.log", stage, _ENDS_WITHIN, "vagrant destroy did not succeed")
            if self._of_libvirt:
                self._libvirt.remove()
            for left in (self._ssh_config, self._machine, *self.folder.glob("*.log")):
                files.remove(left)

    def ssh_words(self) -> Sequence[str]:
        """What to call instead of `ssh` to get into it. Raises `LabError` if it is not up."""
        if not self._ssh_config.exists():
            raise LabError("the virtual machine is not up", "'make up' brings it up")
        words = self._libvirt.words if self._of_libvirt else []
        return [*words, "ssh", "-F", str(self._ssh_config)]

    @property
    def _libvirt(self) -> Libvirt:
        return Libvirt(self.folder / "libvirt")

    @property
    def _box(self) -> Box:
        return Box(self.folder / "boxes")

    @property
    def _machine(self) -> Path:
        """What Vagrant knows of it."""
        return self.folder / "machine"

    @property
    def _mark(self) -> Path | None:
        """The file by which Vagrant knows that there is one, in a folder of its provider's name."""
        return next(iter(self._machine.glob("machines/*/*/id")), None)

    @property
    def _ssh_config(self) -> Path:
        return self.folder / "ssh_config"

    @property
    def _of_libvirt(self) -> bool:
        return self.settings.provider == LIBVIRT

    @property
    def _has_own_box(self) -> bool:
        return self._of_libvirt and self.settings.is_own_box

    @contextmanager
    def _alone(self, interrupted: str) -> Iterator[None]:
        """While in it: nobody else brings it up or down; an interrupt says what is left."""
        claim_lab_folder(PROJECT.lab)
        files.make_folder(self.folder)
        try:
            with locked(self.folder / ".lock"), unwinding():
                yield
        except Interrupted:
            raise Interrupted(f"stopped: {interrupted}") from None

    def _answers(self) -> bool:
        probe = Command([*self.ssh_words(), "-oBatchMode=yes", "-oConnectTimeout=30", GUEST, "true"])
        return processes.run(probe, seconds=60, check=False).status == 0

    def _write_ssh_config(self) -> None:
        said = self._run("ssh-config", f"--host={GUEST}").out
        # The lab works as root in there; Vagrant names its own account.
        lines = ["  User root" if line.strip().startswith("User ") else line for line in said.splitlines()]
        files.write_whole(self._ssh_config, "\n".join([*lines, ""]).encode())

    def _driver(self, say: Callable[[str], None]) -> str:
        if not self._of_libvirt:
            return ""
        say("whether it boots under KVM")
        kernel = self._box.kernel if self._has_own_box else None
        return "kvm" if boots_under_kvm(kernel, self.folder) else "qemu"

    def _add_box(self, progress: Progress) -> None:
        """Tell Vagrant of the box, unless it knows this one."""
        note = self.folder / "home/box-added"
        if note.exists() and note.read_text() == self._box.version:
            return
        with progress.stage("adding the box to Vagrant", brief=True) as stage:
            add = self._command("box", "add", "--force", "--name", OWN_BOX, str(self._box.file))
            watch(add, self.folder / "box-add.log", stage, _ENDS_WITHIN, "the box could not be added")
        files.write_whole(note, self._box.version.encode())

    def _check_provider(self) -> None:
        there = self._mark
        if there is not None and there.parent.name != self.settings.provider:
            raise InvalidInput(
                f"the virtual machine is one of {there.parent.name}, not of {self.settings.provider}",
                "'make destroy' with that PROVIDER= removes it",
            )

    def _check_network(self) -> None:
        if self._libvirt.is_own and not self.settings.is_own_box:
            raise InvalidInput(
                f"{self.settings.box} is set up over the network, and guests of the lab's own libvirt have none",
                f"start the system's libvirt ('systemctl start libvirtd'), or take the box {OWN_BOX}",
            )

    def _check_there(self) -> None:
        self._check_provider()
        if not self.exists:
            raise InvalidInput("there is no virtual machine", "'make up' makes one")

    def _require(self, progress: Progress) -> None:
        needs = NEEDS[self.settings.provider]
        missing = [each for program, packages in needs.items() if processes.which(program) is None for each in packages]
        if missing:
            tools_of(PROJECT.lab).install(missing, progress)

    def _command(self, *words: str, driver: str = "") -> Command:
        environment = {
            "HOME": os.environ.get("HOME") or str(self.folder),
            # nsenter does not keep the folder that it was called in.
            "VAGRANT_CWD": str(PROJECT.vagrant),
            "VAGRANT_HOME": str(self.folder / "home"),
            "VAGRANT_DOTFILE_PATH": str(self._machine),
            "VAGRANT_CHECKPOINT_DISABLE": "1",
            "VAGRANT_EXPERIMENTAL": "disks",
            "REDOLAB_VAGRANT_SETTINGS": str(own_settings()),
            **({"REDOLAB_VAGRANT_DRIVER": driver} if driver else {}),
        }
        before = self._libvirt.words if self._of_libvirt else []
        return Command([*before, "vagrant", *words, "--no-tty"], environment=environment)

    def _run(self, *words: str) -> Output:
        return processes.run(self._command(*words))

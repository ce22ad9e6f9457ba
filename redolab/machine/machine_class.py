"""Class of a machine: the properties that two machines share if their times are comparable. Their identities differ."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from redolab.machine.facts import Machine
from redolab.units import format_size

_MEMORY_VARIES = 0.02
"""Share by which the reported memory varies between kernel versions."""


class MachineClass(msgspec.Struct, frozen=True, kw_only=True):
    """Properties that machines share if their times are comparable; memory in bytes."""

    cpu: str
    cores: int
    memory: int
    virtualisation: str
    file_system: str
    """File system under the lab."""

    def in_words(self) -> str:
        """Return a description such as `2 cores of AMD EPYC, 23.5G of memory, ext4, kvm`."""
        hardware = f"{self.cores} cores of {self.cpu}, {format_size(self.memory)} of memory, {self.file_system}"
        return f"{hardware}, {self.virtualisation}" if self.virtualisation else hardware


def machine_classes(machines: Sequence[Machine]) -> list[MachineClass]:
    """Return the class of each of these machines, classified together.

    Memory may differ by 2 % within a class. This relation is not transitive, so two machines alone do not decide if
    they are of one class. Machines linked by others in between are; the least memory of all stands for the class.
    """
    exact = [_exact(machine) for machine in machines]
    stands_for: dict[MachineClass, MachineClass] = {}
    below: MachineClass | None = None
    for each in sorted(set(exact), key=lambda each: (_but_memory(each), each.memory)):
        linked = below is not None and _but_memory(below) == _but_memory(each) and _is_near(below.memory, each.memory)
        stands_for[each] = stands_for[below] if linked and below is not None else each
        below = each
    return [stands_for[each] for each in exact]


def are_of_one_class(one: Machine, other: Machine) -> bool:
    """Return True if two machines are of one class when no others are known."""
    return len(set(machine_classes([one, other]))) == 1


def _exact(machine: Machine) -> MachineClass:
    return MachineClass(
        cpu=machine.cpu,
        cores=machine.cores,
        memory=machine.memory,
        virtualisation=machine.virtualisation,
        file_system=machine.disk.file_system,
    )


def _but_memory(each: MachineClass) -> tuple[str, int, str, str]:
    return each.cpu, each.cores, each.virtualisation, each.file_system


def _is_near(less: int, more: int) -> bool:
    return more - less <= _MEMORY_VARIES * more

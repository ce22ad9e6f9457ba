"""Storages as tables: the profiles there are, and what fio found of them."""

from __future__ import annotations

from collections.abc import Sequence

from redolab.disks.figures import FIGURES, DiskCheck, DiskTarget, Figure, figures_off
from redolab.disks.profiles import ModelledDisk, StorageProfile
from redolab.report.table import Column, ReportTable


def profiles_table(profiles: Sequence[tuple[str, StorageProfile]]) -> ReportTable:
    """Return the table of all profiles with their targets."""
    columns = [
        Column[tuple[str, StorageProfile]]("storage", lambda entry: entry[0]),
        Column[tuple[str, StorageProfile]]("kind", lambda entry: entry[1].family),
        *(_asked_column(figure) for figure in FIGURES if any(_promised(profile, figure) for _, profile in profiles)),
        Column[tuple[str, StorageProfile]]("stands for", lambda entry: entry[1].about),
    ]
    note = (
        "Blank figures are not promised: they follow from the model's queues, mirrors and caches. "
        "Sources: provision/storage.toml."
    )
    return ReportTable.of("Storage profiles", profiles, columns, [note])


def disks_table(checks: Sequence[DiskCheck], machines: Sequence[str] = ()) -> ReportTable:
    """Return the table of storages with targets and measurements.

    `machines`: the machine of each check; a column names it if there are several.
    """
    names = {id(check): name for check, name in zip(checks, machines, strict=False)}
    on = [Column[DiskCheck]("machine", lambda check: names[id(check)])] if len(set(machines)) > 1 else []
    columns = [
        *on,
        Column[DiskCheck]("storage", lambda check: check.storage),
        Column[DiskCheck]("I/O scheduler", lambda check: check.scheduler or "–"),
        *(_both_column(figure) for figure in FIGURES),
        Column[DiskCheck](
            "read p50, p99 us", lambda check: f"{check.got.read.p50_us:,.0f}, {check.got.read.p99_us:,.0f}", right=True
        ),
        Column[DiskCheck](
            "off by over 10 %", lambda check: ", ".join(figure.name for figure in figures_off(check)) or "–"
        ),
    ]
    notes = [
        "Each figure as asked → as fio found it right before the recoveries; without a target, only fio's figure is shown. Random reads "
        "and writes are of 16 KiB, sequential reads of 1 MiB, 4 at a time; those in order are of 32 KiB with gaps as long, 32 at a time; "
        "an append is 512 bytes and its sync."
    ]
    overheads = sorted({check.overhead_us for check in checks if check.overhead_us is not None})
    if overheads:
        least = "" if len(overheads) == 1 else f"{overheads[0]:.0f} to "
        notes.append(
            f"The disk model itself takes {least}{overheads[-1]:.0f} us a request on this machine, which is taken off its latencies: "
            "it cannot be quicker than that."
        )
    return ReportTable.of("Disks", checks, columns, notes)


def disk_dictionaries(checks: Sequence[DiskCheck], machines: Sequence[str]) -> list[dict[str, object]]:
    """Return the measurements for CSV, one row a figure."""
    return [
        {
            "machine": machine,
            "storage": check.storage,
            "figure": figure.name,
            "unit": figure.unit,
            "asked": figure.asked(check.asked),
            "got": figure.got(check.got),
            "off": figure.error(check),
        }
        for check, machine in zip(checks, machines, strict=True)
        for figure in FIGURES
    ]


def marks(checks: Sequence[DiskCheck]) -> dict[str, dict[str, str]]:
    """Return, for each storage with inaccurate figures, the column of each such figure with its name and error."""
    return {
        check.storage: {figure.column: f"{figure.name} {figure.error(check):+.0%}" for figure in figures_off(check)}
        for check in checks
        if figures_off(check)
    }


def _promised(profile: StorageProfile, figure: Figure) -> float | None:
    return figure.asked(profile.target() if isinstance(profile, ModelledDisk) else DiskTarget())


def _asked_column(figure: Figure) -> Column[tuple[str, StorageProfile]]:
    def cell(entry: tuple[str, StorageProfile]) -> str:
        value = _promised(entry[1], figure)
        return "–" if value is None else f"{value:,.0f}"

    return Column(f"{figure.name}, {figure.unit}", cell, right=True)


def _both_column(figure: Figure) -> Column[DiskCheck]:
    def cell(check: DiskCheck) -> str:
        asked, got = figure.asked(check.asked), figure.got(check.got)
        if got is None:
            return "–"
        target = "" if asked is None else f"{asked:,.0f} → "
        return f"{target}{got:,.0f}{'!' * (figure in figures_off(check))}"

    return Column(f"{figure.name}, {figure.unit}", cell, right=True)

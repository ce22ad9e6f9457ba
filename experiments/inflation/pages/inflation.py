"""The page of what each server's `Innodb_os_log_written` counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.models.inflation import Counted
from redolab.report.contents import Page, Plot
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, number
from redolab.report.template import filled
from redolab.runs.store import Run

from ..plots import NEAR, plot_layers, plot_ratio
from ..report import found_in
from ..table import CountedServer, alike_in_words, answer

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """The page of the last run kept for it, and its pictures."""
    run = runs[-1]
    found = found_in(run)
    off = [row.off for of_server in found for row in of_server.rows if row.off is not None]
    session = run.record().sessions[0]
    values = {
        "answer": answer(found),
        "servers": _servers(found).as_markdown(),
        "meanings": alike_in_words(found),
        "cells": len(off),
        "near": sum(abs(each) <= NEAR for each in off),
        "worst": max(off, key=abs),
        "machine": f"{session.machine.in_words()}, {session.machine.system}",
        "date": f"{session.began:%Y-%m-%d}",
    }
    plots = [Plot("layers", partial(plot_layers, found=found)), Plot("ratio", partial(plot_ratio, found=found))]
    return Page(filled(_TEMPLATE, values), plots)


def _servers(found: Sequence[CountedServer]) -> ReportTable:
    """A row a server: its first cell, and how far its cells go."""
    columns = [
        Column[CountedServer]("server", lambda of: server_label(of.server, of.rows[0].version)),
        Column[CountedServer]("counts", _counts),
        Column[CountedServer]("first cell", lambda of: number(of.rows[0].os_log_written_per_lsn_byte), right=True),
        Column[CountedServer]("all cells", _range, right=True),
        Column[CountedServer]("model off by at most", _worst, right=True),
        Column[CountedServer]("device, first cell", lambda of: number(of.rows[0].device_per_lsn_byte), right=True),
        Column[CountedServer]("cells", lambda of: str(len(of.rows)), right=True),
        Column[CountedServer]("trials each", lambda of: str(of.rows[0].n), right=True),
    ]
    return ReportTable.of("Servers", found, columns, ())


def _counts(of: CountedServer) -> str:
    if of.counted is None:
        return "not known"
    return "the LSN" if of.counted is Counted.LSN else str(of.counted)


def _range(of: CountedServer) -> str:
    ratios = [row.os_log_written_per_lsn_byte for row in of.rows]
    return f"{min(ratios):.2f}–{max(ratios):.2f}"


def _worst(of: CountedServer) -> str:
    off = [row.off for row in of.rows if row.off is not None]
    return f"{max(off, key=abs):+.1%}" if off else "–"

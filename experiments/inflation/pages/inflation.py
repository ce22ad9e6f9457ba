"""The page of what each server's `Innodb_os_log_written` counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from redolab.models.inflation import Counted
from redolab.report.contents import Page, Plot
from redolab.report.numbers import number, percent, span
from redolab.report.table import Column, ReportTable
from redolab.report.template import filled
from redolab.runs.store import Run

from ..report import NEAR, CountedServer, answer, counted_servers, meaning, plot_layers, plot_ratio

_TEMPLATE = Path(__file__).with_suffix(".md")


def page(runs: Sequence[Run]) -> Page:
    """Return the page of the last run kept for it, and its pictures."""
    run = runs[-1]
    servers = counted_servers(run)
    errors = [cell.error for each in servers for cell in each.cells if cell.error is not None]
    session = run.record().sessions[0]
    meanings = {each.counted: [of.label for of in servers if of.counted == each.counted] for each in servers}
    values = {
        "answer": answer(servers),
        "servers": _table(servers).as_markdown(),
        "meanings": [f"{', '.join(labels)} count {meaning(counted)}." for counted, labels in meanings.items()],
        "cells": len(errors),
        "near": sum(abs(each) <= NEAR for each in errors),
        "worst": max(errors, key=abs),
        "machine": f"{session.machine.in_words()}, {session.machine.system}",
        "date": f"{session.began:%Y-%m-%d}",
    }
    plots = [Plot("layers", partial(plot_layers, servers=servers)), Plot("ratio", partial(plot_ratio, servers=servers))]
    return Page(filled(_TEMPLATE, values), plots)


def _table(servers: Sequence[CountedServer]) -> ReportTable:
    """A row a server: its first cell, and how far its cells go."""
    columns = [
        Column[CountedServer]("server", lambda of: of.label),
        Column[CountedServer]("counts", _counts),
        Column[CountedServer]("first cell", lambda of: number(of.ratios[0]), right=True),
        Column[CountedServer]("all cells", lambda of: span(of.ratios, between="–"), right=True),
        Column[CountedServer]("model off by at most", lambda of: percent(of.worst), right=True),
        Column[CountedServer]("device, first cell", lambda of: number(of.cells[0].device), right=True),
        Column[CountedServer](
            "log_padded, up to", lambda of: number(max(of.grown("log_padded"), default=None)), right=True
        ),
        Column[CountedServer]("file layer", lambda of: span(of.grown("file_bytes", over="os_log_written")), right=True),
        Column[CountedServer]("cells", lambda of: str(len(of.cells)), right=True),
        Column[CountedServer]("trials each", lambda of: str(len(of.cells[0].trials)), right=True),
    ]
    return ReportTable.of("Servers", servers, columns, ())


def _counts(of: CountedServer) -> str:
    if of.counted is None:
        return "not known"
    return "the LSN" if of.counted is Counted.LSN else str(of.counted)

"""The inflation table: one row a cell, and in words what each server's counter counts."""

from __future__ import annotations

import statistics
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from redolab.models.counted import predicted, what_is_counted
from redolab.models.inflation import Counted, LogWriter
from redolab.report.labels import server_label
from redolab.report.table import Column, ReportTable, number

from .trial import InflationCell, InflationTrial

_FEW = 4
"""Up to so many servers are told one by one."""
_SAME = 0.005
_REWRITES = 1.1
_WORSE = 0.05
"""Beyond this the note under the table names the row."""


@dataclass(frozen=True, slots=True)
class InflationRow:
    """One cell on one server: medians of `n` trials. Everything `per_lsn_byte` is bytes for each byte of LSN."""

    server: str
    version: str
    flush_log_at_trx_commit: int
    threads: int
    row_bytes: int
    rows_per_transaction: int
    binary_log: bool
    n: int
    commits_per_s: float
    lsn_per_commit_bytes: float
    lsn_per_log_write_bytes: float
    """r."""
    os_log_written_per_lsn_byte: float
    os_log_written_min: float
    os_log_written_max: float
    predicted_per_lsn_byte: float | None
    """What the model gives for r; None where no measurement tells what the counter counts."""
    log_padded_per_lsn_byte: float | None
    file_layer_per_lsn_byte: float | None
    device_per_lsn_byte: float | None
    counted: str

    @property
    def off(self) -> float | None:
        """By which share of the measured ratio the predicted one is off."""
        if self.predicted_per_lsn_byte is None:
            return None
        return self.predicted_per_lsn_byte / self.os_log_written_per_lsn_byte - 1


@dataclass(frozen=True, slots=True)
class CountedServer:
    """What the measurements of one server say of its counter."""

    server: str
    writer: LogWriter
    counted: Counted | None
    rows: Sequence[InflationRow]
    why_blank: dict[str, str]


def counted_servers(trials: Sequence[InflationTrial], order: Sequence[InflationCell] = ()) -> list[CountedServer]:
    """The rows of each server, cells in the order given and others as they were measured, with what its counter counts."""
    by_server: dict[str, list[InflationTrial]] = defaultdict(list)
    for trial in trials:
        by_server[trial.server].append(trial)
    return [_counted_server(name, each, order) for name, each in by_server.items()]


def _counted_server(server: str, trials: Sequence[InflationTrial], order: Sequence[InflationCell]) -> CountedServer:
    writer = trials[0].log_writer
    counted = what_is_counted(writer, [trial.growth for trial in trials])
    cells: dict[InflationCell, list[InflationTrial]] = defaultdict(list)
    for trial in trials:
        cells[trial.cell].append(trial)
    ranks = {cell: place for place, cell in enumerate(order)}
    rows = [_row(cells[cell], counted) for cell in sorted(cells, key=lambda cell: ranks.get(cell, len(ranks)))]
    why_blank = {layer: why for trial in trials for layer, why in trial.why_blank.items()}
    return CountedServer(server, writer, counted, rows, why_blank)


def _row(trials: Sequence[InflationTrial], counted: Counted | None) -> InflationRow:
    first = trials[0]
    cell = first.cell

    def median(of: Callable[[InflationTrial], float]) -> float:
        return statistics.median(of(trial) for trial in trials)

    def per_lsn_byte(layer: str) -> float | None:
        grown = [(trial.grown(layer), trial.growth.lsn) for trial in trials]
        known = [bytes_ / lsn for bytes_, lsn in grown if bytes_ is not None]
        return statistics.median(known) if known else None

    ratios = [trial.growth.ratio for trial in trials]
    return InflationRow(
        server=first.server,
        version=first.version,
        flush_log_at_trx_commit=cell.trx_commit,
        threads=cell.threads,
        row_bytes=cell.row_bytes,
        rows_per_transaction=cell.rows_per_transaction,
        binary_log=cell.binary_log,
        n=len(trials),
        commits_per_s=median(lambda trial: trial.commits / trial.seconds),
        lsn_per_commit_bytes=median(lambda trial: trial.growth.lsn / trial.commits),
        lsn_per_log_write_bytes=median(lambda trial: trial.growth.lsn_per_log_write),
        os_log_written_per_lsn_byte=statistics.median(ratios),
        os_log_written_min=min(ratios),
        os_log_written_max=max(ratios),
        predicted_per_lsn_byte=(
            None if counted is None else median(lambda trial: predicted(trial.log_writer, counted, trial.growth))
        ),
        log_padded_per_lsn_byte=per_lsn_byte("log_padded"),
        file_layer_per_lsn_byte=per_lsn_byte("file_bytes"),
        device_per_lsn_byte=per_lsn_byte("device_bytes"),
        counted=counted or "",
    )


def _stretches(n: str) -> str:
    return "one stretch of inserts each" if n == "1" else f"{n} stretches of inserts each"


def _bytes(value: float) -> str:
    return f"{value:,.0f}"


def _measured(row: InflationRow) -> str:
    return (
        f"{row.os_log_written_per_lsn_byte:.2f} ({row.os_log_written_min:.2f}–{row.os_log_written_max:.2f}) of {row.n}"
    )


def _cell_columns() -> list[Column[InflationRow]]:
    """The columns that say which cell it is, each said once where all rows share it."""
    return [
        Column("server", _server, shared=str),
        Column("trx_commit", lambda row: str(row.flush_log_at_trx_commit), right=True, shared="trx_commit {}".format),
        Column("clients", lambda row: str(row.threads), right=True, shared=_clients),
        Column("row, B", lambda row: str(row.row_bytes), right=True, shared="rows of {} bytes".format),
        Column(
            "rows/trx", lambda row: str(row.rows_per_transaction), right=True, shared="rows in a transaction: {}".format
        ),
        Column("binlog", lambda row: "on" if row.binary_log else "off", shared="binary log {}".format),
    ]


_LAYERS = [
    Column[InflationRow]("commits/s", lambda row: _bytes(row.commits_per_s), right=True),
    Column[InflationRow]("LSN B/commit", lambda row: _bytes(row.lsn_per_commit_bytes), right=True),
    Column[InflationRow]("r, LSN B/log write", lambda row: _bytes(row.lsn_per_log_write_bytes), right=True),
    Column[InflationRow]("os_log_written/LSN: median (min–max) of n", _measured, right=True),
    Column[InflationRow]("model", lambda row: number(row.predicted_per_lsn_byte), right=True),
    Column[InflationRow]("off", lambda row: "–" if row.off is None else f"{row.off:+.1%}", right=True),
    Column[InflationRow]("log_padded/LSN", lambda row: number(row.log_padded_per_lsn_byte), right=True),
    Column[InflationRow]("file layer/LSN", lambda row: number(row.file_layer_per_lsn_byte), right=True),
    Column[InflationRow]("device/LSN", lambda row: number(row.device_per_lsn_byte), right=True),
]
_BRIEF = [
    Column[InflationRow]("r", lambda row: _bytes(row.lsn_per_log_write_bytes), right=True),
    Column[InflationRow]("os_log_written", lambda row: number(row.os_log_written_per_lsn_byte), right=True),
    Column[InflationRow](
        "min–max", lambda row: f"{row.os_log_written_min:.2f}–{row.os_log_written_max:.2f}", right=True, spare=True
    ),
    Column[InflationRow]("model", lambda row: number(row.predicted_per_lsn_byte), right=True),
    Column[InflationRow]("off", lambda row: "–" if row.off is None else f"{row.off:+.1%}", right=True),
    Column[InflationRow]("device", lambda row: number(row.device_per_lsn_byte), right=True),
    Column[InflationRow]("n", lambda row: str(row.n), right=True, shared=_stretches),
]


def answer(found: Sequence[CountedServer]) -> str:
    """How far os_log_written is from the LSN, in the first cell of each server."""
    rows = [of_server.rows[0] for of_server in found]
    if not rows:
        return "Nothing was measured."
    told = (
        ", ".join(f"{row.os_log_written_per_lsn_byte:.2f} on {_server(row)}" for row in rows)
        if len(rows) <= _FEW
        else "{:.2f} ({}) to {:.2f} ({})".format(
            *(
                part
                for pick in (min, max)
                for row in [pick(rows, key=lambda each: each.os_log_written_per_lsn_byte)]
                for part in (row.os_log_written_per_lsn_byte, _server(row))
            )
        )
    )
    first = rows[0]
    clients = _clients(str(first.threads))
    return (
        f"Innodb_os_log_written for each byte of LSN: {told} ({clients}, rows of {first.row_bytes} bytes, "
        f"innodb_flush_log_at_trx_commit={first.flush_log_at_trx_commit})."
    )


def inflation_table(found: Sequence[CountedServer]) -> ReportTable:
    """The table that everybody is shown, with what every server's counter counts in words."""
    rows = [row for of_server in found for row in of_server.rows]
    notes = [
        "os_log_written and device: bytes for each byte of LSN, in the same stretch of inserts. 'r': bytes of LSN in a write of the "
        "log. 'model': the formula of docs/inflation.md for r; 'off': its distance from the median measured."
    ]
    notes += [in_words(of_server) for of_server in found]
    worst = [row for row in rows if row.off is not None and abs(row.off) > _WORSE]
    notes += [
        f"{_server(row)}, trx_commit {row.flush_log_at_trx_commit}, {row.threads} clients, rows of {row.row_bytes} B: the model is "
        f"off by {row.off:+.1%}; docs/inflation.md says where it stops."
        for row in worst
    ]
    return ReportTable.brief("Redo log writes", rows, [*_cell_columns(), *_BRIEF], notes)


def layers_table(found: Sequence[CountedServer]) -> ReportTable:
    """Every layer of every cell."""
    rows = [row for of_server in found for row in of_server.rows]
    notes = [
        "Layers in bytes for each byte by which the LSN grew; each layer's count is of the same stretch of inserts."
    ]
    return ReportTable.of("Layers", rows, [*_cell_columns(), *_LAYERS], notes)


def _clients(count: str) -> str:
    return "one client" if count == "1" else f"{count} clients"


def _server(row: InflationRow) -> str:
    return server_label(row.server, row.version)


def in_words(of_server: CountedServer) -> str:
    """What a server's `Innodb_os_log_written` counts, as one would tell it a DBA."""
    rows = of_server.rows
    name = _server(rows[0])
    if of_server.counted is None:
        return f"{name}: no cell of this run rewrites blocks, so nothing tells what its os_log_written counts."
    return f"{name}: {_whole_meaning(of_server)}"


def alike_in_words(found: Sequence[CountedServer]) -> list[str]:
    """The same without the figures of a table beside it, servers whose counters mean the same in one."""
    names: dict[str, list[str]] = defaultdict(list)
    for each in found:
        words = "nothing tells what it counts." if each.counted is None else _whole_meaning(each, spans=False)
        names[words].append(_server(each.rows[0]))
    return [f"{', '.join(own)}: {words}" for words, own in names.items()]


def _whole_meaning(of_server: CountedServer, *, spans: bool = True) -> str:
    """What the counter counts, and why layers are blank; `spans`: with how far it is from the LSN."""
    sentences = [_meaning(of_server, spans=spans)]
    if "file layer" in of_server.why_blank:
        sentences.append(f"File layer blank: {of_server.why_blank['file layer']}.")
    if "device" in of_server.why_blank:
        sentences.append(f"Device blank: {of_server.why_blank['device']}.")
    return " ".join(sentences)


def _span(low: float, high: float) -> str:
    """As in `1.00 to 5.87`, or `1.00` where both are printed alike."""
    shown = dict.fromkeys((f"{low:.2f}", f"{high:.2f}"))
    return " to ".join(shown)


def _meaning(of_server: CountedServer, *, spans: bool) -> str:
    rows = of_server.rows
    low, high = (pick(row.os_log_written_per_lsn_byte for row in rows) for pick in (min, max))
    if of_server.counted is Counted.LSN:
        device = max((row.device_per_lsn_byte or 0 for row in rows), default=0)
        many = f"{device:.1f}" if spans else f"{device:.0f}"
        paid = f" The device still paid: up to {many} bytes for each byte of LSN." if device > _REWRITES else ""
        every = f" ({_span(low, high)} in every cell)" if spans else ""
        return (
            f"os_log_written is the LSN under another name{every}, true as the redo that you "
            f"generate, and blind to the rewriting of blocks.{paid}"
        )
    span = f" ({_span(low, high)} times the LSN)" if spans else ""
    padded = [row.log_padded_per_lsn_byte for row in rows if row.log_padded_per_lsn_byte]
    if of_server.counted is Counted.BLOCKS_AND_PADDING:
        told = (
            f"log_padded counts them, up to {max(padded):.2f} for each byte of LSN" if padded else "no counter has them"
        )
        meaning = (
            "os_log_written counts 512-byte blocks, each rewriting included, and the zeros with which it fills up the "
            f"{of_server.writer.write_ahead} bytes it writes ahead{span}; {told}."
        )
    else:
        meaning = f"os_log_written counts 512-byte blocks, each rewriting included{span}."
        if padded and max(padded) > _SAME:
            meaning += (
                " The zeros of writing ahead are not in it: log_padded has them, "
                f"up to {max(padded):.2f} for each byte of LSN."
            )
        elif of_server.writer.write_ahead:
            meaning += (
                " It says that it padded nothing." if of_server.rows[0].log_padded_per_lsn_byte is not None else ""
            )
    return meaning + _against_file_layer(rows)


def _against_file_layer(rows: Sequence[InflationRow]) -> str:
    """How the file layer stands to the counter, where it stands in one way in every cell."""
    pairs = [
        (row.file_layer_per_lsn_byte, row.os_log_written_per_lsn_byte, row.log_padded_per_lsn_byte or 0.0)
        for row in rows
        if row.file_layer_per_lsn_byte is not None
    ]
    ways: list[tuple[str, Callable[[float, float], float]]] = [
        (" The file layer saw the same.", lambda written, _: written),
        (" The file layer saw the two together.", lambda written, padded: written + padded),
        (
            " The file layer says twice that: this version's instrumentation counts each write of the log two times.",
            lambda written, _: 2 * written,
        ),
    ]
    for words, expected in ways:
        if pairs and all(abs(file / expected(written, padded) - 1) < _SAME for file, written, padded in pairs):
            return words
    return ""


def row_dictionaries(rows: Sequence[InflationRow]) -> list[dict[str, object]]:
    """The rows as CSV and Parquet take them."""
    return [{**asdict(row), "off": row.off} for row in rows]

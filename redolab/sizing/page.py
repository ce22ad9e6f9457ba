"""The report: one HTML page that opens from disk without a network, with what was measured and a calculator."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import jinja2
import markdown_it
import msgspec
import scipy

from redolab.errors import LabError
from redolab.models.capacity import PAGE_SIZE
from redolab.models.recovery_time.stuck import THREAD_CLASSES
from redolab.models.recovery_time.work import CROWDED, ROOMY, SURE_OF_ONE_BATCH
from redolab.models.sizes import SMALLEST_POOL
from redolab.models.sizing import SHOWN, possible_sizes
from redolab.report.labels import server_label
from redolab.report.table import ReportTable
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Dialect
from redolab.sizing.asking import model_of, slowest_workload
from redolab.sizing.calibration import Calibration
from redolab.sizing.crash import worst_age
from redolab.sizing.errors import ALL_SERVERS, ErrorRow, errors_table
from redolab.sizing.extrapolation import BEYOND, storages_of_family
from redolab.sizing.paste import Lines, templates
from redolab.sizing.predicting import rests_on
from redolab.sizing.question import Model, Question
from redolab.sizing.stuck import chance_for, chance_in_words
from redolab.storage.profiles import HOME
from redolab.units import GIB

_WEB = Path(__file__).parent / "web"
_UPPER_END = 0.95
"""Quantile at which the 90 % interval ends."""
_ANSWER = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[.*?\]\((\S+\.svg)\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# Names in it come from runs, which may be anybody's: tags are text.
_MARKDOWN = markdown_it.MarkdownIt("commonmark", {"html": False}).enable("table")


@dataclass(frozen=True, slots=True)
class Section:
    """A page of results in short: its title, its answer and its picture (SVG in base64)."""

    title: str
    answer: str
    picture: str


def html_page(
    calibration: Calibration,
    errors: Sequence[ErrorRow],
    results: Iterable[Path],
    published: ReportTable,
    *,
    is_shipped: bool = True,
) -> str:
    """The page: the calculator of a calibration, errors, the answers of pages of results, and the published figures.

    `is_shipped`: the calibration is the one that comes with redolab, whose errors they are.
    """
    environment = jinja2.Environment(undefined=jinja2.StrictUndefined, autoescape=False)
    return environment.from_string((_WEB / "page.html").read_text()).render(
        is_shipped=is_shipped,
        machine=html.escape(calibration.machine.in_words()),
        made=f"{calibration.made:%Y-%m-%d}",
        errors=_as_html(errors_table([row for row in errors if row.server == ALL_SERVERS])),
        errors_by_server=_as_html(errors_table([row for row in errors if row.server != ALL_SERVERS])),
        sections=[section for path in results if (section := _section(path)) is not None],
        published=_as_html(published),
        # Within a script element, a tag or a comment in a string would end it or go on behind it.
        data=msgspec.json.encode(calculator_data(calibration)).decode().replace("<", r"\u003c"),
        script=(_WEB / "calculator.js").read_text(),
    )


def calculator_data(calibration: Calibration) -> Mapping[str, object]:
    """What the calculator works with: the coefficients, and for each server what a log of each size holds."""
    sizes = possible_sizes(0, 512 * GIB)
    return {
        "page_size": PAGE_SIZE,
        "roomy": ROOMY,
        "crowded": CROWDED,
        "sure_of_one_batch": SURE_OF_ONE_BATCH,
        "beyond": BEYOND,
        "smallest_pool": SMALLEST_POOL,
        "home": HOME,
        "sizes": sizes,
        "shown": SHOWN,
        "spreads": calibration.spreads.by_redo,
        "quantiles": _quantiles(calibration, stuck=0.0),
        "thread_classes": THREAD_CLASSES,
        "storages": calibration.storages,
        "servers": {name: _server(calibration, name, sizes) for name in calibration.servers},
    }


def _server(calibration: Calibration, name: str, sizes: Sequence[int]) -> Mapping[str, object]:
    server, dialect = calibration.servers[name], server_catalogue().get(name).dialect()
    possible = [dialect.smallest_log <= size <= dialect.largest_log for size in sizes]
    models = {
        workload: model_of(
            Question(server=name, storage=each.storages[0], pool=GIB, workload=workload), calibration, each.storages[0]
        )
        for workload, each in server.workloads.items()
    }
    first = next(iter(models.values()))
    return {
        "label": server_label(name, server.version),
        "storages_of_family": storages_of_family(calibration, server.family),
        "slowest": slowest_workload(server),
        "stuck": {
            workload: {least: _stuck(calibration, model.with_read_threads(least)) for least in THREAD_CLASSES}
            for workload, model in models.items()
        },
        "workloads": {
            workload: {**msgspec.to_builtins(server.workloads[workload]), "rests_on": rests_on(model)}
            for workload, model in models.items()
        },
        "ages": [worst_age(first, size) if can else None for size, can in zip(sizes, possible, strict=True)],
        **_lines(dialect),
    }


def _stuck(calibration: Calibration, model: Model) -> Mapping[str, object]:
    """How likely a recovery in several batches gets stuck, in words, and what that leaves for those that end."""
    chance = chance_for(model)
    return {
        "said": None if chance is None else chance_in_words(chance),
        "quantiles": _quantiles(calibration, 0.0 if chance is None else chance.mean),
    }


def _quantiles(calibration: Calibration, stuck: float) -> Mapping[int, float] | None:
    """Number of crashes → Student's t below which recoveries that end are, so that with those that get stuck 95 % end; None if fewer do."""
    share = _UPPER_END / (1 - stuck) if stuck < 1 else 1.0
    if share >= 1:
        return None
    counts = {spread.count for spread in calibration.spreads.by_redo.values()}
    return {count: float(scipy.stats.t.ppf(share, max(1, count))) for count in counts}


def _lines(dialect: Dialect) -> Mapping[str, object]:
    """The lines to paste as `redolab size` has them, with places for the size of the log and for half of it, which two files have each."""
    size = 2 * GIB
    places = {str(size): "{size}", str(size // 2): "{half}"}

    def with_places(text: str) -> str:
        return re.sub(r"\d{9,}", lambda match: places.get(match[0], match[0]), text)

    def told(is_enough: bool) -> list[Lines]:
        return [
            msgspec.structs.replace(each, lines=tuple(with_places(line) for line in each.lines))
            for each in templates(dialect, size, is_enough=is_enough)
        ]

    return {"start_timeout_s": dialect.start_timeout.least_s, "enough": told(True), "raised": told(False)}


def _section(path: Path) -> Section | None:
    """A page of results in short; None of one without an answer and a picture. Raises `LabError` if the picture is gone."""
    text = path.read_text()
    title, answer, picture = _TITLE.search(text), _ANSWER.search(text), _PICTURE.search(text)
    if title is None or answer is None or picture is None:
        return None
    drawn = path.with_name(picture[1])
    if not drawn.exists():
        raise LabError(f"{path} has no picture {drawn.name}", f"'redolab results {path.stem}' draws it")
    in_words = _MARKDOWN.renderInline(" ".join(answer[1].split()))
    return Section(html.escape(title[1]), in_words, base64.b64encode(drawn.read_bytes()).decode())


def _as_html(table: ReportTable) -> str:
    """The table in a box of its own, in which it scrolls where the screen is narrow."""
    label = html.escape(table.title, quote=True)
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{_MARKDOWN.render(table.as_markdown())}</div>'

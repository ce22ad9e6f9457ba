"""The report: one HTML page with results and a calculator, which opens from disk without a network."""

from __future__ import annotations

import base64
import html
import math
import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Generic, TypeVar

import jinja2
import markdown_it
import msgspec
import scipy

from redolab.errors import InvalidInput, LabError
from redolab.models.recovery_time.spread import Spread, interval
from redolab.models.recovery_time.stuck import THREAD_CLASSES
from redolab.models.sizing import SHOWN, possible_sizes
from redolab.report.labels import server_label
from redolab.report.table import ReportTable
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Dialect
from redolab.sizing.asking import model_of, slowest_workload
from redolab.sizing.calibration import Calibration
from redolab.sizing.crash import may_take_batches, worst_age
from redolab.sizing.errors import ALL_SERVERS, ErrorRow, errors_table
from redolab.sizing.paste import Lines, templates
from redolab.sizing.predicting import rests_on
from redolab.sizing.question import Model, Question
from redolab.sizing.recovery import recovery_at
from redolab.sizing.reservations import reservations_at
from redolab.sizing.stuck import chance_for
from redolab.units import GIB, MIB

K = TypeVar("K", bound=Hashable)

_WEB = Path(__file__).parent / "web"
_UPPER_END = 0.95
"""Quantile at which the 90 % interval ends."""
_ANSWER = re.compile(r"^\*\*(.+?)\*\*", re.MULTILINE | re.DOTALL)
_PICTURE = re.compile(r"!\[.*?\]\((\S+\.svg)\)")
_TITLE = re.compile(r"^# (.+)$", re.MULTILINE)
# Names in it come from runs, which may be anybody's: escape their tags.
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
    """Return the page: the calculator of a calibration, errors, the answers of pages of results, and the published
    figures.

    `is_shipped`: the calibration is the one that comes with redolab, which the errors belong to.
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
        # Escape `<`: a tag or a comment in a string would end the script element or continue behind it.
        data=msgspec.json.encode(calculator_data(calibration)).decode().replace("<", r"\u003c"),
        script=(_WEB / "calculator.js").read_text(),
    )


_POOLS = tuple(2**step * 128 * MIB for step in range(12))
"""Buffer pools that the calculator knows: 128M to 256G."""
_LARGE = tuple(gib * GIB for gib in (12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512))
"""Log sizes beyond 8G in the calculator; below, it has all that `redolab size` considers."""
_DIGITS = 7


def calculator_data(calibration: Calibration) -> Mapping[str, object]:
    """Return the predictions for the calculator: for every server, kind of redo, storage, pool and log size."""
    sizes = [*possible_sizes(0, 8 * GIB), *_LARGE]
    return {
        "sizes": sizes,
        "shown": SHOWN,
        "pools": _POOLS,
        "thread_classes": THREAD_CLASSES,
        "storages": {name: storage.about for name, storage in calibration.storages.items()},
        "servers": {name: _server(calibration, name, sizes) for name in calibration.servers},
    }


def _server(calibration: Calibration, name: str, sizes: Sequence[int]) -> Mapping[str, object]:
    server, dialect = calibration.servers[name], server_catalogue().get(name).dialect()
    possible = [size for size in sizes if dialect.smallest_log <= size <= dialect.largest_log]
    hard_limits = [dialect.capacity(dialect.layout(size)).hard_limit for size in possible]
    return {
        "label": server_label(name, server.version),
        "slowest": slowest_workload(server),
        "first": sizes.index(possible[0]),
        "ages": hard_limits,
        "workloads": {workload: _workload(calibration, name, workload, possible) for workload in server.workloads},
        **_lines(dialect),
    }


def _workload(calibration: Calibration, server: str, workload: str, sizes: Sequence[int]) -> Mapping[str, object]:
    """Return the calculator's data of a server under a workload; nested lists are by pool, then by log size."""
    storages: dict[str, Mapping[str, object]] = {}
    bounds, said = _Numbered[tuple[Spread, ...]](), _Numbered[str]()
    measured = calibration.servers[server].workloads[workload].storages[0]
    for storage in calibration.storages:
        try:
            model = _model(calibration, server, workload, storage)
        except InvalidInput as error:
            storages[storage] = {"refused": f"{error.problem}: {error.remedy}"}
            continue
        pools = []
        for pool in _POOLS:
            found = [recovery_at(model.with_pool(pool), size) for size in sizes]
            ready = [_rounded(each.seconds) for each in found]
            pools.append({"ready": ready, "bounds": bounds.number(tuple(each.spread for each in found))})
        warnings = [said.number(each) for each in model.warnings]
        storages[storage] = {"pools": pools, "said": warnings, "rests": rests_on(model)}
    model = _model(calibration, server, workload, measured)
    chances = [chance_for(model.with_read_threads(least)) for least in THREAD_CLASSES]
    stuck = tuple(0.0 if chance is None else chance.mean for chance in chances)
    return {
        "storages": storages,
        "one_batch": [_surely_one_batch(model.with_pool(pool), sizes) for pool in _POOLS],
        "bounds": [[_ends(spread, stuck) for spread in each] for each in bounds.known],
        "reservations": [
            [
                [
                    [
                        said.number(each)
                        for each in reservations_at(model.with_pool(pool).with_read_threads(least), size)
                    ]
                    for least in THREAD_CLASSES
                ]
                for size in sizes
            ]
            for pool in _POOLS
        ],
        "said": said.known,
    }


def _model(calibration: Calibration, server: str, workload: str, storage: str) -> Model:
    """Return the model of a server. Raises `InvalidInput` for an unknown storage."""
    return model_of(Question(server=server, storage=storage, pool=_POOLS[0], workload=workload), calibration, storage)


def _surely_one_batch(model: Model, sizes: Sequence[int]) -> int:
    """Return the number of the smallest logs that certainly take one batch after the worst crash."""
    return sum(not may_take_batches(model, worst_age(model, size)) for size in sizes)


class _Numbered(Generic[K]):
    """Values that are written once, and referred to by number."""

    def __init__(self) -> None:
        self._numbers: dict[K, int] = {}

    def number(self, thing: K) -> int:
        """Return the number of a value."""
        return self._numbers.setdefault(thing, len(self._numbers))

    @property
    def known(self) -> list[K]:
        """All values, each at its number."""
        return list(self._numbers)


@cache
def _ends(spread: Spread, stuck: tuple[float, ...]) -> tuple[float | None, ...]:
    """Return multiples of the prediction: both ends of the 90 % interval, and a 95 % upper bound for each value of
    `stuck`.

    Recoveries that end must be faster to make up for stuck ones. None if fewer than 95 % end.
    """
    within: list[float | None] = []
    for chance in stuck:
        share = _UPPER_END / (1 - chance) if chance < 1 else 1.0
        reach = None if share >= 1 else float(scipy.stats.t.ppf(share, max(1, spread.count)))
        within.append(None if reach is None else _rounded(math.exp(reach * spread.scale_above)))
    return *(_rounded(end) for end in interval(1.0, spread, 2 * _UPPER_END - 1)), *within


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _lines(dialect: Dialect) -> Mapping[str, object]:
    """Return the lines to paste as in `redolab size`, with placeholders for the log size and half of it."""
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
    """Return a page of results in short; None without an answer and a picture.

    Raises `LabError` if the picture is gone.
    """
    text = path.read_text()
    title, answer, picture = _TITLE.search(text), _ANSWER.search(text), _PICTURE.search(text)
    if title is None or answer is None or picture is None:
        return None
    drawn = path.with_name(picture[1])
    if not drawn.exists():
        raise LabError(f"{path} has no picture {drawn.name}", f"'make results NAME={path.stem}' draws it")
    in_words = _MARKDOWN.renderInline(" ".join(answer[1].split()))
    return Section(html.escape(title[1]), in_words, base64.b64encode(drawn.read_bytes()).decode())


def _as_html(table: ReportTable) -> str:
    """Return the table in a box that scrolls on narrow screens."""
    label = html.escape(table.title, quote=True)
    return f'<div class="scroll" role="region" aria-label="{label}" tabindex="0">{_MARKDOWN.render(table.as_markdown())}</div>'

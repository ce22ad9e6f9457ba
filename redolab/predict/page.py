"""The report: one HTML page with results and a calculator, which opens from disk without a network."""

from __future__ import annotations

import base64
import bisect
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
import numpy as np
import numpy.typing as npt
import scipy

from redolab.errors import InvalidInput, LabError
from redolab.predict.asking import model_of, slowest_workload
from redolab.predict.calibration import Calibration
from redolab.predict.chance_of_stuck import chance_for, reservations_about_stuck
from redolab.predict.extrapolation import BEYOND, recovery_spread
from redolab.predict.log_size import SHOWN, possible_sizes
from redolab.predict.paste import Lines, templates
from redolab.predict.predicting import evidence as rests_on
from redolab.predict.prediction_errors import ALL_SERVERS, ErrorRow, errors_table
from redolab.predict.question import Model, Question
from redolab.predict.recovery import binary_log_seconds
from redolab.predict.recovery_time.spread import Spread, interval
from redolab.predict.recovery_time.stuck import THREAD_CLASSES
from redolab.predict.recovery_time.work import SURE_OF_ONE_BATCH
from redolab.predict.reservations import reservations_at
from redolab.report.labels import server_label
from redolab.report.table import ReportTable
from redolab.servers.catalogue import server_catalogue
from redolab.servers.dialects import Dialect
from redolab.servers.sizes import SMALLEST_POOL
from redolab.units import GIB, MIB, format_size

K = TypeVar("K", bound=Hashable)

_WEB = Path(__file__).parent / "web"
_UPPER_BOUND = 0.95
"""Share of recoveries below the upper bound, stuck ones included."""
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
        within=f"{100 * INTERPOLATED_WITHIN:.0f}",
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


POOLS = (128 * MIB, 256 * GIB)
"""Smallest and largest buffer pool that the calculator knows."""
SMALLEST, LARGEST = 64 * MIB, 512 * GIB
"""Smallest and largest redo log that it knows, if the server can have them."""
INTERPOLATED_WITHIN = 0.03
"""Largest relative difference between the calculator and `redolab size`."""
_BY_AXIS = INTERPOLATED_WITHIN / 3
"""Largest relative error of interpolation along one axis of a grid."""
_EXACTLY = 1e-5
_STEP = 1e-6
"""Relative distance of two points on either side of a step."""
_DIGITS = 4
_CROWDED = 16
"""Number of apply batches up to which the step from each to the next is in the grid; later ones are small."""


def calculator_data(calibration: Calibration) -> Mapping[str, object]:
    """Return the predictions for the calculator, on a grid for every server, kind of redo and storage."""
    return {
        "sizes": possible_sizes(SMALLEST, LARGEST),
        "shown": SHOWN,
        "pools": POOLS,
        "thread_classes": THREAD_CLASSES,
        "storages": {name: storage.about for name, storage in calibration.storages.items()},
        "servers": {name: _server(calibration, name) for name in calibration.servers},
    }


def _server(calibration: Calibration, name: str) -> Mapping[str, object]:
    """Return the calculator's data of one server, computed from the calibration."""
    server, dialect = calibration.servers[name], server_catalogue().get(name).dialect()
    ends = max(SMALLEST, dialect.smallest_log), min(LARGEST, dialect.largest_log)
    sizes = np.geomspace(*ends, 100).round()
    ages = np.array([dialect.capacity(dialect.layout(int(size))).hard_limit for size in sizes])
    grid = _grid_points(sizes, ages[np.newaxis], _EXACTLY)
    return {
        "label": server_label(name, server.version),
        "slowest": slowest_workload(server),
        "sizes": sizes[grid].tolist(),
        "ages": ages[grid].tolist(),
        "workloads": {
            workload: _workload(calibration, name, workload, ends, (ages[0], ages[-1])) for workload in server.workloads
        },
        **_lines(dialect),
    }


def _workload(
    calibration: Calibration, server: str, workload: str, logs: tuple[int, int], ages: tuple[float, float]
) -> Mapping[str, object]:
    """Return the calculator's data of a server under a workload.

    The grid has the redo of the crash, and its crowding: how many times the buffer pool the parsed redo would fill. Steps
    from one apply batch to the next lie at whole numbers of it, whatever the redo.
    """
    models, refused = {}, {}
    for storage in calibration.storages:
        try:
            models[storage] = _model(calibration, server, workload, storage)
        except InvalidInput as error:
            refused[storage] = {"refused": f"{error.problem}: {error.remedy}"}
    bounds, sentences = _Numbered[tuple[Spread, ...]](), _Numbered[str]()
    model = _model(calibration, server, workload, calibration.servers[server].workloads[workload].storages[0])
    fitted = model.fitted
    per_byte = fitted.memory.per_byte
    redo, crowding = _grid(list(models.values()), per_byte, ages)
    least, most = fitted.pools
    sizes = _sizes_of_bounds(model, logs)
    storages = {
        storage: {
            "ready": [
                [
                    _rounded(_ready(each, per_byte, at, crowded))
                    for crowded in crowding[: _needed(per_byte, redo, row, crowding)]
                ]
                for row, at in enumerate(redo)
            ],
            "bounds": [
                bounds.number(tuple(recovery_spread(each.with_pool(pool), size) for size in sizes))
                for pool in (most, _beyond(most))
            ],
            "sentences": [sentences.number(warning) for warning in each.warnings],
            "rests": rests_on(each),
        }
        for storage, each in models.items()
    }
    chances = [chance_for(model.with_read_threads(threads)) for threads in THREAD_CLASSES]
    stuck = tuple(0.0 if chance is None else chance.mean for chance in chances)
    return {
        "per_byte": per_byte,
        "redo": redo,
        "crowding": crowding,
        "one_batch": 1 / SURE_OF_ONE_BATCH,
        "measured_pools": [least / BEYOND, most * BEYOND],
        "storages": {storage: storages.get(storage) or refused[storage] for storage in calibration.storages},
        "sizes": sizes,
        "bounds": [[_ends(spread, stuck) for spread in each] for each in bounds.known],
        **_reservations(model, sentences),
        "sentences": sentences.known,
    }


def _ready(model: Model, per_byte: float, redo: float, crowding: float) -> float:
    """Return the predicted seconds for so much redo in a buffer pool that it fills `crowding` times."""
    # A whole number of crowding still takes as many batches, whatever rounding does to the pool.
    pool = per_byte * redo / crowding * (1 + _STEP / 100)
    return model.fitted.ready(model.crash_at(int(redo)), pool, model.disk) + binary_log_seconds(model)


def _grid(models: Sequence[Model], per_byte: float, ages: tuple[float, float]) -> tuple[list[float], list[float]]:
    """Return the grid of redo and crowding between whose points predictions can be interpolated, on any storage."""
    most = per_byte * ages[1] / POOLS[0]
    steps = [step for batches in range(1, _CROWDED) for step in (batches, batches * (1 + _STEP), batches + 0.5)]
    # In the middle of the steps that the grid does not have.
    beyond = np.unique(np.geomspace(_CROWDED, max(most, 2 * _CROWDED), 30).round()) + 0.5
    crowded = np.array([*np.geomspace(0.01, 1, 80)[:-1], *steps, _CROWDED, *beyond])
    redo = np.geomspace(*ages, 50).round()
    some = redo[::12]
    # A grid point of one axis is one for all values of the other.
    along = [[_ready(model, per_byte, at, each) for each in crowded] for model in models for at in some]
    crowding = crowded[_grid_points(crowded, np.array(along), _BY_AXIS)]
    across = [[_ready(model, per_byte, at, each) for at in redo] for model in models for each in crowding[::4]]
    return redo[_grid_points(redo, np.array(across), _BY_AXIS)].tolist(), crowding.tolist()


def _needed(per_byte: float, redo: Sequence[float], row: int, crowding: Sequence[float]) -> int:
    """Return how many points of crowding a row of the grid needs for the smallest pool."""
    most = per_byte * redo[min(row + 1, len(redo) - 1)] / POOLS[0]
    return min(len(crowding), bisect.bisect_left(crowding, most) + 1)


def _grid_points(at: npt.NDArray[np.float64], curves: npt.NDArray[np.float64], within: float) -> list[int]:
    """Return the places of points between which every curve is interpolated within that relative error.

    Interpolation is linear in logarithms. A curve is a row of `curves`, with a value for each point of `at`.
    """
    across, values = np.log(at), np.log(curves)
    places = [0, len(at) - 1]
    while True:
        right = np.clip(np.searchsorted(places, np.arange(len(at))), 1, None)
        low, high = np.array(places)[right - 1], np.array(places)[right]
        share = (across - across[low]) / (across[high] - across[low])
        off = np.abs(values[:, low] + share * (values[:, high] - values[:, low]) - values).max(axis=0)
        if off.max() <= within:
            return places
        bisect.insort(places, int(off.argmax()))


def _sizes_of_bounds(model: Model, logs: tuple[int, int]) -> list[int]:
    """Return the log sizes between which bounds can be interpolated: they widen from the largest measured log on."""
    edge = max(logs[0] + 1, int(model.fitted.sure_up_to * BEYOND))
    if edge >= logs[1]:
        return list(logs)
    sizes = [logs[0], edge, edge + 1, *(int(size) for size in np.geomspace(edge, logs[1], 40).round()[1:])]
    ends = np.array([interval(1.0, recovery_spread(model, size)) for size in sizes])
    return [sizes[place] for place in _grid_points(np.array(sizes, dtype=float), ends.T, _BY_AXIS / 2)]


def _model(calibration: Calibration, server: str, workload: str, storage: str) -> Model:
    """Return the model of a server. Raises `InvalidInput` for an unknown storage."""
    return model_of(Question(server=server, storage=storage, pool=POOLS[0], workload=workload), calibration, storage)


def _beyond(most: int) -> int:
    """Return a size well beyond the measured range."""
    return 4 * most


def _reservations(model: Model, sentences: _Numbered[str]) -> Mapping[str, object]:
    """Return the reservations of `redolab size`, with placeholders for the log, its multiple and the pool.

    Beside them: the sizes from which on a log is called large.
    """
    fitted = model.fitted
    least, most = fitted.log_sizes
    large, roomy = _beyond(most), _beyond(fitted.pools[1])

    def of_sizes(pool: int, size: int) -> list[str]:
        changed = model.with_pool(pool)
        found = reservations_at(changed, size)
        return found[: len(found) - len(reservations_about_stuck(changed, size))]

    beyond = of_sizes(fitted.pools[1], large)[0]
    few = (of_sizes(fitted.pools[1], min(most, math.ceil(fitted.sure_up_to * BEYOND) + 1)) or [""])[0]
    other_pool = of_sizes(roomy, least)[-1]
    beyond = beyond.replace(format_size(large), "{log}", 1)
    crowded = model.with_pool(SMALLEST_POOL)
    return {
        "few_from": fitted.sure_up_to * BEYOND,
        "beyond_from": most * BEYOND,
        "largest": most,
        "few": sentences.number(few),
        "beyond": sentences.number(re.sub(r"is [\d.]+ times", "is {times} times", beyond)),
        "other_pool": sentences.number(other_pool.replace(f"not {format_size(roomy)}", "not {pool}")),
        "stuck": [
            [sentences.number(each) for each in reservations_about_stuck(crowded.with_read_threads(threads), most)]
            for threads in THREAD_CLASSES
        ],
    }


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
        share = _UPPER_BOUND / (1 - chance) if chance < 1 else 1.0
        reach = None if share >= 1 else float(scipy.stats.t.ppf(share, max(1, spread.count)))
        within.append(None if reach is None else _rounded(math.exp(reach * spread.scale_above)))
    return *map(_rounded, interval(1.0, spread)), *within


def _rounded(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _lines(dialect: Dialect) -> Mapping[str, object]:
    """Return the lines to paste as in `redolab size`, with placeholders for the log size and half of it."""
    size = 2 * GIB
    places = {str(size): "{size}", str(size // 2): "{half}"}

    def with_places(text: str) -> str:
        return re.sub(r"\d{9,}", lambda match: places.get(match[0], match[0]), text)

    def lines(is_enough: bool) -> list[Lines]:
        return [
            msgspec.structs.replace(each, lines=tuple(with_places(line) for line in each.lines))
            for each in templates(dialect, size, is_enough=is_enough)
        ]

    return {"start_timeout_s": dialect.start_timeout.least_s, "enough": lines(True), "raised": lines(False)}


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

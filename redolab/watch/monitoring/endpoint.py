"""Queries to a Prometheus or compatible (VictoriaMetrics, Thanos, Mimir): two calls, and every refusal as one line."""

from __future__ import annotations

import http.client
import threading
import urllib.error
import urllib.parse
import urllib.request
from typing import Generic, TypeVar

import msgspec
from typing_extensions import override

from redolab.errors import InvalidInput, LabError, Unreachable
from redolab.units import format_duration
from redolab.watch.monitoring.http_config import HttpConfig

_LONGER = 5.0
"""Seconds that this side waits beyond the time that a query may take there."""
_NARROWER = "ask for a shorter time (--for) or fewer servers (--match), or raise --timeout"
_CREDENTIALS = "give them by --http-config FILE, $PROMETHEUS_TOKEN, or $PROMETHEUS_USER and $PROMETHEUS_PASSWORD"
_ELSEWHERE = "give the URL below which /api/v1/query answers: of PMM it is https://HOST/prometheus"

S = TypeVar("S")


class PrometheusSample(msgspec.Struct, frozen=True):
    """Values of a series at one time."""

    metric: dict[str, str]
    value: tuple[float, str]
    """Seconds since 1970, and the number as text."""


class PrometheusSeries(msgspec.Struct, frozen=True):
    """Values of a series at several times."""

    metric: dict[str, str]
    values: list[tuple[float, str]]


class _Data(msgspec.Struct, Generic[S]):
    result: list[S]


class _Answer(msgspec.Struct, Generic[S]):
    status: str
    data: _Data[S] | None = None
    error: str = ""
    errorType: str = ""  # noqa: N815


class Prometheus:
    """A Prometheus, or another program with its HTTP API."""

    def __init__(self, url: str, config: HttpConfig, timeout: float) -> None:
        """Take its URL, and the seconds that a query may take. Raise `InvalidInput` for what is no such URL."""
        parts = urllib.parse.urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise InvalidInput(f"'{url}' is no URL of a Prometheus", "as in http://127.0.0.1:9090")
        if parts.username is not None or parts.password is not None:
            raise InvalidInput("a password in the URL can be seen by everybody on this machine", _CREDENTIALS)
        self.url = url.rstrip("/")
        self.queries = 0
        """Number of queries so far."""
        self._counting = threading.Lock()
        self._timeout = timeout
        self._headers = config.headers()
        self._opener = urllib.request.build_opener(_AllAnswers, urllib.request.HTTPSHandler(context=config.tls()))

    def instant(self, expression: str, at: float) -> list[PrometheusSample]:
        """Return the values of an expression at one time. Raise `LabError` if there is no answer."""
        return self._ask("query", {"query": expression, "time": f"{at:.3f}"}, _Answer[PrometheusSample])

    def series(self, expression: str, start: float, end: float, step: float) -> list[PrometheusSeries]:
        """Return an expression's values every `step` seconds from start to end. Raise `LabError` without an answer."""
        span = {"start": f"{start:.3f}", "end": f"{end:.3f}", "step": f"{step:.3f}"}
        return self._ask("query_range", {"query": expression, **span}, _Answer[PrometheusSeries])

    def _ask(self, call: str, parameters: dict[str, str], kind: type[_Answer[S]]) -> list[S]:
        with self._counting:
            self.queries += 1
        query = urllib.parse.urlencode({**parameters, "timeout": f"{self._timeout:g}"})
        request = urllib.request.Request(f"{self.url}/api/v1/{call}?{query}", headers=self._headers)
        try:
            with self._opener.open(request, timeout=self._timeout + _LONGER) as response:
                text = response.read()
        except TimeoutError:
            raise self._too_slow() from None
        except (OSError, http.client.HTTPException) as error:
            if isinstance(getattr(error, "reason", None), TimeoutError):
                raise self._too_slow() from None
            reason = getattr(error, "reason", error)
            raise Unreachable(f"{self.url} does not answer ({reason})", "look at the URL, and at tls_config") from None
        if response.status != http.HTTPStatus.OK:
            raise self._refused(response, text)
        answer = _decoded(text, kind)
        if answer is None or answer.status != "success" or answer.data is None:
            raise LabError(f"{self.url} does not answer as a Prometheus does", _ELSEWHERE)
        return answer.data.result

    def _refused(self, response: http.client.HTTPResponse, text: bytes) -> LabError:
        if response.status in (401, 403):
            return InvalidInput(f"{self.url} refuses who asks ({response.status} {response.reason})", _CREDENTIALS)
        if location := response.headers.get("Location"):
            return InvalidInput(f"{self.url} is at another place ({location})", _ELSEWHERE)
        answer = _decoded(text, _Answer[PrometheusSample])
        if answer is None or not answer.error:
            return LabError(f"{self.url} answers {response.status} {response.reason}", _ELSEWHERE)
        if answer.errorType == "timeout":
            return self._too_slow()
        if answer.errorType == "bad_data":
            return InvalidInput(f"{self.url} refuses a query ({answer.error})", "look at --match")
        return LabError(f"{self.url} refuses a query ({answer.error})", _NARROWER)

    def _too_slow(self) -> LabError:
        return LabError(f"{self.url} takes more than {format_duration(self._timeout)} for a query", _NARROWER)


class _AllAnswers(urllib.request.HTTPErrorProcessor):
    """Handler that takes a refusal for an answer, and so follows no redirect: credentials would go to its target."""

    @override
    def http_response(
        self, request: urllib.request.Request, response: http.client.HTTPResponse
    ) -> http.client.HTTPResponse:
        return response

    https_response = http_response


def _decoded(text: bytes, kind: type[_Answer[S]]) -> _Answer[S] | None:
    try:
        return msgspec.json.decode(text, type=kind)
    except msgspec.MsgspecError:
        return None

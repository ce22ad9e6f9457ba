"""Answers of a Prometheus, or of whatever listens in its place, that are no result."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from redolab.errors import InvalidInput, LabError
from redolab.watch.monitoring import endpoint
from redolab.watch.monitoring.endpoint import Prometheus
from redolab.watch.monitoring.http_config import HttpConfig

_ASKED_TOO_MUCH = b'{"status": "error", "errorType": "timeout", "error": "query timed out"}'
_ASKED_NONSENSE = b'{"status": "error", "errorType": "bad_data", "error": "parse error"}'


@contextmanager
def answering(status: int, body: bytes, headers: dict[str, str]) -> Iterator[tuple[Prometheus, list[str]]]:
    """Yield a Prometheus that gives every query this answer, and the paths that it is asked for."""
    asked: list[str] = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(self.path)
            self.send_response(status)
            for name, value in {"Content-Length": str(len(body)), **headers}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)
            if "Content-Length" in headers:
                # It does not send all that it has announced.
                over.wait()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    over = threading.Event()
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            yield Prometheus(f"http://127.0.0.1:{server.server_port}", HttpConfig(), 0.1), asked
        finally:
            over.set()
            server.shutdown()


@pytest.mark.parametrize(
    ("status", "body", "headers", "kind", "said"),
    [
        (401, b"", {}, InvalidInput, "401"),
        (302, b"", {"Location": "/elsewhere"}, InvalidInput, "/elsewhere"),
        (400, _ASKED_NONSENSE, {}, InvalidInput, "parse error"),
        (503, _ASKED_TOO_MUCH, {}, LabError, "takes more than"),
        (503, _ASKED_TOO_MUCH, {"Content-Length": "1000"}, LabError, "takes more than"),
        (502, b"<html>", {}, LabError, "502"),
        (200, b"<html>", {}, LabError, "does not answer as a Prometheus"),
    ],
)
def test_a_refusal_is_one_error_of_the_lab(
    status: int, body: bytes, headers: dict[str, str], kind: type[LabError], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(endpoint, "_LONGER", 0.4)
    with answering(status, body, headers) as (prometheus, asked):
        with pytest.raises(LabError) as raised:
            prometheus.instant("up", 0.0)
        assert type(raised.value) is kind
        assert said in raised.value.problem
        assert len(asked) == 1

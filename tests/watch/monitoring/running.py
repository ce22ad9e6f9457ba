"""A real Prometheus and real exporters, on loopback, while a test needs them."""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.watch.prometheus import unpacked

EXPORTER = "prometheus-mysqld-exporter"


@contextmanager
def exporter(option_file: Path, port: int, *flags: str) -> Iterator[None]:
    """While in it: mysqld_exporter tells of the server of an option file."""
    command = [
        str(unpacked(EXPORTER, EXPORTER)),
        f"--config.my-cnf={option_file}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _process([*command, *flags], option_file.with_suffix(".exporter.log"), f"http://127.0.0.1:{port}/metrics"):
        yield


@contextmanager
def prometheus(folder: Path, port: int, targets: Mapping[str, int] | None = None, *flags: str) -> Iterator[str]:
    """While in it: a Prometheus with what is in `folder/data`, which scrapes exporters (name of the instance → port); its URL."""
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(_config(targets or {}))
    url = f"http://127.0.0.1:{port}"
    command = [
        str(unpacked("prometheus")), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", *flags,
    ]  # fmt: skip
    with _process(command, folder / "prometheus.log", f"{url}/-/ready"):
        yield url


def _config(targets: Mapping[str, int]) -> str:
    jobs = "".join(
        f"      - targets: ['127.0.0.1:{port}']\n        labels: {{instance: '{name}'}}\n"
        for name, port in targets.items()
    )
    scraped = f"scrape_configs:\n  - job_name: mysql\n    static_configs:\n{jobs}" if jobs else ""
    return f"global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n{scraped}"


@contextmanager
def _process(command: Sequence[str], log: Path, answers_at: str) -> Iterator[None]:
    with log.open("w") as file, subprocess.Popen(command, stdout=file, stderr=file) as process:
        try:
            deadline = time.monotonic() + 60
            while not _answers(answers_at):
                assert process.poll() is None, log.read_text()
                assert time.monotonic() < deadline, log.read_text()
                time.sleep(0.2)
            yield
        finally:
            process.terminate()


def _answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError as error:
        return error.code == 401
    except OSError:
        return False

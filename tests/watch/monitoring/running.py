"""Prometheus and its exporters as the distribution has them, on loopback, while a test needs them.

They are unpacked beside the tests' lab: installed packages would start services.
"""

from __future__ import annotations

import subprocess
import time
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest

from redolab.errors import LabError
from redolab.machine import files
from redolab.machine.apt import PrivateApt, codename
from redolab.project import PROJECT

EXPORTER = "prometheus-mysqld-exporter"
_FOLDER = PROJECT.root / ".lab/tests"


def unpacked(program: str, package: str = "prometheus") -> Path:
    """Return a program of a package, as `promtool` of `prometheus`. Skip the test where the package cannot be had."""
    folder = _FOLDER / package
    found = folder / "usr/bin" / program
    if not found.exists():
        making = folder.with_name(f"{package}.partial")
        files.remove(making)
        try:
            PrivateApt.prepare(making / "apt", codename()).unpack([package], making / "root")
        except LabError as error:
            pytest.skip(f"no {package}: {error.problem}")
        files.move(making / "root", folder)
        files.remove(making)
    return found


@contextmanager
def exporter(option_file: Path, port: int, *flags: str) -> Iterator[None]:
    """Run mysqld_exporter for the server of an option file within the block."""
    command = [
        str(unpacked(EXPORTER, EXPORTER)),
        f"--config.my-cnf={option_file}",
        f"--web.listen-address=127.0.0.1:{port}",
    ]
    with _process([*command, *flags], option_file.with_suffix(".exporter.log"), f"http://127.0.0.1:{port}/metrics"):
        yield


@contextmanager
def prometheus(folder: Path, port: int, config: str = "", *flags: str) -> Iterator[str]:
    """Run a Prometheus on what is in `folder/data`, with this configuration, within the block. Yield its URL."""
    folder.mkdir(exist_ok=True)
    (folder / "prometheus.yml").write_text(config)
    url = f"http://127.0.0.1:{port}"
    command = [
        str(unpacked("prometheus")), f"--config.file={folder / 'prometheus.yml'}", f"--storage.tsdb.path={folder / 'data'}",
        "--storage.tsdb.retention.time=100y", f"--web.listen-address=127.0.0.1:{port}", *flags,
    ]  # fmt: skip
    with _process(command, folder / "prometheus.log", f"{url}/-/ready"):
        yield url


def scraping(targets: Mapping[str, int]) -> str:
    """Return the configuration that scrapes exporters each second: name of the instance → port."""
    jobs = "".join(
        f"      - targets: ['127.0.0.1:{port}']\n        labels: {{instance: '{name}'}}\n"
        for name, port in targets.items()
    )
    interval = "global:\n  scrape_interval: 1s\n  scrape_timeout: 1s\n"
    return f"{interval}scrape_configs:\n  - job_name: mysql\n    static_configs:\n{jobs}"


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

"""The lab's own certificate: made once, good for TLS in both directions, and believed only where nobody else could have had it."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from redolab.cluster.certificate import CERTIFICATE, own_certificate
from redolab.errors import LabError
from redolab.machine import files
from redolab.project import PROJECT


def _now() -> datetime:
    return datetime.now(UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where it lies; not there yet."""
    return tmp_path / "config/redolab/cluster"


def test_it_is_made_once_for_its_owner_alone(folder: Path) -> None:
    before = os.umask(0)
    try:
        made = own_certificate(folder, _now())
    finally:
        os.umask(before)
    assert own_certificate(folder, _now()) == made
    assert files.names(folder) == ["lock", CERTIFICATE]
    assert folder.stat().st_mode & 0o777 == 0o700
    assert {path.stat().st_mode & 0o777 for path in folder.iterdir()} == {0o600}


def test_tls_takes_it_as_certificate_and_as_authority(folder: Path) -> None:
    made = own_certificate(folder, _now())
    context = ssl.create_default_context(cadata=made)
    context.load_cert_chain(folder / CERTIFICATE)
    assert context.cert_store_stats()["x509"] == 1


@pytest.mark.parametrize(
    ("after", "still", "is_new"),
    [
        (timedelta(days=364), timedelta(), False),
        (timedelta(days=366), timedelta(), True),
        (timedelta(days=300), timedelta(days=60), False),
        (timedelta(days=310), timedelta(days=60), True),
        # Asked for before another had made it; the clock was wrong when it was made.
        (timedelta(seconds=-2), timedelta(), False),
        (timedelta(days=-1), timedelta(), True),
    ],
)
def test_one_that_is_no_longer_good_is_made_anew(
    folder: Path, after: timedelta, still: timedelta, is_new: bool
) -> None:
    made = own_certificate(folder, _now())
    assert (own_certificate(folder, _now() + after, still) != made) is is_new


def test_all_that_start_at_once_have_the_same(folder: Path) -> None:
    ask = (
        "import sys, datetime, pathlib; from redolab.cluster.certificate import own_certificate; sys.stdin.read(); "
        "sys.stdout.write(own_certificate(pathlib.Path(sys.argv[1]), datetime.datetime.now(datetime.UTC)))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", ask, str(folder)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
            cwd=PROJECT.root,
        )
        for _ in range(6)
    ]  # fmt: skip
    for each in started:
        assert each.stdin is not None
        each.stdin.close()
    said = {each.stdout.read() for each in started if each.stdout is not None}
    assert [each.wait(60) for each in started] == [0] * 6
    assert said == {(folder / CERTIFICATE).read_text()}


def _readable(folder: Path) -> None:
    (folder / CERTIFICATE).chmod(0o640)


def _open_folder(folder: Path) -> None:
    folder.chmod(0o755)


def _linked(folder: Path) -> None:
    folder.rename(folder.with_name("elsewhere"))
    folder.symlink_to("elsewhere")


def _of_another(folder: Path) -> None:
    os.chown(folder / CERTIFICATE, 65534, 65534)


def _folder_of_another(folder: Path) -> None:
    os.chown(folder, 65534, 65534)


@pytest.mark.parametrize("opened", [_readable, _open_folder, _linked, _of_another, _folder_of_another])
def test_one_that_another_account_could_have_is_refused(folder: Path, opened: Callable[[Path], None]) -> None:
    if os.geteuid() != 0 and opened in (_of_another, _folder_of_another):
        pytest.skip("only root can give files away")
    own_certificate(folder, _now())
    opened(folder)
    with pytest.raises(LabError, match="another account could have read or written") as refused:
        own_certificate(folder, _now())
    assert refused.value.remedy.startswith("remove it, and the lab makes it anew")


def test_what_cannot_be_read_or_written_is_one_line(folder: Path) -> None:
    own_certificate(folder, _now())
    (folder / CERTIFICATE).write_text("")
    assert own_certificate(folder, _now())
    (folder / CERTIFICATE).write_text("none")
    with pytest.raises(LabError, match="has no certificate in it"):
        own_certificate(folder, _now())
    with pytest.raises(LabError, match="cannot be read or written"):
        own_certificate(Path("/proc/nothing"), _now())

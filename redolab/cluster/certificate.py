"""The lab's own certificate, by which scheduler, worker and client of one account of this machine know each other.

Who holds it can have anything run by that account. So it is taken only from a file that no other account could have
read or written.
"""

from __future__ import annotations

import os
import stat
from datetime import datetime, timedelta
from pathlib import Path

from redolab.errors import LabError
from redolab.machine import files
from redolab.machine.lock import locked

CERTIFICATE = "loopback.pem"
"""Key and certificate in one file, so that there are both or neither."""
_LOCK = "lock"
_WAITED = timedelta(hours=1)
"""One that begins so much later is taken: another made it while we waited, or the clock was set back a little since."""
_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def own_certificate(folder: Path, now: datetime, still: timedelta = timedelta()) -> str:
    """Key and certificate, as PEM; made where there are none that are valid now and for `still` longer. Raises `LabError`."""
    path = folder / CERTIFICATE
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        _check_closed(folder, folder.lstat())
        # Of two that start at once one makes it, and both have the same.
        with locked(folder / _LOCK, mode=0o600):
            found = _read(path)
            if not found or not _is_valid(path, found, now, now + still):
                found = _made()
                files.write_whole(path, found.encode(), mode=0o600)
            return found
    except OSError as error:
        raise LabError(
            f"{path} cannot be read or written ({error.strerror})", "$XDG_CONFIG_HOME names another folder for it"
        ) from error


def _read(path: Path) -> str:
    """The file's text; nothing if it is not there. Raises `LabError`, `OSError`."""
    try:
        opened = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
    except FileNotFoundError:
        return ""
    with os.fdopen(opened, encoding="ascii", errors="replace") as file:
        _check_closed(path, os.fstat(opened))
        return file.read()


def _check_closed(path: Path, found: os.stat_result) -> None:
    """Raises `LabError` for what another account could have read or written."""
    if found.st_uid != os.geteuid() or found.st_mode & _OTHERS or stat.S_ISLNK(found.st_mode):
        raise LabError(
            f"another account could have read or written {path}, and who has that certificate can run anything here",
            "remove it, and the lab makes it anew; $XDG_CONFIG_HOME names another folder for it",
        )


def _is_valid(path: Path, content: str, since: datetime, until: datetime) -> bool:
    from cryptography import x509

    try:
        found = x509.load_pem_x509_certificate(content.encode())
    except ValueError as error:
        raise LabError(f"{path} has no certificate in it", "remove it, and the lab makes it anew") from error
    return found.not_valid_before_utc - _WAITED <= since and until <= found.not_valid_after_utc


def _made() -> str:
    from distributed import Security

    made = Security.temporary()
    return f"{made.tls_scheduler_key}{made.tls_scheduler_cert}"

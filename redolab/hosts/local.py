"""This machine as a host."""

from __future__ import annotations

import errno
import os
import queue
import shutil
import signal
import stat
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

import psutil
import xxhash

from redolab.errors import CommandFailed, DiskFull
from redolab.hosts import Command, Copy, Files, Host, Instant, Output, Process, ProcessIdentity
from redolab.timeline import Line
from redolab.units import MIB

_DROP_CACHES = Path("/proc/sys/vm/drop_caches")
_STILL_WRITTEN = 5.0
_START_TOLERANCE = 0.05
"""Seconds between two readings of one process's start time: the kernel counts it in ticks of 10 ms."""


class LocalFiles(Files):
    """This machine's files."""

    def read(self, path: Path) -> bytes:
        """See `Files`."""
        return path.read_bytes()

    def write(self, path: Path, content: bytes) -> None:
        """See `Files`."""
        path.parent.mkdir(parents=True, exist_ok=True)
        beside = path.with_name(f".{path.name}.{os.getpid()}")
        try:
            with beside.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            beside.replace(path)
        except OSError as error:
            raise _explained(error, path) from error
        finally:
            beside.unlink(missing_ok=True)

    def make_folder(self, path: Path, *, mode: int = 0o755, owner: int | None = None) -> None:
        """See `Files`."""
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise _explained(error, path) from error
        if stat.S_IMODE(path.stat().st_mode) != mode:
            path.chmod(mode)
        if owner is not None and path.stat().st_uid != owner:
            os.chown(path, owner, owner)

    def exists(self, path: Path) -> bool:
        """See `Files`."""
        return path.exists()

    def names(self, folder: Path) -> Sequence[str]:
        """See `Files`."""
        return sorted(entry.name for entry in folder.iterdir()) if folder.is_dir() else []

    def rename(self, path: Path, to: Path) -> None:
        """See `Files`."""
        to.parent.mkdir(parents=True, exist_ok=True)
        path.rename(to)

    def remove(self, path: Path) -> None:
        """See `Files`."""
        if not path.is_dir() or path.is_symlink():
            path.unlink(missing_ok=True)
            return
        deadline = time.monotonic() + _STILL_WRITTEN
        while path.exists():
            try:
                shutil.rmtree(path)
            except OSError as error:
                # What was killed with the lab may be writing its last file.
                if error.errno not in (errno.ENOTEMPTY, errno.EBUSY) or time.monotonic() > deadline:
                    raise
                time.sleep(0.05)

    def copy_folder(self, source: Path, to: Path) -> Copy:
        """See `Files`."""
        to.parent.mkdir(parents=True, exist_ok=True)
        began = time.monotonic()
        try:
            reflink = self._copy(source, to, "always").returncode == 0
            if not reflink:
                self.remove(to)
                copied = self._copy(source, to, "never")
                if copied.returncode != 0:
                    raise _copy_error(source, to, copied.stderr)
            subprocess.run(["sync", "--file-system", to], check=False)
        except BaseException:
            self.remove(to)
            raise
        return Copy(seconds=time.monotonic() - began, reflink=reflink)

    @staticmethod
    def _copy(source: Path, to: Path, reflink: str) -> subprocess.CompletedProcess[str]:
        command = ["cp", "--archive", f"--reflink={reflink}", "--no-target-directory", str(source), str(to)]
        return subprocess.run(
            _dying_with_the_lab(command), capture_output=True, text=True, check=False, env=_environment({})
        )

    def hash_folder(self, folder: Path) -> Mapping[str, str]:
        """See `Files`."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        with ThreadPoolExecutor(max_workers=os.cpu_count()) as pool:
            return {
                str(path.relative_to(folder)): digest
                for path, digest in zip(files, pool.map(_hash_file, files), strict=True)
            }

    def folder_size(self, folder: Path) -> int:
        """See `Files`."""
        size = 0
        for path in [folder, *folder.rglob("*")]:
            with suppress(FileNotFoundError):
                size += path.lstat().st_blocks * 512
        return size

    def free_space(self, path: Path) -> int:
        """See `Files`."""
        while not path.exists():
            path = path.parent
        return psutil.disk_usage(str(path)).free


class LocalProcess(Process):
    """A program that the lab started on this machine."""

    def __init__(self, popen: subprocess.Popen[bytes], output: IO[bytes]) -> None:
        self._popen = popen
        self._identity = ProcessIdentity(popen.pid, psutil.Process(popen.pid).create_time())
        self._output = output
        self._lines: queue.SimpleQueue[Line | None] = queue.SimpleQueue()
        self._ended = False
        self._failure: OSError | None = None
        self._reader = threading.Thread(target=self._read, name=f"output of {popen.pid}", daemon=True)
        self._reader.start()

    @property
    def identity(self) -> ProcessIdentity:
        """See `Process`."""
        return self._identity

    def _read(self) -> None:
        stream = self._popen.stdout
        assert stream is not None
        partial = b""
        with stream:
            # One read returns what has arrived so far: a line's stamp is the moment its end came through the pipe.
            while chunk := os.read(stream.fileno(), MIB):
                arrival = time.monotonic()
                self._keep(chunk)
                *whole, partial = (partial + chunk).split(b"\n")
                for line in whole:
                    self._lines.put(Line(line.decode(errors="replace"), arrival))
        if partial:
            self._lines.put(Line(partial.decode(errors="replace"), time.monotonic()))
        with suppress(OSError):
            self._output.close()
        self._lines.put(None)

    def _keep(self, chunk: bytes) -> None:
        """Write to the file; on a full disk the program must still find a reader, or it would hang."""
        try:
            self._output.write(chunk)
            self._output.flush()
        except OSError as error:
            self._failure = self._failure or error

    def lines(self, deadline: float) -> Iterator[Line]:
        """See `Process`."""
        while not self._ended:
            if self._failure is not None:
                raise _explained(self._failure, Path(self._output.name)) from self._failure
            try:
                line = self._lines.get(timeout=max(0.0, deadline - time.monotonic()))
            except queue.Empty:
                return
            if line is None:
                self._ended = True
                return
            yield line

    def wait(self, seconds: float) -> int | None:
        """See `Process`."""
        try:
            status = self._popen.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        self._reader.join(timeout=10)
        return status

    def stop(self, with_signal: signal.Signals = signal.SIGTERM, seconds: float = 10.0) -> int:
        """See `Process`."""
        self._popen.send_signal(with_signal)
        status = self.wait(seconds)
        if status is None:
            self._popen.kill()
            status = self._popen.wait()
        return status


class LocalHost(Host):
    """This machine."""

    def __init__(self) -> None:
        self.name = "local"
        self.files: Files = LocalFiles()

    def run(self, command: Command, *, seconds: float = 600.0, check: bool = True, to_its_end: bool = False) -> Output:
        """See `Host`."""
        program = command.arguments[0]
        if self.which(program) is None:
            raise CommandFailed(f"{program} is not on this machine", "see 'redolab doctor'")
        # What may not be broken off may not die with the lab either.
        arguments = command.arguments if to_its_end else _dying_with_the_lab(command.arguments)
        with subprocess.Popen(
            arguments,
            cwd=command.folder,
            env=_environment(command.environment),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        ) as process:
            try:
                out, err = process.communicate(command.standard_input, timeout=seconds)
            except subprocess.TimeoutExpired as error:
                process.kill()
                raise CommandFailed(f"{program} did not end within {seconds:.0f} s") from error
            except BaseException:
                if to_its_end:
                    process.communicate()
                else:
                    process.kill()
                raise
        output = Output(process.returncode, out.decode(errors="replace"), err.decode(errors="replace"))
        if check and output.status != 0:
            last = (output.err.strip() or output.out.strip()).splitlines()[-12:]
            raise CommandFailed(f"{program} ended with status {output.status}", details=last)
        return output

    def start(self, command: Command, output: Path) -> Process:
        """See `Host`.

        To be called from the thread that lives as long as the lab: the kernel ends the program with the thread that
        started it (PR_SET_PDEATHSIG), which is how it dies with the lab.
        """
        output.parent.mkdir(parents=True, exist_ok=True)
        log = output.open("wb")
        try:
            popen = subprocess.Popen(
                _dying_with_the_lab(command.arguments),
                cwd=command.folder,
                env=_environment(command.environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                # Ctrl-C reaches the lab alone, which then ends what it started in order.
                start_new_session=True,
            )
        except OSError as error:
            log.close()
            raise CommandFailed(f"{command.arguments[0]} could not be started ({error.strerror})") from error
        return LocalProcess(popen, log)

    def children(self, process: ProcessIdentity) -> Sequence[ProcessIdentity]:
        """See `Host`."""
        try:
            found = psutil.Process(process.pid).children()
            return [ProcessIdentity(child.pid, child.create_time()) for child in found]
        except psutil.NoSuchProcess:
            return []

    def is_running(self, process: ProcessIdentity) -> bool:
        """See `Host`."""
        return _find(process) is not None

    def kill(self, process: ProcessIdentity, with_signal: signal.Signals = signal.SIGKILL) -> bool:
        """See `Host`."""
        found = _find(process)
        if found is None:
            return False
        try:
            found.send_signal(with_signal)
        except psutil.NoSuchProcess:
            return False
        return True

    def cpu_seconds(self, process: ProcessIdentity) -> float | None:
        """See `Host`."""
        found = _find(process)
        try:
            times = found.cpu_times() if found is not None else None
        except psutil.NoSuchProcess:
            return None
        return None if times is None else times.user + times.system

    def now(self) -> Instant:
        """See `Host`."""
        return Instant(monotonic=time.monotonic(), wall=time.time())

    def unmount(self, folder: Path) -> None:
        """See `Host`."""
        folder = folder.resolve()
        mounted = [Path(partition.mountpoint) for partition in psutil.disk_partitions(all=True)]
        below = [place for place in mounted if place.is_relative_to(folder)]
        if not below and not self.is_root():
            return
        # A loop device that is mounted goes with its mount; one that is not would hold the disk model that serves its file.
        self._detach_loops(folder)
        for place in reversed(below):
            self._until_done(Command(["umount", str(place)]))

    def _detach_loops(self, folder: Path) -> None:
        if not self.is_root():
            return
        listed = self.run(Command(["losetup", "--list", "--noheadings", "--output=NAME,BACK-FILE"]), check=False).out
        for line in listed.splitlines():
            device, _, file = line.partition(" ")
            if Path(file.strip().removesuffix(" (deleted)")).is_relative_to(folder):
                self.run(Command(["losetup", "--detach", device]), check=False)

    def _until_done(self, command: Command) -> None:
        """Run it until it succeeds: what was killed may hold a mount for a moment longer. Raises `CommandFailed`."""
        deadline = time.monotonic() + _STILL_WRITTEN
        while self.run(command, check=False).status != 0:
            if time.monotonic() > deadline:
                self.run(command)
                return
            time.sleep(0.05)

    def drop_page_cache(self) -> bool:
        """See `Host`."""
        os.sync()
        try:
            _DROP_CACHES.write_text("3\n")
        except OSError:
            if self.which("sudo") is None:
                return False
            tee = Command(["sudo", "--non-interactive", "tee", str(_DROP_CACHES)], standard_input=b"3\n")
            return self.run(tee, check=False).status == 0
        return True

    def which(self, program: str) -> Path | None:
        """See `Host`."""
        found = shutil.which(program)
        return Path(found) if found else None

    def is_root(self) -> bool:
        """See `Host`."""
        return os.geteuid() == 0

    @contextmanager
    def socket(self, path: Path) -> Iterator[str]:
        """See `Host`."""
        # A socket's address holds 107 bytes, a clone may lie deeper: the folder's descriptor makes it short.
        folder = os.open(path.parent, os.O_PATH | os.O_DIRECTORY)
        try:
            yield f"/proc/self/fd/{folder}/{path.name}"
        finally:
            os.close(folder)


def _find(process: ProcessIdentity) -> psutil.Process | None:
    try:
        found = psutil.Process(process.pid)
        same = abs(found.create_time() - process.started) < _START_TOLERANCE
        return found if same and found.status() != psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return None


def _hash_file(path: Path) -> str:
    digest = xxhash.xxh3_128()
    buffer = memoryview(bytearray(8 * MIB))
    with path.open("rb", buffering=0) as file:
        while size := file.readinto(buffer):
            digest.update(buffer[:size])
    return digest.hexdigest()


def _environment(extra: Mapping[str, str]) -> dict[str, str]:
    """The lab's own environment in the C locale: programs' messages are read by the lab, in one language."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("LC_", "MYSQL"))}
    return {**kept, "LC_ALL": "C", **extra}


def _dying_with_the_lab(arguments: Sequence[str]) -> list[str]:
    """`arguments` as a command that the kernel ends when the lab ends, however it ends.

    The shell is for what was only about to start when the lab was killed: that death came too early to be signalled.
    """
    unless_orphaned = 'lab=$1; shift; [ "$PPID" = "$lab" ] && exec "$@"'
    return ["setpriv", "--pdeathsig", "KILL", "sh", "-c", unless_orphaned, "sh", str(os.getpid()), *arguments]


def _copy_error(source: Path, to: Path, message: str) -> CommandFailed | DiskFull:
    if os.strerror(errno.ENOSPC) in message:
        return _disk_full(to)
    last = message.strip().splitlines()[-3:]
    return CommandFailed(f"{source} could not be copied to {to}", details=last)


def _explained(error: OSError, path: Path) -> Exception:
    return _disk_full(path) if error.errno == errno.ENOSPC else error


def _disk_full(path: Path) -> DiskFull:
    return DiskFull(f"the disk under {path} is full", "free some space ('redolab runs' and 'redolab images' help)")

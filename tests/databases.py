"""A real database for a test: PostgreSQL, with a cluster of its own, that can be killed and started again."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from children import WAIT
from waiting import eventually

PROGRAMS = os.pathsep.join(
    [os.environ.get("PATH", ""), *sorted(map(str, Path("/usr/lib/postgresql").glob("*/bin")), reverse=True)]
)
USER = "postgres" if os.geteuid() == 0 else None
"""The server refuses to run as root: Debian's package brings this user."""


def program(name: str) -> str:
    """One of PostgreSQL's programs; a test that needs it fails where it is missing."""
    found = shutil.which(name, path=PROGRAMS)
    assert found is not None, f"PostgreSQL's `{name}` is not there: `.ci/postgresql`, or `make test`, installs it"
    return found


class Postgres:
    """One server, at a socket below its folder. What it has stored stays when it is started again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.url = f"postgresql://tidelog@/postgres?host={folder}"
        self._process: subprocess.Popen[bytes] | None = None
        if USER is not None:
            shutil.chown(folder, USER)
        made = [program("initdb"), "-D", str(folder / "data"), "-U", "tidelog", "--auth=trust", "--no-sync", "-E", "UTF8"]
        subprocess.run([*made, "--locale=C"], user=USER, cwd=folder, check=True, capture_output=True)

    def start(self) -> None:
        """Start it, and wait until it lets one in. It is killed and not the machine: so nothing has to be on the disk."""
        options = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self.folder}", "-c", "fsync=off"]
        options += ["-c", "shared_buffers=32MB", "-c", "max_connections=20"]
        command = [program("postgres"), "-D", str(self.folder / "data"), *options]
        log = (self.folder / "log").open("ab")
        with log:
            self._process = subprocess.Popen(command, user=USER, cwd=self.folder, stdout=log, stderr=log)
        eventually(self._lets_in, process=self._process)

    def kill(self) -> None:
        """End it at once, with all that it serves."""
        if self._process is not None:
            children = subprocess.run(
                ["ps", "-o", "pid=", "--ppid", str(self._process.pid)], capture_output=True, check=False
            )
            self._process.kill()
            self._process.wait(WAIT)
            for pid in map(int, children.stdout.split()):
                eventually(lambda pid=pid: not Path(f"/proc/{pid}").exists() or _is_zombie(pid))  # type: ignore[misc]
            (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
            self._process = None

    def query(self, text: str) -> list[tuple[Any, ...]]:
        """The rows of a query; of anything else none."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            found = connection.execute(text.encode())
            return found.fetchall() if found.description else []

    def _lets_in(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=5).close()
        except psycopg.OperationalError:
            return False
        return True


def _is_zombie(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except (FileNotFoundError, ProcessLookupError):
        return True


@contextmanager
def postgres() -> Iterator[Postgres]:
    """A server for the length of a `with` block. Its folder is short, as the path of a socket has to be."""
    with tempfile.TemporaryDirectory(prefix="tidelog-pg-", dir="/tmp") as name:
        Path(name).chmod(0o755)
        running = Postgres(Path(name))
        running.start()
        try:
            yield running
        finally:
            running.kill()

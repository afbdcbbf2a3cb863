"""A worker ends with the process that has forked it, though it computes and neither reads nor writes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

DAEMON = """
import os, sys, time
from tidelog.connectors.spark.running.workers import end_with_daemon
worker = os.fork()
if worker == 0:
    end_with_daemon()
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        time.sleep(1)
os.waitpid(worker, 0)
"""


def is_there(process: int) -> bool:
    with suppress(OSError):
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    return False


def test_a_worker_ends_with_its_daemon(tmp_path: Path) -> None:
    """The process that forks workers is killed: so is the worker."""
    script = tmp_path / "daemon.py"
    script.write_text(DAEMON, "utf-8")
    with subprocess.Popen([sys.executable, os.fspath(script)], stdout=subprocess.PIPE) as daemon:
        assert daemon.stdout is not None
        worker = int(daemon.stdout.readline())
        assert is_there(worker)
        daemon.kill()
        patience = time.monotonic() + 60
        while is_there(worker):
            assert time.monotonic() < patience
            time.sleep(0.01)

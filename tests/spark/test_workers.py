"""A worker ends with the process that has forked it, though it computes and neither reads nor writes."""

from __future__ import annotations

import importlib
import logging
import os
import subprocess
import sys
import zipfile
import zipimport
from contextlib import suppress
from pathlib import Path

import pytest

from tidelog.connectors.spark.cluster.session import is_news
from tidelog.connectors.spark.cluster.worker_daemon import without_archives
from tidelog.connectors.spark.running.workers import keep_archives
from waiting import eventually

DAEMON = """
import os, signal, sys
from tidelog.connectors.spark.cluster.session import is_news
from tidelog.connectors.spark.cluster.worker_daemon import without_archives
from tidelog.connectors.spark.running.workers import end_with_daemon
worker = os.fork()
if worker == 0:
    end_with_daemon()
    os.write(1, b"%d\\n" % os.getpid())
    while True:
        signal.pause()
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
        eventually(lambda: not is_there(worker))


def test_an_archive_that_has_not_changed_is_not_listed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before each task Spark invalidates what imports from archives: only one that has changed is looked into again."""
    archive = os.fspath(tmp_path / "found_in_archive.zip")
    with zipfile.ZipFile(archive, "w") as file:
        file.writestr("first_found.py", "VALUE = 1")
    monkeypatch.syspath_prepend(archive)
    monkeypatch.setattr(sys, "path_importer_cache", dict(sys.path_importer_cache))
    assert importlib.import_module("first_found").VALUE == 1
    keep_archives()
    listed: list[str] = []
    list_archive = vars(zipimport)["_read_directory"]  # what takes the time; it is not public

    def noted(path: str) -> object:
        listed.append(path)
        return list_archive(path)

    monkeypatch.setattr(zipimport, "_read_directory", noted)
    importlib.invalidate_caches()
    assert listed == []
    with zipfile.ZipFile(archive, "a") as file:
        file.writestr("second_found.py", "VALUE = 2")
    importlib.invalidate_caches()
    assert archive in listed
    assert importlib.import_module("second_found").VALUE == 2
    for name in ("first_found", "second_found"):
        del sys.modules[name]


def test_archives_of_an_installed_pyspark_are_passed_over(tmp_path: Path) -> None:
    """Spark puts archives of PySpark first on the path: what forks workers imports what is installed, if it is."""
    package = tmp_path / "site" / "pyspark"
    lib = package / "python" / "lib"
    lib.mkdir(parents=True)
    (package / "__init__.py").touch()
    other = tmp_path / "spark" / "python" / "lib"
    path = [
        os.fspath(place) for place in (lib / "pyspark.zip", lib / "py4j-src.zip", other / "pyspark.zip", tmp_path / "site")
    ]
    assert without_archives(path) == path[2:]
    assert without_archives(path[:3]) == path[:3]
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "site")
    assert without_archives([*path[:3], os.fspath(link)]) == [path[2], os.fspath(link)]


def test_what_a_lost_jvm_cuts_off_is_not_printed(caplog: pytest.LogCaptureFixture) -> None:
    """Py4J logs each call that a JVM did not answer, with its stack, though the call raises it; all else is logged."""
    root = logging.getLogger()
    root.addFilter(is_news)
    try:
        logging.error("Exception while sending command.")
        logging.error("something else")
    finally:
        root.removeFilter(is_news)
    assert caplog.messages == ["something else"]

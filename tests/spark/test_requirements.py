"""What Spark needs is checked before it is started, and nothing else of tidelog needs Spark."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from importlib.metadata import PackageNotFoundError
from typing import Any

import pytest

from tidelog.commands.signals import noted_signals
from tidelog.connectors.lake.gateways.origins import Access, Origin, read_origins
from tidelog.connectors.spark.cluster import requirements
from tidelog.plans.diagnostics.errors import ConnectorError


@pytest.fixture(autouse=True)
def anew() -> None:
    """Each test checks anew."""
    requirements.check_requirements.cache_clear()
    requirements.check_packages.cache_clear()


def _package(monkeypatch: pytest.MonkeyPatch, name: str, found: str | None) -> None:
    real = requirements.version
    monkeypatch.setattr(requirements, "find_spec", lambda _: None)

    def version(package: str) -> str:
        if package != name:
            return real(package)
        if found is None:
            raise PackageNotFoundError(package)
        return found

    monkeypatch.setattr(requirements, "version", version)


@pytest.mark.parametrize(
    ("name", "found", "message"),
    [
        (
            "pyspark",
            None,
            "Spark needs pyspark 4.1 or newer, below 4.4, which is not installed: pip install 'tidelog[spark]'",
        ),
        (
            "pandas",
            "3.0.1",
            "Spark needs pandas 2.2 or newer, below 3, and 3.0.1 is installed: pip install 'tidelog[spark]'",
        ),
        ("pyarrow", "14.0", "Spark needs pyarrow 15 or newer, and 14.0 is installed: pip install 'tidelog[spark]'"),
        (
            "protobuf",
            "5.29.3",
            "Spark needs protobuf 6.33 or newer, below 8, and 5.29.3 is installed: pip install 'tidelog[spark]'",
        ),
    ],
)
def test_packages_that_do_not_fit(monkeypatch: pytest.MonkeyPatch, name: str, found: str | None, message: str) -> None:
    """A package that is missing, too old or too new is named, with what helps."""
    _package(monkeypatch, name, found)
    with pytest.raises(ConnectorError) as told:
        requirements.check_requirements()
    assert str(told.value) == message


def test_pyspark_that_nobody_has_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """`spark-submit` brings PySpark as a folder: its own version counts."""
    real = requirements.version

    def version(package: str) -> str:
        if package == "pyspark":
            raise PackageNotFoundError(package)
        return real(package)

    monkeypatch.setattr(requirements, "version", version)
    requirements.check_requirements()
    monkeypatch.setattr("pyspark.version.__version__", "3.5.1")
    with pytest.raises(ConnectorError, match=r"needs pyspark 4\.1 or newer, below 4\.4, and 3\.5\.1 is installed"):
        requirements.check_packages()


def test_a_session_that_is_there_needs_no_java_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of Spark Connect has its Java elsewhere; protobuf is asked for where state is kept."""
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    _package(monkeypatch, "protobuf", "5.29.3")
    requirements.check_packages()
    monkeypatch.setitem(sys.modules, "pyspark.sql.streaming.proto.StateMessage_pb2", None)
    with pytest.raises(ConnectorError, match="cannot keep the state of a stream with the protobuf that is here"):
        requirements.check_state()


def test_no_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where there is no Java, that is said; a JAVA_HOME that is wrong is named."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(ConnectorError, match="Spark needs Java 17 or newer, and none is on the path"):
        requirements.check_requirements()
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(ConnectorError, match="`/nowhere/bin/java` cannot be run: set JAVA_HOME aright"):
        requirements.check_requirements()


def test_old_java(monkeypatch: pytest.MonkeyPatch) -> None:
    """A Java that is too old is told with its version."""

    def run(*_: Any, **__: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.CompletedProcess([], 0, "", 'openjdk version "11.0.2" 2019-01-15\n')

    monkeypatch.setattr(requirements.subprocess, "run", run)
    with pytest.raises(ConnectorError, match=r"Spark needs Java 17 or newer, and `.*java` is 11: set JAVA_HOME"):
        requirements.check_requirements()


def test_nothing_else_needs_spark() -> None:
    """The command line and the connectors load without PySpark."""
    code = "import sys, tidelog.cli, tidelog.connectors.spark; print('pyspark' in sys.modules, 'pyarrow' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_access_to_gateways(tmp_path: Any) -> None:
    """Token and TLS are taken from the options, and the token is not shown."""
    (tmp_path / "token").write_text("a secret of many letters\n")
    options = {
        "address": "https://gw1/outbox/a, https://gw2/outbox/a",
        "trusted": "ca.pem",
        "tokenFile": str(tmp_path / "token"),
    }
    origins = read_origins(options)
    assert origins == tuple(
        Origin(f"https://{name}/outbox/a", Access("a secret of many letters", "ca.pem")) for name in ("gw1", "gw2")
    )
    assert "secret" not in repr(origins)
    assert read_origins({"path": "a", "trusted": "ca.pem"}) == (Origin("a", Access(None, "ca.pem")),)


def test_signals_are_noted() -> None:
    """A signal to stop is noted, what is said from then on is not shown, and afterwards all is as before."""
    before = signal.getsignal(signal.SIGTERM), sys.stderr
    with noted_signals() as arrived:
        os.kill(os.getpid(), signal.SIGTERM)
        assert arrived == [signal.SIGTERM]
        assert sys.stderr is not before[1]
    assert (signal.getsignal(signal.SIGTERM), sys.stderr) == before

"""What a gateway tells by OTLP: the figures of `/metrics`, and traces; a collector that is away holds up nobody."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from collectors import Collector, collector, told
from opentelemetry.exporter.otlp.proto.common.metrics_encoder import encode_metrics
from opentelemetry.sdk.resources import Resource
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, InfoMetricFamily
from prometheus_client.parser import text_string_to_metric_families

from children import WAIT
from tidelog.cli import main
from tidelog.connectors.http.watching.measures import Durations
from tidelog.gateway.listening.telemetry import spans as spans_module
from tidelog.gateway.listening.telemetry.figures import metrics_data
from tidelog.gateway.listening.telemetry.spans import Spans, Tracing
from tidelog.runtime.ports.interfaces import Batch, Rejected
from waiting import eventually

TIDELOG = [sys.executable, "-m", "tidelog"]
PROGRAM = """timeline integer, unit 1 s, round down.
input seen(n: integer).
output told(n).
told(N) :- seen(N).
"""
FILE = """name = "plant-7"
program = "plant.tide"
{head}
[[source]]
name = "numbers"
type = "spec"
spec = "facts+unix+listen://{folder}/numbers"
[[sink]]
name = "answers"
type = "spec"
spec = "answers"
[telemetry]
endpoint = "{url}"
every = 0.1
{more}
"""
MOVING = ("process_", "python_", "tidelog_http_", "tidelog_telemetry_", "tidelog_source_silence", "tidelog_watermark_lag")
"""Figures that are others each time one looks."""


class Receiver:
    """Decodes what figures become, without a gateway."""

    def __init__(self, *families: Any) -> None:
        self.told = Collector(0)
        self.told._metrics(encode_metrics(metrics_data(families, Resource({}), 5, 9)).SerializeToString())


def test_each_kind_of_figure_has_its_form() -> None:
    """A sum that only grows, a gauge, and a histogram, whose buckets count each for itself."""
    counter = CounterMetricFamily("a_facts", "Facts", labels=["source"])
    counter.add_metric(["x"], 3)
    counter.add_metric(["y"], 0.5)
    gauge = GaugeMetricFamily("a_lag_seconds", "Lag", value=float("nan"))
    info = InfoMetricFamily("a_build", "Build", value={"version": "1"})
    taken = Durations()
    for seconds in (0.0001, 0.003, 0.003, 99.0):
        taken.observe(seconds)
    histogram = HistogramMetricFamily("a_commit_seconds", "Commits", labels=["program"])
    histogram.add_metric(["p"], taken.cumulative(), taken.total)
    found = Receiver(counter, gauge, info, histogram, CounterMetricFamily("a_none", "None", labels=["x"])).told
    assert found.kinds == {
        "a_facts": "sum",
        "a_lag_seconds": "gauge",
        "a_build_info": "gauge",
        "a_commit_seconds": "histogram",
    }
    assert found.figures["a_facts", (("source", "x"),)] == 3 and found.figures["a_facts", (("source", "y"),)] == 0.5
    assert found.figures["a_lag_seconds", ()] != found.figures["a_lag_seconds", ()]
    assert found.figures["a_build_info", (("version", "1"),)] == 1
    point = found.figures["a_commit_seconds", (("program", "p"),)]
    assert (point.count, round(point.sum, 4), len(point.explicit_bounds)) == (4, 99.0061, 14)
    assert [i for i, count in enumerate(point.bucket_counts) for _ in range(count)] == [0, 3, 3, 14]
    assert (point.start_time_unix_nano, point.time_unix_nano) == (5, 9) and not point.HasField("min")


def write(folder: Path, url: str, *, head: str = "", more: str = "") -> Path:
    (folder / "plant.tide").write_text(PROGRAM)
    file = folder / "plant.toml"
    file.write_text(FILE.format(url=url, head=head, more=more, folder=folder))
    return file


class Gateway:
    """A gateway that is told numbers by a socket, 20 at first."""

    def __init__(self, folder: Path, url: str, *, head: str = "", more: str = "") -> None:
        file = write(folder, url, head=head, more=more)
        self.folder = folder
        self._log = (folder / "log").open("ab")
        self.process = subprocess.Popen([*TIDELOG, "gateway", str(file)], stderr=self._log, cwd=folder)
        self._socket = socket.socket(socket.AF_UNIX)

    def say(self, numbers: Sequence[int]) -> None:
        """Tell it of these."""
        self._socket.sendall("".join(f"seen({n})@{n}\n" for n in numbers).encode())

    def told(self) -> int:
        """How many answers there are."""
        path = self.folder / "answers"
        return len(path.read_text().splitlines()) if path.exists() else 0

    @property
    def log(self) -> str:
        return (self.folder / "log").read_text()

    def stop(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        assert self.process.wait(WAIT) == 128 + signal.SIGTERM

    def __enter__(self) -> Gateway:
        eventually(lambda: self._socket.connect_ex(str(self.folder / "numbers")) == 0, process=self.process)
        self.say(range(20))
        return self

    def __exit__(self, *exc: object) -> None:
        self._socket.close()
        self.process.kill()
        self.process.wait(WAIT)
        self._log.close()


def taken(running: Collector) -> float:
    """How many facts the rules have taken, as the collector knows."""
    return sum(value for (name, _), value in running.figures.items() if name == "tidelog_facts_accepted")


@pytest.mark.slow
def test_what_metrics_tell_is_what_otlp_tells(tmp_path: Path) -> None:
    """Each figure, under the same name and labels, with the same value; who asks is told by `service.name`."""
    head, http = 'state = "state"', '[http]\nlisten = "127.0.0.1:0"'
    with collector() as running, Gateway(tmp_path, running.url, head=head, more=http) as gateway:
        eventually(lambda: taken(running) == 20, process=gateway.process)
        page = eventually(lambda: re.search(r"serving (\S+)/\n", gateway.log), process=gateway.process)[1]

        def scraped() -> dict[Any, float]:
            with urllib.request.urlopen(f"{page}/metrics") as answer:  # noqa: S310 - it is this machine
                families = list(text_string_to_metric_families(answer.read().decode()))
            found: dict[Any, float] = {}
            for sample in (sample for family in families for sample in family.samples):
                labels = tuple(sorted(sample.labels.items()))
                if not sample.name.startswith(MOVING) and not sample.name.endswith(("_created", "_bucket")):
                    found[sample.name.removesuffix("_total"), labels] = sample.value
            return found

        def pushed() -> dict[Any, float]:
            found: dict[Any, float] = {}
            for (name, labels), value in running.figures.items():
                if name.startswith(MOVING):
                    continue
                if running.kinds[name] == "histogram":
                    found |= {(f"{name}_count", labels): value.count, (f"{name}_sum", labels): value.sum}
                else:
                    found[name, labels] = value
            return found

        eventually(lambda: scraped() == pushed(), process=gateway.process)
        assert len(pushed()) > 20
        gateway.stop()
    assert running.resources[0]["service.name"] == "plant-7"


@pytest.mark.slow
def test_a_trace_leads_from_a_delivery_to_a_sink(tmp_path: Path) -> None:
    """By the commit between them; without `[http]`, and with what the collector wants to be told."""
    (tmp_path / "token").write_text("Bearer x")
    more = 'traces = 1.0\nheaders.Authorization = { file = "token" }'
    with collector() as running, Gateway(tmp_path, running.url, head='state = "state"', more=more) as gateway:
        eventually(lambda: any(span.name.startswith("send ") for span in running.spans), process=gateway.process)
        gateway.stop()
    spans = {span.span_id: span for span in running.spans}
    sent = next(span for span in running.spans if span.name == f"send {tmp_path}/answers")
    commit = spans[sent.parent_span_id]
    received = spans[commit.parent_span_id]
    assert [span.name for span in (received, commit)] == [f"receive unix://{tmp_path}/numbers", "commit"]
    assert len({span.trace_id for span in (received, commit, sent)}) == 1
    assert told(received)["tidelog.facts"] == "20" and told(received)["tidelog.program"] == "plant"
    assert all(span.start_time_unix_nano <= span.end_time_unix_nano for span in running.spans)
    assert running.headers["authorization"] == "Bearer x"


@pytest.mark.slow
@pytest.mark.long
def test_a_collector_that_is_away_holds_up_nobody(tmp_path: Path) -> None:
    """It is said once; when it is back, it is told all figures. One that never answers keeps no gateway from ending."""
    with collector() as running:
        port = running.port
    with Gateway(tmp_path, f"http://127.0.0.1:{port}", more="traces = 1.0") as gateway:
        eventually(lambda: "does not take figures" in gateway.log, process=gateway.process)
        eventually(lambda: gateway.told() > 10, process=gateway.process)
        with collector(port) as running:
            eventually(lambda: taken(running) == 20, process=gateway.process)
            errors = running.figures["tidelog_telemetry_errors", ()]
            assert errors >= 1 and running.figures["tidelog_telemetry_lost_spans", ()] >= 1
            eventually(lambda: "is there again" in gateway.log, process=gateway.process)
            running.hangs.clear()
            before = running.requests
            eventually(lambda: running.requests > before, process=gateway.process)
            gateway.say(range(20, 40))
            eventually(lambda: gateway.told() > 30, process=gateway.process)
            gateway.stop()
        assert gateway.log.count("does not take figures") == 1


def test_what_waits_to_be_sent_has_a_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of spans, and of deliveries that a commit is linked to; each sink has one span behind a commit."""
    monkeypatch.setattr(spans_module, "MAX_SPANS", 5)
    monkeypatch.setattr(spans_module, "MAX_LINKS", 3)
    spans = Spans(Resource({}))
    tracing = Tracing(spans, "plant", 0.5, iter([0.4, 0.6, 0.4, 0.4, 0.4, 0.4]).__next__)
    tracing.going_on("run", 0)
    for _ in range(6):
        tracing.took("0:numbers", Batch(received=0.0), [Rejected("a", "b", b"")])
    tracing.took("0:numbers", None, [])
    tracing.committing(6)
    tracing.committed(0.5)
    for sink in ("one", "one", "two"):
        tracing.delivered(sink, 3, 0.1)
    tracing.delivered("three", 0, 0.1)
    found = spans.take()
    assert [span.name for span in found] == ["receive numbers"] * 3 + ["commit", "send one"] and spans.dropped == 1
    assert len(found[3].links) == 2
    assert spans.take() == []


@pytest.mark.parametrize(
    ("url", "more", "reason"),
    [
        ("collector:4318", "", "`telemetry`: `endpoint` is of the form `http://HOST:PORT` or `https://HOST:PORT`"),
        ("http://a", 'ca = "no.pem"', "`telemetry`: `ca`: there is no file"),
        ("http://a", 'headers.A = { file = "no" }', "`telemetry`: `headers.A`: cannot read the secret"),
        ("http://a", "traces = 2", "traces"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, url: str, more: str, reason: str, capfd: pytest.CaptureFixture[str]) -> None:
    """Before anything runs."""
    assert main(["gateway", str(write(tmp_path, url, more=more)), "--check"]) == 1
    assert reason in capfd.readouterr().err


def test_nothing_is_loaded_where_nobody_asks() -> None:
    """The library is loaded where a file has `[telemetry]`, and nowhere else."""
    code = "import sys, json, tidelog.commands.gateways.running; print(json.dumps([*sys.modules]))"
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
    assert not [name for name in json.loads(done.stdout) if "opentelemetry" in name]

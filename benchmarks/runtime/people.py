"""Mails and alerts a second, beside what the libraries do that send them. Needs Alertmanager (`.ci/alertmanager`).

    python -m benchmarks.runtime.people [--count 2000]

Mails go to a server of aiosmtpd in a process of its own, by the sink and by `smtplib` alone, over one connection each, with
the same texts. Alerts go to Alertmanager, by the sink and by httpx alone, in lists of as many as the sink's.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import smtplib
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from pathlib import Path

import anyio
import httpx
from aiosmtpd.controller import Controller

import tidelog
from tidelog.connectors.http.posting import Endpoint
from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.templates import Template
from tidelog.connectors.notify.alertmanager import AT_ONCE, AlertmanagerSink
from tidelog.connectors.notify.alerts import AlertWriter
from tidelog.connectors.notify.letters import LetterWriter
from tidelog.connectors.notify.mail import MailSink
from tidelog.connectors.notify.smtp import MailServer
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.timeline import POS

PLAN = tidelog.compile("timeline integer, unit 1 s. input heat(n: integer). alarm hot(n: integer). hot(N) :- heat(N).")
ABOUT = About({alarm.name: alarm for alarm in PLAN.alarms})
SENDER, TO = "plant@example.org", "anna@example.org"


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class _Takes:
    async def handle_DATA(self, server: object, session: object, envelope: object) -> str:
        return "250 OK"


def _serve(port: int) -> None:
    Controller(_Takes(), "127.0.0.1", port).start()
    time.sleep(3600)


def wait_for(port: int) -> None:
    """Until somebody listens there."""
    while True:
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)


@contextmanager
def mail_server() -> Iterator[int]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_serve, args=(port,), daemon=True)
    process.start()
    wait_for(port)
    yield port
    process.kill()


@contextmanager
def alertmanager() -> Iterator[int]:
    port, program = free_port(), shutil.which("prometheus-alertmanager") or shutil.which("alertmanager")
    if program is None:
        raise SystemExit("Alertmanager is not there: run `.ci/alertmanager`")
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "am.yml").write_text("route: {receiver: nobody}\nreceivers: [{name: nobody}]\n")
        options = [f"--config.file={folder}/am.yml", f"--storage.path={folder}", f"--web.listen-address=127.0.0.1:{port}"]
        with subprocess.Popen([program, *options, "--cluster.listen-address="], stderr=subprocess.DEVNULL) as process:
            wait_for(port)
            yield port
            process.kill()


def answers(count: int) -> list[ChangeRecord]:
    return [ChangeRecord("hot", (n,), 1_700_000_000 + n, POS) for n in range(count)]


def letter_writer() -> LetterWriter:
    texts = ("{state}: {text}", "{text}\n\n{state}, {when}\n")
    subject, text = (Template(PLAN.schema, one, iso=True, outputs=["hot"], about=ABOUT) for one in texts)
    return LetterWriter(SENDER, [TO], subject, text, "plant")


def mails_by_sink(port: int, count: int) -> float:
    async def run() -> None:
        server = MailServer("127.0.0.1", port, "none")
        async with MailSink("mail", server, PLAN.schema, letter_writer(), digest=count) as sink:
            for at in range(0, count, 500):
                await sink.send(told[at : at + 500])

    told, begin = answers(count), time.perf_counter()
    anyio.run(run, backend="trio")
    return count / (time.perf_counter() - begin)


def mails_by_library(port: int, count: int) -> float:
    begin = time.perf_counter()
    with smtplib.SMTP("127.0.0.1", port) as client:
        for n in range(count):
            message = EmailMessage()
            message["From"], message["To"], message["Subject"] = SENDER, TO, f"begins: hot({n})"
            message["Message-ID"] = f"<run-{n}@example.org>"
            message.set_content(f"hot({n})\n\nbegins, since 2023-11-14T22:13:20Z\n")
            client.send_message(message)
    return count / (time.perf_counter() - begin)


def alerts_by_sink(url: str, count: int) -> float:
    async def run() -> None:
        labels = AlertWriter(
            PLAN.schema,
            "plant",
            outputs=["hot"],
            labels={},
            annotations={"summary": "{text}"},
            iso=True,
            about=ABOUT,
        )
        async with AlertmanagerSink("alerts", Endpoint(url), PLAN.schema, labels) as sink:
            await sink.send(told)

    told, begin = answers(count), time.perf_counter()
    anyio.run(run, backend="trio")
    return count / (time.perf_counter() - begin)


def alerts_by_library(url: str, count: int) -> float:
    begin = time.perf_counter()
    with httpx.Client() as client:
        for at in range(0, count, AT_ONCE):
            alerts = [
                {
                    "labels": {"alertname": "hot", "gateway": "bare", "severity": "medium", "n": str(n)},
                    "annotations": {"summary": f"hot({n})"},
                    "startsAt": "2023-11-14T22:13:20.000000Z",
                    "endsAt": "2099-11-14T22:13:20.000000Z",
                }
                for n in range(at, min(at + AT_ONCE, count))
            ]
            client.post(url, content=json.dumps(alerts), headers={"content-type": "application/json"}).raise_for_status()
    return count / (time.perf_counter() - begin)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=2000)
    count = parser.parse_args().count
    with mail_server() as port:
        bare, ours = mails_by_library(port, count), mails_by_sink(port, count)
    print(f"mails a second: {ours:,.0f} by the sink, {bare:,.0f} by smtplib: {ours / bare:.2f} x")
    with alertmanager() as port:
        url = f"http://127.0.0.1:{port}/api/v2/alerts"
        bare, ours = alerts_by_library(url, 10 * count), alerts_by_sink(url, 10 * count)
    print(f"alerts a second: {ours:,.0f} by the sink, {bare:,.0f} by httpx: {ours / bare:.2f} x")


if __name__ == "__main__":
    main()

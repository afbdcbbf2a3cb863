"""A gateway that tells people, a server for mail and Alertmanager, each of which is killed: nothing is lost, nothing is told
as something new, and what holds is known in the end."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest
from killed import Child
from receivers import Mailbox, Post, alertmanager, mail_server

from brokers import free_port
from waiting import eventually

KILLS = int(os.environ.get("KILLS", "20"))
COUNT, HOLDING = 150, range(20)
PROGRAM = """timeline integer, unit 1 s, round down.
input heat(n: integer).
alarm hot(n: integer), text "Machine {n} is hot".
hot(N) :- heat(N).
"""
SETTINGS = """program = "plant.tide"
state = "state"
dead_letters = "letters.jsonl"

[[source]]
name = "readings"
type = "spec"
spec = "readings.jsonl"

[[source]]
name = "open"
type = "spec"
spec = "tcp+listen://127.0.0.1:{listen}"

[[sink]]
name = "mail"
type = "mail"
host = "127.0.0.1"
port = {mail}
tls = "none"
from = "plant@example.org"
to = ["anna@example.org"]
subject = "{{n}} {{state}}"
digest = 1000000
retry_longest = 0.05

[[sink]]
name = "alerts"
type = "alertmanager"
url = "http://127.0.0.1:{alertmanager}"
repeat = 0.3
retry_longest = 0.05
"""


def facts() -> str:
    """Some heat for each machine, but for some where it stays; and one fact behind all of it, with which time goes on."""
    lines = []
    for n in range(COUNT):
        end = 10**10 if n in HOLDING else 10 * n + 5
        lines.append(json.dumps({"heat": {"n": n}, "interval": f"[{10 * n},{end}]"}) + "\n")
    return "".join(lines) + json.dumps({"heat": {"n": COUNT}, "interval": f"[{10 * COUNT},{10**10}]"}) + "\n"


@pytest.mark.slow
@pytest.mark.long
def test_whoever_is_killed_people_are_told_all_of_it(tmp_path: Path) -> None:
    """At twenty moments that are drawn, alone and together, while mails and alerts are on their way."""
    draw = random.Random(int(os.environ.get("SEED", "1")))
    (tmp_path / "plant.tide").write_text(PROGRAM)
    (tmp_path / "readings.jsonl").write_text(facts())
    mail_port = free_port()

    def slowly(post: Post) -> str | None:
        time.sleep(0.01)  # so that there is something on its way for as long as anybody is killed
        return None

    box = Mailbox(refuse_data=slowly)
    with alertmanager(tmp_path / "am") as running, ExitStack() as stack:
        ports = {"mail": mail_port, "alertmanager": running.port, "listen": free_port()}
        (tmp_path / "plant.toml").write_text(SETTINGS.format(**ports))
        served = ExitStack()
        stack.callback(served.close)

        def serve() -> None:
            served.enter_context(mail_server(box, port=mail_port))

        gateway = stack.enter_context(Child("-m", "tidelog", "gateway", str(tmp_path / "plant.toml")))
        serve()
        ends: dict[str, tuple[Callable[[], object], Callable[[], object]]] = {
            "alertmanager": (running.kill, running.start),
            "gateway": (lambda: gateway.end(signal.SIGKILL), gateway.start),
            "mail": (served.close, serve),
        }
        others, begun = sorted(ends.keys() - {"gateway"}), time.monotonic()
        eventually(lambda: box.posts)
        for i in range(KILLS):
            time.sleep(draw.uniform(0, 0.3))
            chosen = draw.sample(others, draw.choice((1, 1, 2)))
            if i % 3 == 2:  # a gateway takes a while to start, so it lives longer
                time.sleep(max(0.0, begun + draw.uniform(1.2, 1.9) - time.monotonic()))
                chosen = [*draw.choice(([], chosen)), "gateway"]
                begun = time.monotonic()
            for name in chosen:
                ends[name][0]()
            time.sleep(draw.uniform(0, 0.1))
            for name in chosen:
                ends[name][1]()
        expected = {f"{n} begins" for n in range(COUNT)} | {f"{n} ended" for n in range(COUNT) if n not in HOLDING}
        eventually(lambda: {str(post.message["Subject"]) for post in list(box.posts)} >= expected)
        eventually(lambda: set(running.alerts()) == set(map(str, HOLDING)))
    told = {(str(post.message["Message-ID"]), str(post.message["Subject"])) for post in box.posts}
    assert len(told) == len({name for name, _ in told}) == len({subject for _, subject in told}) == len(expected)
    assert not (tmp_path / "letters.jsonl").read_text()

"""A gateway between two streams, and the server of both, that are killed: each message counts once, and each answer stands
in its stream once, as the server drops what comes again."""

from __future__ import annotations

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest
from nats.js import JetStreamContext

from children import WAIT
from natsservers import NatsServer, nats_server
from services import NUMBERS, gateway_of
from waiting import eventually

FILE = """program = "plant.tide"
emit = "intervals"
state = "state"
[[source]]
name = "numbers"
type = "nats"
url = "{url}"
subject = "numbers.>"
[[source.map]]
predicate = "seen"
time = {{ path = "n", format = "s" }}
[[sink]]
name = "answers"
type = "nats"
url = "{url}"
subject = "answers.{{n}}"
payload = {{ n = "{{n}}" }}
"""
KILLS = int(os.environ.get("KILLS", "10"))


def stored(server: NatsServer) -> int:
    """How many answers there are."""
    return server.ask(lambda js: js.stream_info("answers")).state.messages


def answers(server: NatsServer) -> list[int]:
    """Their numbers, in the order of the stream."""

    async def read(js: JetStreamContext) -> list[int]:
        count = (await js.stream_info("answers")).state.messages
        reading = await js.subscribe("answers.>", ordered_consumer=True)
        return [int(json.loads((await reading.next_msg(WAIT)).data)["n"]) for _ in range(count)]

    return server.ask(read)


def run(folder: Path, kills: int) -> None:
    """Publish numbers while the gateway, or the server, is killed again and again; all is told once, in order."""
    draw = random.Random(int(os.environ.get("SEED", "1")))
    (folder / "plant.tide").write_text(NUMBERS)
    with nats_server(folder / "nats") as server:
        (folder / "plant.toml").write_text(FILE.format(url=server.url))
        server.make("numbers", "numbers.>")
        server.make("answers", "answers.>", duplicate_window=3600)
        sent = 0

        def send() -> int:
            server.publish("numbers.a", [b'{"n":%d}' % n for n in range(sent, sent + 50)])
            return sent + 50

        with gateway_of(folder / "plant.toml") as gateway:
            for kill in range(kills):
                before, sent = stored(server), send()
                eventually(lambda before=before: stored(server) > before, process=gateway)
                time.sleep(draw.uniform(0, 0.1))
                if kill % 2:
                    server.kill()
                    server.start()
                else:
                    gateway.restart()
            sent = send()
            eventually(lambda: stored(server) >= sent - 1, process=gateway)
            assert gateway.end(signal.SIGTERM) == 128 + signal.SIGTERM
            found = answers(server)
    assert sorted(found) == list(range(len(found))) and len(found) in (sent - 1, sent)


@pytest.mark.slow
def test_a_kill_of_each_costs_nothing(tmp_path: Path) -> None:
    """Once the gateway, and once the server."""
    run(tmp_path, 2)


@pytest.mark.slow
@pytest.mark.long
def test_many_kills_cost_nothing(tmp_path: Path) -> None:
    """By turns, while messages come."""
    run(tmp_path, 2 * KILLS)

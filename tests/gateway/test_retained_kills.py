"""Nothing stays retained for ever, and nothing that holds is missing, whoever is killed, and whenever."""

from __future__ import annotations

import json
import signal
from contextlib import ExitStack
from pathlib import Path

import pytest
from test_kills import chance, live, sender_to
from test_retained import retained_at

from brokers import broker
from services import gateway_of
from waiting import eventually

PROGRAM = """timeline integer, unit 1 ms.
input set(machine: text, mode: text, n: integer).
output mode(machine: text, mode: text).
now(M, X) :- latest set(M, X, _) by M in [1000000000].
mode(M, X) :- now(M, X), X != off.
"""
SETTINGS = """program = "plant.tide"
state = "state"
lateness = "0 ms"
[[source]]
name = "floor"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
retry_longest = 0.1
by = "machine"
[[source.map]]
topic = "set/{{machine}}"
predicate = "set"
time = {{ path = "t", format = "ms" }}
[[sink]]
name = "modes"
type = "mqtt"
url = "mqtt://127.0.0.1:{port}"
topic = "mode/{{machine}}"
payload = "{{mode}}"
retain = "while-holding"
retry_longest = 0.1
"""
KILLS, MACHINES = 10, 6
MODES = ("auto", "hand", "off", "service")


@pytest.mark.slow
@pytest.mark.long
@pytest.mark.parametrize("who", ["broker", "gateway"])
def test_what_is_retained_is_what_holds(tmp_path: Path, who: str) -> None:
    """Killed ten times while modes change: in the end each machine's topic has its mode, and none has an old one.

    Devices say their mode until the broker has it; one that forgets all when it is killed is told it again.
    """
    (tmp_path / "plant.tide").write_text(PROGRAM)
    draw = chance()
    with broker(tmp_path / "broker", keeps=who == "gateway") as running, ExitStack() as stack:
        (tmp_path / "plant.toml").write_text(SETTINGS.format(port=running.port))
        gateway = stack.enter_context(gateway_of(tmp_path / "plant.toml"))
        sender = stack.enter_context(sender_to(running.port))
        state, number = dict.fromkeys(range(MACHINES), "auto"), 0

        def tell() -> None:
            nonlocal number
            for machine, mode in state.items():
                number += 1
                sender.publish(f"set/m{machine}", json.dumps({"mode": mode, "n": number, "t": number}), 1)

        def is_so(marker: str) -> bool:
            tell()
            expected = {f"mode/m{machine}": mode for machine, mode in state.items() if mode != "off"}
            found = retained_at(running, marker)
            return {topic: mode for topic, mode in found.items() if topic.startswith("mode/")} == expected

        eventually(lambda: is_so("first"))
        for _ in range(KILLS):
            for machine in state:
                state[machine] = draw.choice(MODES)
                tell()
            live(draw, 0.3 if who == "broker" else 0.7)
            if who == "broker":
                running.kill()
                running.start()
            else:
                gateway.end(signal.SIGKILL)
                gateway.start()
        eventually(lambda: is_so("last"))
        state.update(dict.fromkeys(state, "off"))
        eventually(lambda: is_so("none"))

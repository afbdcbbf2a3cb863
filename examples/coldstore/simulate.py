"""Plays the devices of a cold store to a broker, as fast as life, or faster.

    python examples/coldstore/simulate.py [--host 127.0.0.1] [--port 1883] [--seconds 3600] [--speed 1] [--seed 1]

Each room's temperature swings around -18 °C, and rises while its door is open or its defroster is on. Doors are opened
now and then, and sometimes left open; a device falls silent now and then. With `--speed 1` times are those of the clock.
With any other speed an hour of the plant ends now, and is played as fast as told (0: at once): then a gateway must have no
`clock`, by which all of it would be late.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion

ROOMS = ("r1", "r2", "r3")
Message = tuple[int, str, dict[str, object]]


def messages(seconds: int, seed: int) -> Iterator[Message]:
    """What the devices send: the second, the topic and the payload of each message."""
    chance = random.Random(seed)
    rooms = {name: _Room(random.Random(chance.random())) for name in ROOMS}
    for second in range(seconds):
        for name, room in rooms.items():
            for kind, payload in room.live(second):
                yield second, f"coldstore/{name}/{kind}", payload


class _Room:
    """One room: how warm it is, and what its door and its defroster do."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._celsius, self._closes, self._defrosts, self._speaks = -18.0, 0, 0, 0

    def live(self, second: int) -> Iterator[tuple[str, dict[str, object]]]:
        """One second, and what is sent in it."""
        warming = 0.04 if second < self._closes else 0.02 if second < self._defrosts else 0.0
        self._celsius += warming + (-18.0 - self._celsius) * 0.003 + self._chance.gauss(0, 0.02)
        if self._closes <= second and self._chance.random() < 1 / 400:
            self._closes = second + int(self._chance.choice((10, 20, 30, 400)))
            yield "door", {"open": True}
        elif second == self._closes > 0:
            yield "door", {"open": False}
        if second % 1800 == 900:
            self._defrosts = second + 300
            yield "defroster", {"state": "on"}
        elif second == self._defrosts > 0:
            yield "defroster", {"state": "off"}
        if second % 10 == 0:
            yield "temp", {"f": round(self._celsius * 9 / 5 + 32, 2)}
        if second % 30 == 0 and second >= self._speaks:
            yield "alive", {"uptime": second}
            if self._chance.random() < 1 / 60:
                self._speaks = second + 300


def play(client: Client, options: argparse.Namespace) -> int:
    """Publish the messages, each at its time; returns how many there were."""
    count, start = 0, time.time()
    begin = start if options.speed == 1 else start - options.seconds
    for second, topic, payload in messages(options.seconds, options.seed):
        if options.speed:
            time.sleep(max(0.0, start + second / options.speed - time.time()))
        told = json.dumps({**payload, "ts": int((begin + second) * 1000)})
        client.publish(topic, told, qos=1).wait_for_publish(60)
        count += 1
    return count


def main() -> None:
    """Read the options and play."""
    parser = argparse.ArgumentParser(description="Play the devices of a cold store.")
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=1883)
    parser.add_argument("--seconds", type=int, default=3600, help="how long the plant lives")
    parser.add_argument("--speed", type=float, default=1, help="how many times faster than life; 0: at once")
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    client = Client(CallbackAPIVersion.VERSION2, client_id="coldstore")
    client.connect(options.host, options.port)
    client.loop_start()
    print(f"{play(client, options)} messages")
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    main()

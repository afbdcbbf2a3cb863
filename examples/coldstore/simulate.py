"""Plays the devices of a cold store to a broker, as fast as life, or faster.

    python examples/coldstore/simulate.py [--host 127.0.0.1] [--port 1883] [--seconds 3600] [--speed 1] [--seed 1] [--trip]

plant.py beside it says what they do. With `--trip` pump p1 trips after ten seconds: within a minute it is one line of the
page, with forty rooms folded into it. With `--speed 1` times are those of the clock. With any other speed an hour of the
plant ends now, and is played as fast as told (0: at once): then a gateway must have no `clock`, by which all would be late.
"""

import argparse
import json
import time

from paho.mqtt.client import Client
from paho.mqtt.enums import CallbackAPIVersion
from plant import readings

TRIP = 10
"""When the pump trips, in seconds."""


def payload(kind: str, value: float | str) -> dict[str, object]:
    """What a device sends of a reading."""
    match kind, value:
        case "temp", float():
            return {"f": round(value * 9 / 5 + 32, 2)}
        case "flow", _:
            return {"litres": value}
        case "door", _:
            return {"open": value == "open"}
        case "alive", _:
            return {}
        case _:
            return {"state": value}


def play(client: Client, options: argparse.Namespace) -> int:
    """Publish the readings, each at its time; returns how many there were."""
    count, start = 0, time.time()
    begin = start if options.speed == 1 else start - options.seconds
    for second, place, kind, value in readings(options.seconds, options.seed, TRIP if options.trip else None):
        if options.speed:
            time.sleep(max(0.0, start + second / options.speed - time.time()))
        told = json.dumps({**payload(kind, value), "ts": int((begin + second) * 1000)})
        client.publish(f"coldstore/{place}/{kind}", told, qos=1).wait_for_publish(60)
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
    parser.add_argument("--trip", action="store_true", help="a pump trips, and forty rooms have no brine")
    options = parser.parse_args()
    client = Client(CallbackAPIVersion.VERSION2, client_id="coldstore")
    client.connect(options.host, options.port)
    client.loop_start()
    print(f"{play(client, options)} messages")
    client.disconnect()
    client.loop_stop()


if __name__ == "__main__":
    main()

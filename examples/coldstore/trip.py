"""What the desk shows when a pump trips that forty rooms hang on, without a broker and a gateway.

    python examples/coldstore/trip.py [--seconds 120]

It plays plant.py into a session, and prints the list of open alarms as operators see it: before the trip, behind it, and
once somebody has taken it on. With `--seconds 900` the rooms have become warm, too.
"""

import argparse
from pathlib import Path

from plant import readings

import tidelog

TRIP = 60
"""When the pump trips, in seconds."""


def main() -> None:
    """Play, and print."""
    parser = argparse.ArgumentParser(description="What the desk shows when a pump trips.")
    parser.add_argument("--seconds", type=int, default=120, help="how long the plant lives")
    seconds = parser.parse_args().seconds
    plan = tidelog.compile_path(Path(__file__).parent / "coldstore.tide", desk=True)
    session = tidelog.Session(plan, held=True)
    for second, place, kind, value in readings(seconds, trip=TRIP):
        if (second, place, kind) == (TRIP, "p1", "machine"):
            show(f"before the trip, at {second} s", session)
        session.push(kind, [place] if kind == "alive" else [place, value], time=second)
        session.pull()
    session.advance(seconds)
    session.pull()
    show(f"at {seconds} s", session)
    session.acknowledge("pump_tripped", ["p1"], who="anna", comment="on my way", time=seconds)
    session.advance(seconds + 1)
    session.pull()
    show(f"at {seconds + 1} s", session)


def show(when: str, session: tidelog.Session) -> None:
    """Print the alarms that are told by themselves, and how many there are in all."""
    alarms = session.open_alarms()
    lines = [line(alarm) for alarm in alarms if alarm.cause is None]
    print(f"{when}: {len(alarms)} alarms, {len(lines)} to be read", *lines, sep="\n  ")


def line(alarm: tidelog.OpenAlarm) -> str:
    """One alarm as a line."""
    folded = f", and {alarm.folded} that follow from it" if alarm.folded else ""
    said = "".join(f" by {deed.who}: {deed.comment}" for deed in alarm.acknowledged)
    return f"{alarm.priority:8} {alarm.text}{folded} ({alarm.state}{said})"


if __name__ == "__main__":
    main()

"""The reasoner inside a loop of one's own: no tasks, no sockets, just calls. It survives a restart by a snapshot.

    python examples/gateway/embed.py

A control loop reads a sensor every 4 seconds, pushes the reading, and acts when something begins to hold, or has ended: that
is what `emit="changes"` tells, each once it is certain. Halfway the loop is "restarted": its state goes through JSON into a
new session, which goes on as if nothing had happened. At last the sensor falls silent, and only the clock goes on.
"""

import json
from collections.abc import Iterator
from pathlib import Path

import tidelog

PLAN = tidelog.compile_path(Path(__file__).with_name("gateway.tide"))


def readings() -> Iterator[tuple[int, float]]:
    """What the sensor of one machine says, by the second: it heats up, runs hot, cools down."""
    for second in range(0, 80, 4):
        yield second, 85.5 if 12 <= second < 60 else 70.0


def restarted(session: tidelog.Session) -> tidelog.Session:
    """A new session with the state of the old one, which could come from a file as well."""
    text = json.dumps(session.snapshot())
    fresh = tidelog.Session(PLAN, emit="changes")
    fresh.restore(json.loads(text))
    return fresh


def main() -> None:
    """Run the loop, and print each change when it becomes certain."""
    session = tidelog.Session(PLAN, emit="changes")
    for second, celsius in readings():
        session.push("temp", ["press", celsius], time=second)
        if second == 36:
            session.push("fan", ["press"], time=second)
        for change in session.pull():
            print(f"at {second} s: {change}")
        if second == 40:
            session = restarted(session)
    session.advance(120)
    for change in session.pull():
        print(f"at 120 s: {change}")


if __name__ == "__main__":
    main()

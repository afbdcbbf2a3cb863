"""`tidelog init`: a small gateway that runs at once, with a simulated plant, and tests of its rules."""

from __future__ import annotations

import math
import os
from pathlib import Path

import msgspec

from tidelog.plans.diagnostics.errors import SpecError

PROGRAM = """\
% A cold store: what is too warm, which door stands open, which sensor says nothing. `tidelog test .` tests it.

timeline integer, unit 1 s, round down.
input temp(room: text, celsius: number).
input door(room: text, state: text).
output too_warm(room), door_open(room), silent(room).

% A reading counts for 3 seconds: they come every second.
warm(R) :- latest temp(R, C) by R in [3 s], C > -15.

% Too warm for 5 seconds on end.
too_warm(R) :- warm(R) for 5 s.

% A door that was opened and has not been closed since, for 10 seconds on end.
open(R) :- latest door(R, S) by R in [1 h], S = open.
door_open(R) :- open(R) for 10 s.

% There was a reading within the last minute, and none in the last 5 seconds.
silent(R) :- temp(R, _) within 1 min, not temp(R, _) within 5 s.
"""

SETTINGS = """\
# A gateway: `tidelog gateway plant.toml` runs it, `--check` says what is wrong with it, `--try messages.jsonl` what messages
# become. docs/reference/gateway.md has all that may stand here.
program = "plant.tide"
lateness = "0 s"
clock = "1 s"                   # facts come at most a second behind the machine's clock

# A simulated plant: messages from a file, for ever. For a real one, put a broker into its place:
#
#   type = "mqtt"
#   url = "mqtt://localhost:1883"
[[source]]
name = "plant"
type = "replay"
file = "messages.jsonl"

# `cold/north/temp` with `{"celsius": -18.5}` becomes temp(north, -18.5).
[[source.map]]
topic = "cold/{room}/temp"
predicate = "temp"

# `cold/north/door` with `{"open": true}` becomes door(north, open).
[[source.map]]
topic = "cold/{room}/door"
predicate = "door"
fields.state = { path = "open", values = { true = "open", false = "closed" } }

# The page: http://127.0.0.1:8080/
[http]
listen = "127.0.0.1:8080"

# Answers go to standard output, as JSON lines.
[[sink]]
name = "screen"
type = "spec"
spec = "-"
"""

TESTS = """\
# Tests of the rules, run with `tidelog test .`
program = "plant.tide"

[[test]]
name = "a room is too warm after five seconds"
facts = \"\"\"
temp(north,-18)@0
temp(north,-12)@1
temp(north,-12)@3
temp(north,-12)@5
temp(north,-18)@7
\"\"\"
at."5" = ""
at."6" = "too_warm(north)"

[[test]]
name = "a door that is closed in time is no alarm"
facts = \"\"\"
door(north,open)@0
temp(north,-18)@4
temp(north,-18)@8
door(north,closed)@9
temp(north,-18)@12
\"\"\"
at."11" = ""
"""

_ROOMS = ("north", "south")
_SECONDS = 40
_BEGIN = 1_767_225_600
"""When the recorded messages came: 2026-01-01T00:00:00Z."""


def start(folder: Path) -> list[str]:
    """Write the files into a folder, which is made if it is not there; returns their names.

    SpecError where one of them is there already, or the folder cannot be written.
    """
    files = {
        "plant.tide": PROGRAM,
        "plant.toml": SETTINGS,
        "plant.tide.toml": TESTS,
        "messages.jsonl": "".join(_messages()),
    }
    taken = [name for name in files if os.path.lexists(folder / name)]
    if taken:
        raise SpecError(f"`{folder / taken[0]}` is there already: choose another folder, nothing is overwritten")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise SpecError(f"cannot write to `{folder}`: {error.strerror}") from None
    return list(files)


def _messages() -> list[str]:
    """What two rooms send in 40 seconds: one warms up while its door stands open; the other's sensor falls silent."""
    lines = []
    for second in range(_SECONDS):
        for room in _ROOMS:
            if room == "south" and second >= 28:
                continue
            bump = 7.0 * math.sin((second - 4) / 20 * math.pi) if room == "north" and 4 <= second < 24 else 0.0
            celsius = round(-18.5 + max(bump, 0.0) + 0.2 * math.sin(second * 1.7), 1)
            lines.append(_line(f"cold/{room}/temp", {"celsius": celsius}, second))
        if second in (3, 18):
            lines.append(_line("cold/north/door", {"open": second == 3}, second))
    return lines


def _line(topic: str, payload: dict[str, object], second: int) -> str:
    return msgspec.json.encode({"topic": topic, "payload": payload, "at": _BEGIN + second}).decode() + "\n"

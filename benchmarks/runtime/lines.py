"""The whole way of a line: from a file through `tidelog run` to a file of answers, in each form that data may have.

Figures are CPU time a line, all that the command does less what it does with an empty file; it runs in this process, so that
nothing is loaded. `hot(S)` at 50 places, which repeat, is told each second; readings have a new value each, and states of a
machine come one a second. Run alone: `python -m benchmarks.runtime.lines`.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, show
from benchmarks.lars.sessions import collecting_seldom
from benchmarks.measure import Run, cpu_by_turns
from tidelog.cli import main

LINES, REPEATS, PLACES = 200_000, 5, 50
DURATION = "input hot(s). output alarm. alarm(S) :- boxminus[0,9] hot(S)."
FILTER = "input temp(sensor, value: number). output high. high(S, V) :- temp(S, V), V > 50."
_STATE = "input state(p: boolean, q: boolean). p :- state(true, _). q :- state(_, true). "
ONCE = f"{_STATE}output bad. bad :- p, not diamondminus[0,9] q."
SINCE = f"{_STATE}output held. held :- p since q."
TARGETS = {"JSON lines": 1.2, "states, once": 3.0, "states, since": 5.0}


def _hot(write: Callable[[str, int], str]) -> Callable[[int], list[str]]:
    return lambda count: [write(f"s{i % PLACES}", i // PLACES) for i in range(count)]


def _readings(count: int) -> list[str]:
    chance = random.Random(1)
    values = [f'["s{i % PLACES}",{100 * chance.random():.6f}]' for i in range(count)]
    return [f'{{"predicate":"temp","args":{value},"time":{i // 5}}}' for i, value in enumerate(values)]


def _states(count: int) -> list[str]:
    chance = random.Random(2)
    members = [f'"p":{_json(chance.random() < 0.9)},"q":{_json(chance.random() < 0.1)}' for _ in range(count)]
    return [f'{{"state":{{{member}}},"time":{time}}}' for time, member in enumerate(members)]


def _json(value: bool) -> str:
    return str(value).lower()


CASES: dict[str, tuple[str, str, Callable[[int], list[str]]]] = {
    "JSON lines": (DURATION, "jsonl", _hot(lambda s, t: f'{{"predicate":"hot","args":["{s}"],"time":{t}}}')),
    "JSON lines by field": (DURATION, "jsonl", _hot(lambda s, t: f'{{"hot":{{"s":"{s}"}},"time":{t}}}')),
    "JSON lines, time first": (DURATION, "jsonl", _hot(lambda s, t: f'{{"time":{t},"predicate":"hot","args":["{s}"]}}')),
    "JSON lines, intervals": (DURATION, "jsonl", _hot(lambda s, t: f'{{"hot":{{"s":"{s}"}},"interval":"[{t},{t}]"}}')),
    "JSON lines, dates": (
        DURATION,
        "jsonl",
        _hot(lambda s, t: f'{{"hot":{{"s":"{s}"}},"time":"1970-01-01T{t // 3600:02}:{t // 60 % 60:02}:{t % 60:02}Z"}}'),
    ),
    "CSV": (DURATION, "csv", lambda count: ["s,time", *_hot(lambda s, t: f"{s},{t}")(count)]),
    "text": (DURATION, "txt", _hot(lambda s, t: f"hot({s})@{t}")),
    "readings": (FILTER, "jsonl", _readings),
    "states, once": (ONCE, "jsonl", _states),
    "states, since": (SINCE, "jsonl", _states),
}


def run(lines: int = LINES, repeats: int = REPEATS) -> list[Figure]:
    """Microseconds of CPU a line."""
    figures = []
    with collecting_seldom(), TemporaryDirectory() as folder:
        for name, (program, ending, write) in CASES.items():
            whole = _command(Path(folder), program, ending, write(lines))
            empty = _command(Path(folder), program, ending, write(lines)[: ending == "csv"])
            all_of_it, start = cpu_by_turns([whole, empty], repeats)
            cost = 1e6 * (all_of_it - start) / lines
            figures.append(Figure("lines", f"{name}, a line", cost, "µs", TARGETS.get(name)))
    return figures


def _command(folder: Path, program: str, ending: str, lines: Iterable[str]) -> Callable[[], Run]:
    """What prepares a run of the command over a file with these lines."""
    text = "".join(f"{line}\n" for line in lines)

    def prepare() -> Run:
        rules, facts, answers = folder / "rules.tide", folder / f"hot.{ending}", folder / "answers.jsonl"
        rules.write_text(f"timeline integer, unit 1 s. {program}", "utf-8")
        facts.write_text(text, "utf-8")
        return partial(_run, ["run", str(rules), "--in", str(facts), "--out", str(answers)])

    return prepare


def _run(arguments: list[str]) -> None:
    with suppress(SystemExit):
        main(arguments)


if __name__ == "__main__":
    show(run)

"""What `--help` shows beside the options: two examples of each command, and the groups that options stand in."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypedDict

EXAMPLES: Mapping[str, tuple[tuple[str, str], tuple[str, str]]] = {
    "check": (
        ("tidelog check alarm.tide", "errors and warnings, with their places"),
        ("tidelog check -v alarm.tide", "moreover how late answers are, and what is kept"),
    ),
    "explain": (
        ("tidelog explain alarm.tide", "the steps of the program"),
        ("tidelog explain alarm.tide --format svg > alarm.svg", "the same as a picture"),
    ),
    "run": (
        ("tidelog run alarm.tide --in readings.csv?predicate=temp --emit changes", "a file, to the terminal"),
        (
            "tidelog run alarm.tide --in tcp+listen://127.0.0.1:7070 --out alarms.jsonl --state state",
            "a stream that goes on after a restart",
        ),
    ),
    "ask": (
        ("tidelog ask alarm.tide --in readings.txt --query 'alarm(X)@T'", "what may still follow"),
        (
            "tidelog ask alarm.tide --query 'alarm(X)@T' --min-evidence 2 --group",
            "from standard input, with two facts at least",
        ),
    ),
    "materialise": (
        ("tidelog materialise rules.tide facts.txt", "all that follows"),
        ("tidelog materialise rules.tide temp.parquet zone.csv --until 100 --stats", "of several files, up to a time"),
    ),
    "backtest": (
        (
            "tidelog backtest old.tide new.tide --in year.parquet?predicate=temp --labels faults.csv",
            "two programs over one history",
        ),
        (
            "tidelog backtest alarm.tide alarm.tide --set LIMIT=70..95:1 --in year.parquet?predicate=temp",
            "26 values of a parameter",
        ),
    ),
    "plot": (
        ("tidelog plot alarm.tide readings.txt --out alarm.svg", "what follows, as a timeline"),
        (
            "tidelog plot alarm.tide readings.txt --begin 0 --end 3600 --predicate alarm --out alarm.svg",
            "one predicate for an hour",
        ),
    ),
    "entails": (
        ("tidelog entails rules.tide facts.txt --fact 'alarm(p1)@[3,7]'", "exit code 0: it follows; 1: it does not"),
        (
            "tidelog entails rules.tide facts.txt --fact 'alarm(p1)@3' --method automata",
            "by automata, whatever the recursion",
        ),
    ),
    "consistent": (
        ("tidelog consistent rules.tide facts.txt", "exit code 0: there is a model; 1: there is none"),
        ("tidelog consistent rules.tide facts.txt --method automata", "by automata, whatever the recursion"),
    ),
    "replay": (
        ("tidelog replay state alarm.tide", "all that the run has kept"),
        ("tidelog replay state new.tide --from 100 --to 200 --emit changes", "what changed rules would have told"),
    ),
    "state": (
        ("tidelog state state", "what a run has stored, and how much"),
        ("tidelog state gateway/state/plant", "the same of a gateway's program"),
    ),
    "why": (
        ("tidelog why alarm.tide readings.txt --fact 'alarm(p1)@7'", "the proof, or what is missing"),
        ("tidelog why alarm.tide readings.txt --fact 'alarm(p1)@7' --format json > why.json", "a certificate"),
    ),
    "verify": (
        ("tidelog verify alarm.tide readings.txt why.json", "exit code 0: the certificate is right"),
        ("tidelog verify alarm.tide why.json --state state", "by the facts that a run has kept"),
    ),
    "fmt": (
        ("tidelog fmt --check rules/*.tide", "exit code 1 where one is written in another way"),
        ("tidelog fmt alarm.tide", "the file is written anew"),
    ),
    "test": (
        ("tidelog test tests.toml", "the tables of one file"),
        ("tidelog test rules -x --junit report.xml", "all below a folder, up to the first that fails"),
    ),
    "types": (
        ("tidelog types alarm.tide > alarm_types.py", "a dataclass for each output"),
        ("tidelog types rules/alarm.tide", "to the terminal"),
    ),
    "peek": (
        ("tidelog peek readings.csv", "the first facts, and how the file is read"),
        ("tidelog peek readings.csv --predicate temp --rows 20 > temp.tide", "the beginning of a program"),
    ),
    "init": (
        ("tidelog init plant", "a folder with rules, a file of a gateway, tests"),
        ("tidelog init ~/gateway", "the same elsewhere"),
    ),
    "gateway": (
        ("tidelog gateway plant.toml", "run, until it is stopped"),
        ("tidelog gateway plant.toml --check --connect", "only say what is wrong, and try what it connects to"),
    ),
    "lsp": (
        ("tidelog lsp", "what an editor starts"),
        ("tidelog lsp < requests", "requests from a file"),
    ),
    "completion": (
        ("tidelog completion bash >> ~/.bashrc", "for bash"),
        ("tidelog completion fish > ~/.config/fish/completions/tidelog.fish", "for fish"),
    ),
    "spark": (
        ("tidelog spark run alarm.tide --in /data/readings", "a program over history"),
        ("tidelog spark run alarm.tide --in /data/tables/hot", "over a table of derived facts"),
    ),
    "ingest": (
        ("tidelog ingest --from outbox --to tables --once", "what is there now"),
        (
            "tidelog ingest --from http://gw:8080/outbox/hot --to s3://plant/tables --every 60",
            "each minute what a gateway told",
        ),
    ),
    "tables": (
        ("tidelog tables optimize /data/tables", "few large files of many small ones"),
        ("tidelog tables take-over /data/old --to /data/tables", "tables of an older version"),
    ),
    "tables optimize": (
        ("tidelog tables optimize /data/tables", "all tables there"),
        ("tidelog tables optimize s3://plant/tables hot --megabytes 256", "one of them, with larger files"),
    ),
    "tables vacuum": (
        ("tidelog tables vacuum /data/tables", "what no version of the last week needs"),
        ("tidelog tables vacuum /data/tables hot --hours 24", "of one table, of the last day"),
    ),
    "tables delete": (
        ("tidelog tables delete /data/tables --where \"node = 'gw7'\"", "all that a gateway told"),
        ("tidelog tables delete /data/tables hot --where \"sensor = 's1'\" --dry-run", "how many rows these are"),
    ),
    "tables take-over": (
        ("tidelog tables take-over /data/old --to /data/tables", "from a folder"),
        ("tidelog tables take-over s3://plant/old --to s3://plant/tables", "from a bucket"),
    ),
    "spark archive": (
        ("tidelog spark archive tidelog.zip", "for `spark-submit --py-files tidelog.zip`"),
        ("tidelog spark archive /mnt/shared/tidelog.zip", "for a notebook's `spark.sparkContext.addPyFile`"),
    ),
    "spark run": (
        ("tidelog spark run alarm.tide --in /data/readings --out parquet:/data/alarms", "over history"),
        (
            "tidelog spark run alarm.tide --in /data/arriving --checkpoint /data/checkpoint --out parquet:/data/alarms",
            "over a folder in which files appear",
        ),
    ),
}
"""Of each command two lines that people would write, each with what it does."""

_GROUPS: Mapping[str, tuple[str, ...]] = {
    "input": (
        "in",
        "strict",
        "labels",
        "dead-letter",
        "max-line",
        "allow-remote",
        "max-clients",
        "client-timeout",
        "max-lead",
        "idle-after",
    ),
    "time": ("lateness", "max-ahead", "start", "clock", "at-end", "iso", "begin", "end", "until"),
    "output": (
        "out",
        "emit",
        "explain",
        "format",
        "picture",
        "show",
        "stats",
        "serve-outbox",
        "http",
        "tls-cert",
        "tls-key",
        "token-file",
    ),
    "state": ("state", "commit-every", "keep", "backlog", "backlog-full", "reload", "corrections"),
    "limits": ("max-state", "memory", "rounds", "depth"),
}
GROUP_OF: Mapping[str, str] = {f"--{name}": title for title, names in _GROUPS.items() for name in names}
"""The group of an option; others stand below `options`."""
TITLES: Mapping[str, int] = {title: place for place, title in enumerate(_GROUPS, 1)}
"""The order of the groups, behind those of a command itself."""


EXIT_CODES: Mapping[str, str] = {
    "0": "done; records that could not be used are counted, and no failure without --strict",
    "1": "the program, the data or the answer is bad; with --strict, a record could not be used",
    "2": "the command line is wrong, or a question could not be decided",
    "3": "entails: inconsistent, so that everything follows",
    "4": "ingest --once: some gateways were away",
    "70": "a fault of tidelog itself, which decides nothing",
    "130, 143": "stopped by SIGINT, SIGTERM",
    "141": "nobody reads the answers any more",
}
"""What each exit code means, whatever the command."""


def codes() -> str:
    """The exit codes, as the help page of `tidelog` ends."""
    lines = [f"  {number:<9} {meaning}" for number, meaning in EXIT_CODES.items()]
    return "\n".join(["exit codes (docs/reference/commands.md says more):", *lines])


class Page(TypedDict):
    """What `argparse` wants of a help page."""

    description: str
    epilog: str


def page(command: str, help: str) -> Page:
    """What a command's help page says besides its options: what it does, as a sentence, and at the end examples."""
    lines = [f"  {line}\n      {note}" for line, note in EXAMPLES[command]]
    return {"description": f"{help[:1].upper()}{help[1:]}.", "epilog": "\n".join(["examples:", *lines])}

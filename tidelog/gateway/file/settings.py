"""What a gateway's file may say: one struct a table, one field a key."""

from __future__ import annotations

from typing import Annotated, Final, Literal

import msgspec

from tidelog.connectors.transport.bounds import Count, NotNegative, NotNegativeCount, Positive, Share
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.settings import EndSettings
from tidelog.runtime.ports.actors import MOST_WORKERS

LEAST_WORKER_BYTES: Final = 1_000_000
"""With less a worker can hold nothing."""
Workers = Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]
Duration = str | int | float
"""A length of time as `run` takes it: a number of the program's units, or text such as `10 s`."""


class UserFileSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Somebody with a token of his own: `view` sees, `operate` answers alarms, `configure` may do all."""

    name: str
    token: Secret
    role: Literal["view", "operate", "configure"] = "operate"


class HttpFileSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The page, metrics, answers as they become known, and facts that are posted."""

    listen: str = "127.0.0.1:8080"
    token: Secret | None = None
    user: tuple[UserFileSettings, ...] = ()
    certificate: str = ""
    key: str = ""
    hosts: tuple[str, ...] = ()
    """Further names by which the server is called."""
    max_body: Count = 8 << 20
    max_clients: Count = 128
    max_listeners: Count = 32
    ingest: bool = True
    """Whether facts may be posted."""


class StandbySettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """Two gateways with one file each: one leads, the other one follows, and leads once the first does not."""

    lease: str
    """A folder on storage that both reach: who holds the lease there leads."""
    follow: str
    """The other gateway's address, `https://HOST:PORT`: what it commits is followed while this one does not lead."""
    token: Secret | None = None
    """What the other one is told: its token of `[http]`, or that of a user who may configure."""
    ca: str = ""
    """Whose certificates are trusted (PEM); those of the system, unless told."""
    lease_seconds: Positive = 1.2
    """For how long a gateway may lead after it has begun to renew the lease."""
    renew_every: Positive = 0.3
    copy_within: Positive = 1.0
    """For how many seconds a commit waits until the other gateway has it, before this one goes on alone."""
    when_behind: Literal["lead", "wait"] = "lead"
    """What a gateway does that lacks something when the lease is over: lead after a while, or wait until it is told."""


class ProgramSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """One program, and how its stream is read. These keys also stand at the top of the file, where there is one program."""

    program: str
    name: str = ""
    emit: Literal["intervals", "final", "points", "changes"] = "changes"
    lateness: Duration = 0
    clock: Duration | None = None
    max_ahead: Duration | None = None
    idle_after: NotNegative | None = None
    workers: Workers = 1
    actors: Literal["one", "islands", "rule"] | None = None


class BackgroundSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The facts of a program's background from a query, kept in the file that the program names."""

    file: str
    """JSON lines: `background part from "parts.jsonl".`"""
    predicate: str
    url: str
    password: Secret | None = None
    query: str
    """Its columns are the predicate's arguments, in their order."""
    every: Positive = 300.0
    """Seconds."""


class SupervisionSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What becomes of actors that fail, where a program's rules are more than one."""

    strategy: Literal["aside", "end"] = "aside"
    restarts: NotNegativeCount = 5
    within: Positive = 60.0
    """Seconds."""
    poisons: NotNegativeCount = 100
    worker_bytes: Annotated[int, msgspec.Meta(ge=LEAST_WORKER_BYTES)] | None = None
    """How much memory a worker may take for what it holds."""
    spares: bool = True
    answers_within: Annotated[float, msgspec.Meta(ge=1)] = 60.0
    """Seconds."""


class LimitSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """How much is held at most."""

    rows: Count = 10_000_000
    line: Count = 1_048_576
    """The longest line that is read, in bytes."""
    clients: Count = 256
    journal_seconds: NotNegative | None = None
    journal_bytes: NotNegativeCount | None = 500_000_000
    """For how long, and up to how many bytes, input is kept that is not needed any more to go on."""
    owed_bytes: Count = 500_000_000
    """How much may wait for sinks that are away."""
    when_full: Literal["block", "stop", "drop-oldest"] = "block"
    """What then: sources wait, the gateway stops, or the oldest answers are dropped, counted and told."""


class TelemetrySettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """To which collector figures and traces are sent, by OTLP over HTTP."""

    endpoint: str
    """`http://HOST:4318`, or `https://…`: `/v1/metrics` and `/v1/traces` stand behind it."""
    every: Positive = 30.0
    """Seconds."""
    traces: Share = 0.0
    """Which share of the deliveries is traced."""
    headers: dict[str, Secret] = {}
    """What is told beside it, such as `Authorization`."""
    ca: str = ""
    """Whose certificates are trusted (PEM); those of the system, unless told."""


class LogSettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """What is said on standard error, and how."""

    format: Literal["text", "json"] = "text"
    level: Literal["debug", "info", "warning", "error"] = "info"
    burst: Count = 10
    """How often a message is said within `every` seconds; the rest is counted."""
    every: Positive = 60.0


class GatewaySettings(msgspec.Struct, forbid_unknown_fields=True, frozen=True, kw_only=True):
    """The file. `program` is a path, with its keys beside it, or there are several tables `[[programs]]`.

    What may stand in `source` and `sink` is in the table of kinds: `schema.py` makes of both what a file is read as.
    """

    name: str = "tidelog"
    program: str = ""
    emit: Literal["intervals", "final", "points", "changes"] = "changes"
    lateness: Duration = 0
    clock: Duration | None = None
    max_ahead: Duration | None = None
    idle_after: NotNegative | None = None
    workers: Workers = 1
    actors: Literal["one", "islands", "rule"] | None = None
    programs: tuple[ProgramSettings, ...] = ()
    state: str = ""
    """The directory where state, input and what sinks are owed are kept; without it a restart begins anew."""
    when_program_changes: Literal["refuse", "drop", "set-aside"] = "refuse"
    """What becomes of state that a changed program does not take up: it is an error, or it is dropped; or all of it is set
    aside, and a new one begins."""
    commit_every: NotNegative = 0.001
    """How many seconds lie at least between two commits: answers wait for them."""
    dead_letters: str = ""
    iso: bool = True
    """Times in answers as ISO-8601, where the program declares a unit."""
    tap: str = ""
    """The socket at which `--tap` listens in; beside the file, unless told."""
    source: tuple[EndSettings, ...] = ()
    sink: tuple[EndSettings, ...] = ()
    background: tuple[BackgroundSettings, ...] = ()
    http: HttpFileSettings | None = None
    standby: StandbySettings | None = None
    telemetry: TelemetrySettings | None = None
    limits: LimitSettings = LimitSettings()
    supervision: SupervisionSettings = SupervisionSettings()
    log: LogSettings = LogSettings()

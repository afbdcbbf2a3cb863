"""The manifest of a stored run: all that is small, and is replaced as a whole by each commit."""

from __future__ import annotations

from typing import Any

import msgspec

from tidelog.plans.analysis.horizons.notation import decode_distance
from tidelog.plans.data.forms import HEAD, brought_up, written_by
from tidelog.plans.data.saved import Natural, Saved
from tidelog.plans.data.timeline import NEG, Timeline
from tidelog.plans.diagnostics.errors import ProgramError, SnapshotError, SpecError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_statement
from tidelog.plans.tree.numerals import shorten
from tidelog.runtime.intake.watermarks import plain_name
from tidelog.runtime.sessions.settings import Settings

_TIMES = ("lateness", "max_ahead", "warn", "start")
"""The options that are stored as the timeline encodes them."""
_STORED = (
    "emit",
    "lateness",
    "start",
    "max_ahead",
    "max_lead",
    "prospects",
    "min_evidence",
    "count_absences",
    "warn",
    "grouped",
    "statuses",
)
"""The settings that are stored, in this order."""


class SourceStanding(Saved):
    """Where a source stands: its last position, if it has one, or that it has ended.

    One that is `passing` has nothing that could be read again: a later run may be without it, or have another one.
    """

    name: str
    position: dict[str, Any] | None = None
    ended: bool = False
    passing: bool = False


class SinkStanding(Saved):
    """What a sink has taken: all answers up to number `taken`; and where it stood then, if it keeps what it takes."""

    name: str
    taken: Natural = 0
    standing: dict[str, Any] | None = None


class Head(Saved):
    """What a run is, and where it stands.

    `writer` is the version of tidelog that has stored it. `plan` is the digest of the plan that its state belongs to, and
    that is stored beside it; `program` and `text` are what this was compiled from, as written.
    `events` and `answers` are the numbers of the last ones, `snapshot` that of the last event that the snapshot has.
    `reach` (encoded) is when the last fact ends that was accepted, but for those without an end, of the predicates
    `endless`. `snapshot_answers` is the number of the last answer that was told by the snapshot; `untold` are the outputs of
    actors that were set aside since, of which answers may be missing. `heard` tells since when facts of a predicate are
    taken, where the program did not read them from the begin.
    """

    run: str
    program: str
    text: str
    plan: str
    options: dict[str, Any]
    sources: list[SourceStanding]
    sinks: list[SinkStanding]
    events: Natural = 0
    answers: Natural = 0
    snapshot: Natural = 0
    snapshot_answers: Natural = 0
    untold: list[str] = msgspec.field(default_factory=list)
    reach: int = NEG
    endless: list[str] = msgspec.field(default_factory=list)
    heard: dict[str, int] = msgspec.field(default_factory=dict)
    version: int = HEAD.version
    writer: str = ""


def pack_head(head: Head) -> bytes:
    """The head as bytes, written by this version."""
    return msgspec.msgpack.encode(msgspec.structs.replace(head, version=HEAD.version, writer=written_by()))


def unpack_head(data: bytes, place: str) -> Head:
    """What was packed, also by an older version; SnapshotError where it is anything else, SpecError for a newer version."""
    try:
        found = msgspec.msgpack.decode(data)
        if isinstance(found, dict):
            found = brought_up(HEAD, found, found.get("version"), f"state `{place}`", str(found.get("writer", "")))
        return msgspec.convert(found, Head)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise SnapshotError(f"state `{place}`: its head is damaged: {error}") from error


def is_same(head: Head, now: Head) -> bool:
    """Whether a stored run goes on with the same plan, and with all of its sources."""
    return head.plan == now.plan and has_same_sources(head, now)


def has_same_sources(head: Head, now: Head) -> bool:
    """Whether a stored run goes on with all of its sources, and no others."""
    before, names = ([source.name for source in each.sources] for each in (head, now))
    return before == names


def check_same(head: Head, now: Head, place: str) -> None:
    """SpecError unless a stored run can go on with these options, sources and sinks; of the program see `reloading`."""
    before, names = ([source.name for source in each.sources if not source.passing] for each in (head, now))
    if before != names:
        told = ", ".join(map(plain_name, before))
        raise SpecError(f"state `{place}` was stored with facts from {told}: go on with the same sources, in this order")
    for name, value in now.options.items():
        if head.options.get(name) != value:
            told = "" if name in _TIMES else f": it was {_plain(head.options.get(name))}, now {_plain(value)}"
            raise SpecError(f"state `{place}` was stored with another `{name}`{told}: go on with the same")
    here = {sink.name for sink in now.sinks}
    for sink in head.sinks:
        owed = head.answers - sink.taken
        if owed > 0 and sink.name not in here:
            told = "1 answer" if owed == 1 else f"{owed} answers"
            raise SpecError(f"state `{place}` owes {told} to `{plain_name(sink.name)}`: go on with this sink, too")


def _plain(value: object) -> str:
    """The value of an option in words."""
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return {None: "none", True: "on", False: "off"}[value] if value is None or isinstance(value, bool) else str(value)


def what_changed(before: str, now: str) -> str:
    """What tells two programs apart: a statement that one has and the other has not, or else their order or background."""
    try:
        was, known = ([format_statement(item) for item in parse(text).statements] for text in (before, now))
    except ProgramError:  # another version of the language
        return ""
    for one, other, what in ((was, known, "is gone"), (known, was, "is new")):
        found = next((item for item in one if item not in other), None)
        if found is not None:
            return f" (`{shorten(found)}` {what})"
    return " (its statements stand in another order)" if was != known else " (its background, or what is asked, has changed)"


def plain_settings(settings: Settings, timeline: Timeline) -> dict[str, Any]:
    """The settings of a session, as far as they decide what follows from events, as plain data."""
    found = {name: getattr(settings, name) for name in _STORED} | settings.encoded(timeline)._asdict()
    found["statuses"] = None if settings.statuses is None else sorted(settings.statuses)
    return found


def stored_settings(head: Head, timeline: Timeline) -> Settings:
    """The settings of a stored run, but for its `start`, which is there encoded alone."""
    found = {name: value for name, value in head.options.items() if name not in ("start", "corrections")}
    for name in _TIMES:
        if found.get(name) is not None:
            found[name] = decode_distance(found[name], timeline)
    return Settings(**found, sources=[source.name for source in head.sources])

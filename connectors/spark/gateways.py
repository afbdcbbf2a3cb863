"""Which outboxes answer: gateways may be away when a pipeline starts, and join it once they answer."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tidelog.connectors.outbox.file import OutboxSchema
from tidelog.connectors.spark.origins import Origin, check_distinct
from tidelog.connectors.transport.backoff import pause_before
from tidelog.plans.diagnostics.errors import ConnectorError

_TIMEOUT = 5.0
"""How many seconds a gateway has to answer whether it is there."""
_FIRST, _LONGEST = 1.0, 60.0
"""The pauses between two questions, in seconds."""
_AT_ONCE = 32


@dataclass(slots=True)
class _Absence:
    since: str
    attempts: int
    again: float


class Gateways:
    """The outboxes of a pipeline, with the schemas of those that answer. `tell` is given a line of each that is away."""

    def __init__(self, origins: Sequence[Origin], tell: Callable[[str], None]) -> None:
        self._origins = tuple(origins)
        self._tell = tell
        self._schemas: dict[Origin, OutboxSchema] = {}
        self._absences = {origin: _Absence("", 0, 0.0) for origin in origins}

    @property
    def present(self) -> tuple[Origin, ...]:
        """Those that have answered, in the order in which they are named."""
        return tuple(origin for origin in self._origins if origin in self._schemas)

    @property
    def schemas(self) -> tuple[OutboxSchema, ...]:
        """What those that have answered hold, in the same order."""
        return tuple(self._schemas[origin] for origin in self.present)

    @property
    def are_all_present(self) -> bool:
        return not self._absences

    def ask(self) -> bool:
        """Ask those that are away and whose pause is over; whether one has joined.

        SpecError where one cannot be read for good, or contradicts those that are there.
        """
        now = time.monotonic()
        return self._ask([origin for origin, absence in self._absences.items() if absence.again <= now])

    def miss(self) -> bool:
        """Ask the gateways that are there; whether one of them is away now."""
        asked = [origin for origin in self.present if origin.is_remote]
        for origin in asked:
            self._absences[origin] = _Absence("", 0, 0.0)
            del self._schemas[origin]
        self._ask(asked, is_return=False)
        return any(origin in self._absences for origin in asked)

    def _ask(self, origins: Sequence[Origin], *, is_return: bool = True) -> bool:
        if not origins:
            return False
        with ThreadPoolExecutor(min(_AT_ONCE, len(origins))) as pool:
            answers = list(pool.map(_schema_of, origins))
        for origin, answer in zip(origins, answers, strict=True):
            if isinstance(answer, ConnectorError):
                self._put_off(origin, answer)
                continue
            absence = self._absences.pop(origin)
            self._schemas[origin] = answer
            if absence.attempts and is_return:
                self._tell(f"`{origin.place}` answers, and joins; it was away since {absence.since}")
        check_distinct(self.present, self.schemas)
        return any(origin in self._schemas for origin in origins)

    def _put_off(self, origin: Origin, error: ConnectorError) -> None:
        absence = self._absences[origin]
        if not absence.attempts:
            absence.since = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
            self._tell(f"a gateway is away since {absence.since}, and is asked again: {error}")
        absence.attempts += 1
        absence.again = time.monotonic() + pause_before(absence.attempts, _FIRST, _LONGEST)


def _schema_of(origin: Origin) -> OutboxSchema | ConnectorError:
    try:
        with origin.open(timeout=_TIMEOUT) as reader:
            return reader.schema()
    except ConnectorError as error:
        if not origin.is_remote:
            raise
        return error


def unfinished(checkpoint: str) -> frozenset[str]:
    """The identities of the outboxes whose facts are in the batch that Spark will run again: it needs all of them."""
    offsets, commits = Path(checkpoint, "offsets"), Path(checkpoint, "commits")
    planned = _numbers(offsets)
    if not planned or planned[-1] in _numbers(commits):
        return frozenset()
    starts = _offset(offsets / str(planned[-2])) if len(planned) > 1 else {}
    return frozenset(name for name, end in _offset(offsets / str(planned[-1])).items() if end > starts.get(name, 0))


def _numbers(folder: Path) -> list[int]:
    return sorted(int(path.name) for path in folder.iterdir() if path.name.isdecimal()) if folder.is_dir() else []


def _offset(path: Path) -> dict[str, int]:
    """The offset in a file of Spark's log: a version, what the batch is, and an offset for each source, a line each."""
    try:
        found = json.loads(path.read_text("utf-8").splitlines()[2])
    except (OSError, ValueError, IndexError) as error:
        raise ConnectorError(f"the checkpoint's `{path}` cannot be read: {error}") from error
    return {str(name): int(end) for name, end in found.items()}

"""What can be said of an answer beside what it holds: words for people, how urgent it is, why it holds, where it is shown.

These names stand in templates as those of arguments do. Where an output has an argument of the same name, that is meant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final
from urllib.parse import quote

from tidelog.plans.alarms.desk import alarm_id, alarm_text
from tidelog.plans.data.facts import Row, format_constant
from tidelog.plans.tree.declared.alarms import Alarm
from tidelog.plans.tree.declared.storms import COUNT, STORM

REASON: Final = "reason"
"""The name of why an answer holds, which is found out for those alone that ask for it."""
_NO_ALARMS: Mapping[str, Alarm] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class About:
    """Says what answers of one program are about.

    `page` is the address of the gateway's page; empty where nobody says it. `explains` says whether the sink is told why.
    """

    alarms: Mapping[str, Alarm] = field(default_factory=lambda: _NO_ALARMS)
    program: str = ""
    page: str = ""
    explains: bool = False

    @property
    def names(self) -> Sequence[str]:
        """What can be said."""
        return [*_SAID, *(["link"] if self.page else []), *([REASON] if self.explains else [])]

    def teller(self, name: str) -> Callable[[str, Row], Any]:
        """What says this of a predicate and its row."""
        return getattr(self, _SAID.get(name, "link"))  # type: ignore[no-any-return] # a method of ours

    def text(self, predicate: str, row: Row) -> str:
        """An alarm's text, a storm in words, or else the atom."""
        alarm = self.alarms.get(predicate)
        if alarm is not None:
            return alarm_text(alarm, row)
        if predicate == STORM:
            return "Alarm storm: more alarms begin than are told one by one"
        if predicate == COUNT and len(row) == 1:
            return f"Alarm storm: {row[0]} alarms began within a minute"
        values = [value if isinstance(value, str) else format_constant(value) for value in row]
        return f"{predicate}({', '.join(values)})" if values else predicate

    def severity(self, predicate: str, row: Row) -> str | None:
        """An alarm's priority; None for other answers."""
        alarm = self.alarms.get(predicate)
        return None if alarm is None else alarm.declared.priority

    def alarm_id(self, predicate: str, row: Row) -> str | None:
        """The name that an alarm has in addresses of the gateway's; None for other answers."""
        return alarm_id(predicate, row) if predicate in self.alarms else None

    def link(self, predicate: str, row: Row) -> str:
        """Where the page shows it."""
        program = f"?program={quote(self.program, safe='')}" if self.program else ""
        return f"{self.page}{program}#q={quote(self.text(predicate, row), safe='')}"


_SAID: Final = {"text": "text", "severity": "severity", "alarm_id": "alarm_id"}

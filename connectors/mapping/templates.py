"""Answers to what others are sent: a topic, and text or JSON with what the answer holds.

`{name}` stands for a field of the answer's predicate, or for `predicate`, `state` (`begins`, `ended`, or `holds`), `begins`,
`ends`, `when`, `arg1` … `argN`, or for what `about.py` says of it. A text of a table, or of one within it, that is nothing
but one of these becomes its value, so that numbers stay numbers. Where the output names its arguments, truth values are
those of JSON. Without a template, an answer is sent as the JSON line that `run` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Literal

import msgspec

from tidelog.connectors.formats.formatting import Encoder, TimeFormatter, number_or_text
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.formats.json.names import names_of
from tidelog.connectors.mapping.about import REASON, About
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

Values = Mapping[str, Any]
State = Literal["begins", "ended", "holds"]
NOBODY = About()
"""Who says nothing of answers beside their words."""
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ARGUMENT = re.compile(r"arg([1-9][0-9]*)")
_ALWAYS = ("predicate", "state", "begins", "ends")
_TIMES = "when"
"""The name of both times in words; it yields to an argument's."""
_NONCHARACTERS = "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
_NO_TOPIC = re.compile(rf"[+#/\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_NONCHARACTERS}]")
"""What no topic has within a level; a broker ends a connection on which control characters or noncharacters come."""


class Template:
    """Payloads of answers: a text, or a table that is sent as JSON. SpecError for a name that no answer has.

    `about` says more of answers. With `asks_why` the template has a place for why an answer holds.
    """

    def __init__(
        self,
        schema: Schema,
        payload: str | Mapping[str, Any] | None,
        *,
        iso: bool,
        outputs: Iterable[str],
        about: About = NOBODY,
    ) -> None:
        self.lines: Encoder = JsonEncoder(schema, iso=iso)
        """What an answer is without a template."""
        names = _names(payload)
        self.asks_why = REASON in names
        self.is_text = isinstance(payload, str)
        self._values = AnswerValues(schema, names, iso=iso, about=about)
        self._fill = None if payload is None else _filler(payload)
        for name in names:
            check_name(name, schema, outputs, about)

    def payload(self, answer: AnyAnswer, reason: str = "") -> bytes:
        """What is sent for an answer, and, where the template asks why, its `reason`; one to a question is always sent as
        JSON."""
        if self._fill is None or isinstance(answer, HypotheticalAnswer):
            return self.lines.encode([answer]).rstrip(b"\n")
        filled = self._fill(self._values.of(answer, reason))
        return filled.encode() if isinstance(filled, str) else msgspec.json.encode(filled)

    def filled(self, answer: AnyAnswer, reason: str = "") -> Any:
        """A text or a table for people, filled. Of an answer to a question, the text is its JSON line."""
        if self._fill is None:
            raise ValueError("there is no template")
        if isinstance(answer, HypotheticalAnswer):
            line = self.lines.encode([answer]).decode().rstrip("\n")
            return self._fill({"predicate": answer.query, "state": answer.status, "text": line, **answer.answer})
        return self._fill(self._values.of(answer, reason))


class TopicTemplate:
    """Topics of answers: what would be a level or a wildcard of its own within a value, or cannot be seen, becomes `_`."""

    separator: ClassVar[str] = "/"
    barred: ClassVar[re.Pattern[str]] = _NO_TOPIC
    """What stands in no level."""
    what: ClassVar[str] = "topic to publish to: it has no `+` and no `#`, and nothing that cannot be seen"

    def __init__(self, text: str, schema: Schema, *, iso: bool, outputs: Iterable[str], about: About = NOBODY) -> None:
        if not text or self.barred.search(text.replace(self.separator, "")):
            raise SpecError(f"`{text}` is no {self.what}")
        names = _names(text)
        self._text, self._values = text, AnswerValues(schema, names, iso=iso, about=about)
        self._is_fixed = not names
        for name in names:
            check_name(name, schema, outputs, about)

    def topic(self, answer: AnyAnswer) -> str:
        """Where an answer goes."""
        if self._is_fixed:
            return self._text
        values: Values = (
            {"predicate": answer.query, "state": answer.status, **answer.answer}
            if isinstance(answer, HypotheticalAnswer)
            else self._values.of(answer)
        )
        return _PLACE.sub(lambda found: self.barred.sub("_", shown(values.get(found[1]))), self._text)


class AnswerValues:
    """What an answer holds of what these names stand for, and what `about` says of it."""

    def __init__(self, schema: Schema, names: Iterable[str], *, iso: bool, about: About = NOBODY) -> None:
        self._schema, self._times = schema, TimeFormatter(schema.timeline, iso)
        self._about = {name: about.teller(name) for name in about.names if name in names and name != REASON}
        self._asks_why, self._asks_times = REASON in names and about.explains, _TIMES in names
        self._of_row = [name for name in dict.fromkeys(names) if name not in _ALWAYS]
        self._of_all = [name for name in _ALWAYS if name in names]
        self._named = names_of(schema)
        self._places: dict[str, list[tuple[str, int]]] = {}

    def of(self, answer: Record | ChangeRecord, reason: str = "") -> Values:
        """The values of a derived fact, or of a change, by name."""
        predicate, row, _, _ = answer
        said: dict[str, Any] = {name: tell(predicate, row) for name, tell in self._about.items()}
        if self._asks_why:
            said[REASON] = reason
        if self._asks_times:
            said[_TIMES] = self._when(answer)
        places = self._places.get(predicate)
        if places is None:
            places = self._places[predicate] = self._find(predicate)
        if predicate in self._named:
            row = self._named[predicate].values(row)
        values: dict[str, Any] = said | {name: row[i] for name, i in places if i < len(row)}
        for name in self._of_all:
            values[name] = self._told(name, answer)
        return values

    def _find(self, predicate: str) -> list[tuple[str, int]]:
        """Where in the rows of a predicate the values stand."""
        known = self._schema.predicates.get(predicate)
        places = {name: int(found[1]) - 1 for name in self._of_row if (found := _ARGUMENT.fullmatch(name))}
        places |= {name: i for i, name in enumerate(known.fields if known else ()) if name in self._of_row}
        return [*places.items()]

    def _told(self, name: str, answer: Record | ChangeRecord) -> Any:
        """What each answer has, beside its row."""
        predicate, _, lo, hi = answer
        if name == "predicate":
            return predicate
        if name == "state":
            return state_of(answer)
        if name == "begins":
            return None if lo <= NEG else number_or_text(self._times.begin(lo).removeprefix("["))
        return None if hi >= POS else number_or_text(self._times.end(hi).removesuffix("]"))

    def _when(self, answer: Record | ChangeRecord) -> str:
        """Both times in words."""
        begins, ends = self._told("begins", answer), self._told("ends", answer)
        if ends is None:
            return "always" if begins is None else f"since {begins}"
        if begins is None:
            return f"until {ends}"
        return f"at {begins}" if begins == ends else f"from {begins} to {ends}"


def state_of(answer: Record | ChangeRecord) -> State:
    """Whether an answer tells that something begins, or has ended, or, where it is no change, that it holds."""
    return ("begins" if answer[3] >= POS else "ended") if isinstance(answer, ChangeRecord) else "holds"


def check_name(name: str, schema: Schema, outputs: Iterable[str], about: About = NOBODY) -> None:
    """SpecError unless some answer has a value of this name."""
    known = {*_ALWAYS, _TIMES, *about.names}
    for output in outputs:
        predicate = schema.predicates.get(output)
        if predicate is not None:
            known |= {f"arg{i}" for i in range(1, predicate.arity + 1)} | set(predicate.fields)
    if name not in known:
        raise SpecError(f"no answer has a `{{{name}}}`{suggest(name, known) or '; known are ' + ', '.join(sorted(known))}")


def _names(payload: object) -> list[str]:
    """The names in a template, however deep."""
    if isinstance(payload, str):
        return _PLACE.findall(payload)
    items = payload.values() if isinstance(payload, Mapping) else payload if isinstance(payload, list | tuple) else ()
    return [name for item in items for name in _names(item)]


def _filler(payload: object) -> Callable[[Values], Any]:
    """What fills a text; in a table, what is nothing but a name becomes its value, and what is no text stays as it is."""
    if isinstance(payload, str):
        text = payload
        return lambda values: _filled(text, values)
    return _member_filler(payload)


def _member_filler(given: object) -> Callable[[Values], Any]:
    if isinstance(given, Mapping):
        members = {key: _member_filler(item) for key, item in given.items()}
        return lambda values: {key: fill(values) for key, fill in members.items()}
    if isinstance(given, list | tuple):
        items = [_member_filler(item) for item in given]
        return lambda values: [fill(values) for fill in items]
    if not isinstance(given, str):
        return lambda values: given
    found, text = _PLACE.fullmatch(given), given
    if found is not None:
        name = found[1]
        return lambda values: values.get(name)
    return lambda values: _filled(text, values)


def _filled(text: str, values: Values) -> str:
    return _PLACE.sub(lambda found: shown(values.get(found[1])), text)


def shown(value: Any) -> str:
    """A value in a text: truth values are those of JSON, and what is not there is nothing."""
    if value is True or value is False:
        return "true" if value else "false"
    return "" if value is None else str(value)

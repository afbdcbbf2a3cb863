"""Answers to what others are sent: a topic, and text or JSON with what the answer holds.

`{name}` stands for a field of the answer's predicate, or for `predicate`, `state` (`begins`, `ended`, or `holds`), `begins`,
`ends`, `arg1` … `argN`. A text of a table that is nothing but one of these becomes its value, so that numbers stay numbers.
Where the output names its arguments, truth values are those of JSON. Without a template, an answer is sent as the JSON line
that `run` prints.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import msgspec

from tidelog.connectors.formats.formatting import Encoder, TimeFormatter, number_or_text
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.formats.json.names import names_of
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.ports.interfaces import AnyAnswer

Values = Mapping[str, Any]
_PLACE = re.compile(r"\{([A-Za-z_][A-Za-z0-9_]*)\}")
_ARGUMENT = re.compile(r"arg([1-9][0-9]*)")
_ALWAYS = ("predicate", "state", "begins", "ends")
_NONCHARACTERS = "".join(chr(plane + last) for plane in range(0, 0x110000, 0x10000) for last in (0xFFFE, 0xFFFF))
_NO_TOPIC = re.compile(rf"[+#/\x00-\x1f\x7f-\x9f\ufdd0-\ufdef{_NONCHARACTERS}]")
"""What no topic has within a level; a broker ends a connection on which control characters or noncharacters come."""


class Template:
    """Payloads of answers. SpecError for a name that no answer has."""

    def __init__(
        self, schema: Schema, payload: str | Mapping[str, Any] | None, *, iso: bool, outputs: Iterable[str]
    ) -> None:
        self.lines: Encoder = JsonEncoder(schema, iso=iso)
        """What an answer is without a template."""
        names = _names(payload)
        self._values = AnswerValues(schema, names, iso=iso)
        self._write = None if payload is None else _writer(payload)
        for name in names:
            check_name(name, schema, outputs)

    def payload(self, answer: AnyAnswer) -> bytes:
        """What is sent for an answer; one to a question is always sent as JSON."""
        if self._write is None or isinstance(answer, HypotheticalAnswer):
            return self.lines.encode([answer]).rstrip(b"\n")
        return self._write(self._values.of(answer))


class TemplateEncoder:
    """A template as an encoder: a line for each answer, in which line ends become spaces."""

    def __init__(self, template: Template) -> None:
        self._template = template

    def encode(self, answers: Sequence[AnyAnswer]) -> bytes:
        return b"".join([self._template.payload(answer).replace(b"\n", b" ") + b"\n" for answer in answers])


class TopicTemplate:
    """Topics of answers: what would be a level or a wildcard of its own within a value, or cannot be seen, becomes `_`."""

    def __init__(self, text: str, schema: Schema, *, iso: bool, outputs: Iterable[str]) -> None:
        if not text or _NO_TOPIC.search(text.replace("/", "")):
            raise SpecError(f"`{text}` is no topic to publish to: it has no `+` and no `#`, and nothing that cannot be seen")
        names = _names(text)
        self._text, self._values = text, AnswerValues(schema, names, iso=iso)
        for name in names:
            check_name(name, schema, outputs)

    def topic(self, answer: AnyAnswer) -> str:
        """Where an answer goes."""
        values: Values = (
            {"predicate": answer.query, "state": answer.status, **answer.answer}
            if isinstance(answer, HypotheticalAnswer)
            else self._values.of(answer)
        )
        return _PLACE.sub(lambda found: _NO_TOPIC.sub("_", _shown(values.get(found[1]))), self._text)


class AnswerValues:
    """What an answer holds of what these names stand for."""

    def __init__(self, schema: Schema, names: Iterable[str], *, iso: bool) -> None:
        self._schema, self._times = schema, TimeFormatter(schema.timeline, iso)
        self._of_row = [name for name in dict.fromkeys(names) if name not in _ALWAYS]
        self._of_all = [name for name in _ALWAYS if name in names]
        self._named = names_of(schema)
        self._places: dict[str, list[tuple[str, int]]] = {}

    def of(self, answer: Record | ChangeRecord) -> Values:
        """The values of a derived fact, or of a change, by name."""
        predicate, row, _, _ = answer
        places = self._places.get(predicate)
        if places is None:
            places = self._places[predicate] = self._find(predicate)
        if predicate in self._named:
            row = self._named[predicate].values(row)
        values: dict[str, Any] = {name: row[i] for name, i in places if i < len(row)}
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
            return ("begins" if hi >= POS else "ended") if isinstance(answer, ChangeRecord) else "holds"
        if name == "begins":
            return None if lo <= NEG else number_or_text(self._times.begin(lo).removeprefix("["))
        return None if hi >= POS else number_or_text(self._times.end(hi).removesuffix("]"))


def check_name(name: str, schema: Schema, outputs: Iterable[str]) -> None:
    """SpecError unless some answer has a value of this name."""
    known = set(_ALWAYS)
    for output in outputs:
        predicate = schema.predicates.get(output)
        if predicate is not None:
            known |= {f"arg{i}" for i in range(1, predicate.arity + 1)} | set(predicate.fields)
    if name not in known:
        raise SpecError(f"no answer has a `{{{name}}}`{suggest(name, known) or '; known are ' + ', '.join(sorted(known))}")


def _names(payload: str | Mapping[str, Any] | None) -> list[str]:
    texts = [payload] if isinstance(payload, str) else (payload or {}).values()
    return [name for text in texts if isinstance(text, str) for name in _PLACE.findall(text)]


def _writer(payload: str | Mapping[str, Any]) -> Callable[[Values], bytes]:
    if isinstance(payload, str):
        text = payload
        return lambda values: _filled(text, values).encode()
    members = {key: _PLACE.fullmatch(text) if isinstance(text, str) else None for key, text in payload.items()}

    def write(values: Values) -> bytes:
        return msgspec.json.encode({key: _member(payload[key], found, values) for key, found in members.items()})

    return write


def _member(given: Any, found: re.Match[str] | None, values: Values) -> Any:
    if found is not None:
        return values.get(found[1])
    return _filled(given, values) if isinstance(given, str) else given


def _filled(text: str, values: Values) -> str:
    return _PLACE.sub(lambda found: _shown(values.get(found[1])), text)


def _shown(value: Any) -> str:
    if value is True or value is False:
        return "true" if value else "false"
    return "" if value is None else str(value)

"""Answers as alerts of Prometheus Alertmanager: labels, annotations and times."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from tidelog.connectors.mapping.about import About
from tidelog.connectors.mapping.templates import Template, shown
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Record, Schema, moment_of
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import SpecError

LABEL: Final = re.compile(r"[a-zA-Z_][a-zA-Z0-9_]*")
_NO_LETTER = re.compile(r"[^a-zA-Z0-9_]")
_FIRST: Final = datetime(1970, 1, 1, tzinfo=UTC)
"""When something began that has no begin."""
_TAKEN: Final = ("alertname", "severity", "gateway")


class Alert(msgspec.Struct, frozen=True, omit_defaults=True, rename="camel"):
    """An alert without its end, which differs each time that it is posted."""

    labels: dict[str, str]
    annotations: dict[str, str]
    starts_at: str
    generator_url: str = msgspec.field(name="generatorURL", default="")


class AlertWriter:
    """Makes alerts of answers.

    Labels are `alertname`, the output; each of its arguments; `severity` of an alarm; `gateway`; and what `labels` says, by
    templates, in their place or beside them. All that alerts are told apart by is in there. SpecError for a name that is no
    label's, for what no answer has, and for a program without a unit.
    """

    def __init__(
        self,
        schema: Schema,
        gateway: str,
        *,
        outputs: Iterable[str],
        labels: Mapping[str, str],
        annotations: Mapping[str, str],
        iso: bool,
        about: About,
    ) -> None:
        if schema.timeline.unit is None:
            raise SpecError("alerts have times of the clock: the program needs a unit, such as `timeline integer, unit 1 s`")
        outputs = list(outputs)
        for key, table in (("labels", labels), ("annotations", annotations)):
            for name in table:
                if not LABEL.fullmatch(name):
                    raise SpecError(f"`{key}`: `{name}` is no name of a label: expected letters, digits and `_`")
        self._schema = schema
        self._annotations = _template("annotations", annotations, schema, iso=iso, outputs=outputs, about=about)
        _template("labels", labels, schema, iso=iso, outputs=outputs, about=About(about.alarms))
        self._labels: dict[str, Template] = {}
        for output in outputs:
            if output in schema.predicates:
                table = {**_own_labels(schema, output, gateway, is_alarm=output in about.alarms), **labels}
                self._labels[output] = Template(schema, table, iso=iso, outputs=outputs, about=About(about.alarms))
        self._link = Template(schema, "{link}", iso=iso, outputs=outputs, about=about) if about.page else None
        self.asks_why = self._annotations.asks_why

    def alert(self, answer: Record | ChangeRecord, reason: str = "") -> Alert:
        """An answer as an alert. Raises what an encoder raises for one that cannot be one."""
        return Alert(
            self.labels(answer),
            {name: shown(value) for name, value in self._annotations.filled(answer, reason).items()},
            self.moment(answer[2]),
            self._link.filled(answer) if self._link is not None else "",
        )

    def labels(self, answer: Record | ChangeRecord) -> dict[str, str]:
        """The labels of an answer; ValueError where the sink is not told of its output."""
        template = self._labels.get(answer[0])
        if template is None:
            raise ValueError(f"the sink is not told of `{answer[0]}`")
        found = {name: shown(value) for name, value in template.filled(answer).items()}
        return {name: text for name, text in found.items() if text}  # to Alertmanager an empty label is none

    def moment(self, at: int) -> str:
        """An encoded time, as RFC 3339 has it; ValueError for one that no calendar has."""
        if at >= POS:
            raise ValueError("it has no end")
        timeline = self._schema.timeline
        moment = _FIRST if at <= NEG else moment_of(timeline, timeline.decode_point(at))
        return rfc3339(_FIRST if moment is None else moment)


def rfc3339(moment: datetime) -> str:
    """A moment in UTC.

    >>> rfc3339(datetime(2026, 11, 27, 9, 30, tzinfo=UTC))
    '2026-11-27T09:30:00.000000Z'
    """
    return moment.replace(tzinfo=None).isoformat(timespec="microseconds") + "Z"


def _template(key: str, table: Mapping[str, Any], schema: Schema, **given: Any) -> Template:
    try:
        return Template(schema, table, **given)
    except SpecError as error:
        raise SpecError(f"`{key}`: {error}") from None


def _own_labels(schema: Schema, output: str, gateway: str, *, is_alarm: bool) -> dict[str, str]:
    """The labels of an output, as templates. An argument whose name is taken has `arg_` before it."""
    known = schema.predicates[output]
    found = {"alertname": "{predicate}", "gateway": gateway.replace("{", "").replace("}", "")}
    if is_alarm:
        found["severity"] = "{severity}"
    for i in range(known.arity):
        name = known.fields[i] if i < len(known.fields) else f"arg{i + 1}"
        label = _NO_LETTER.sub("_", name)
        if not LABEL.fullmatch(label) or label in _TAKEN or label in found:
            label = f"arg_{label}"
        if label in found:
            label = f"arg{i + 1}"
        found[label] = f"{{arg{i + 1}}}"
    return found

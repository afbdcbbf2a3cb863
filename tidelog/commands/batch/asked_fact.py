"""The fact that a command is asked about: `--fact 'P(a)@[1,2]'`, or as a JSON line, with the names of its arguments."""

from __future__ import annotations

import argparse
import os
from dataclasses import replace
from typing import Any

from tidelog.connectors.formats.json.decoder import JsonDecoder
from tidelog.connectors.formats.text.decoder import TextDecoder
from tidelog.plans.data.facts import Record, Schema
from tidelog.plans.data.refining import read_exactly
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.diagnostics.errors import DataError, SpecError


class Once(argparse.Action):
    """Takes one value: a second one is a mistake, and does not replace the first."""

    def __call__(
        self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, option_string: str | None = None
    ) -> None:
        if getattr(namespace, self.dest) is not None:
            raise argparse.ArgumentError(self, "asks for one fact: ask for each by itself")
        setattr(namespace, self.dest, values)


def read_fact(schema: Schema, text: str) -> tuple[Record, Timeline]:
    """A fact, encoded for a timeline that is fine enough for it; SpecError where it is none.

    Of a predicate that nothing knows, too: what nothing derives does not follow; and of what no data may hold, such as what
    rules derive, or calendars. What `run` has told may be asked as it stands: `{"alarm":{"room":"hall"},"time":3}`.
    """
    predicates = {name: replace(item, accepts_input=True) for name, item in schema.predicates.items()}
    schema = replace(schema, predicates=predicates, others=None)
    is_object = text.lstrip().startswith("{")

    def read(timeline: Timeline) -> Record:
        fine = replace(schema, timeline=timeline)
        decoder = JsonDecoder(fine, "--fact", None) if is_object else TextDecoder(fine, "--fact")
        batch = decoder.decode([os.fsencode(text)], 1)
        for item in batch.rejected:
            raise DataError(item.reason)
        if not batch.records:
            raise DataError("expected a fact, such as `P(a)@[1,2]`")
        return batch.records[0]

    try:
        return read_exactly(schema.timeline, read)
    except DataError as error:
        raise SpecError(f"--fact: {error}") from error

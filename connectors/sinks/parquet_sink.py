"""Answers to Parquet: a folder, with one table for each output predicate."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import anyio.lowlevel

from tidelog.connectors.files.folders import folder_of
from tidelog.connectors.sinks.giving_up import ENCODING_ERRORS, GivingUp, unencodable
from tidelog.connectors.store.syncing import make_folder, sync, sync_name
from tidelog.plans.data.changes import ChangeRecord
from tidelog.plans.data.facts import Fact, Record, Schema
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.frames.arrow import pq
from tidelog.runtime.frames.exact import StoredFacts
from tidelog.runtime.ports.interfaces import AnyAnswer

GROUP = 65_536
"""How many facts of a predicate wait until they are written together."""
FILE = "part-00000000.parquet"
"""What the one file of a table is called."""
_UNFINISHED = f".{FILE}.new"  # no table to readers


class ParquetSink(GivingUp):
    """Writes facts to `FOLDER/PREDICATE/part-00000000.parquet`, with the columns of `runtime/frames/exact.py`.

    The folder is new or empty. A table is there when the sink is left, also by an error: then with what had been told. Each
    of `outputs` has one, also where it has no facts. Changes have no table, since what has only begun is no fact yet.
    """

    def __init__(self, folder: str, schema: Schema, outputs: Iterable[str] = ()) -> None:
        self.name = folder
        self._folder = Path(folder)
        self._schema = schema
        self._outputs = tuple(outputs)
        self._tables: dict[str, _Table] = {}
        check_empty(folder)

    async def __aenter__(self) -> ParquetSink:
        make_folder(self._folder)
        for predicate in self._outputs:
            self._table(predicate)
        return self

    async def __aexit__(self, *exc: object) -> None:
        tables, self._tables = self._tables, {}
        unfit = [found for table in tables.values() for found in table.close()]
        await self._put_away(unfit)

    async def send(self, answers: Sequence[AnyAnswer]) -> None:
        """Take these answers; one that is not as its program declares it is given up when its table is written."""
        await anyio.lowlevel.checkpoint()
        for answer in answers:
            if isinstance(answer, HypotheticalAnswer):
                continue  # told to other sinks: the command line sees to it that there is one
            if isinstance(answer, ChangeRecord):
                raise ConnectorError(f"`{self.name}`: changes have no table: use `--emit intervals` or `final`")
            predicate, row, lo, hi = answer
            await self._put_away(self._table(predicate).add((row, lo, hi)))

    async def _put_away(self, unfit: Sequence[tuple[Record, str]]) -> None:
        for record, reason in unfit:
            await self._give_up(record, reason)

    def _table(self, predicate: str) -> _Table:
        table = self._tables.get(predicate)
        if table is None:
            known = self._schema.predicates.get(predicate)
            fields, types = (known.fields, known.types) if known else ((), ())
            facts = StoredFacts(predicate, fields, types, self._schema.timeline)
            table = self._tables[predicate] = _Table(self._folder / folder_of(predicate), facts)
        return table


class _Table:
    """The file of one predicate, while it is written."""

    def __init__(self, folder: Path, facts: StoredFacts) -> None:
        make_folder(folder)
        self._folder, self._facts = folder, facts
        self._waiting: list[Fact] = []
        self._writer: Any = pq.ParquetWriter(folder / _UNFINISHED, facts.schema)

    def add(self, fact: Fact) -> list[tuple[Record, str]]:
        """Take a fact; returns those that do not fit, and why."""
        self._waiting.append(fact)
        return self._write() if len(self._waiting) >= GROUP else []

    def _write(self) -> list[tuple[Record, str]]:
        waiting, self._waiting = self._waiting, []
        unfit: list[tuple[Record, str]] = []
        try:
            batch = self._facts.batch(waiting)
        except (ConnectorError, *ENCODING_ERRORS):
            fit, unfit = self._divided(waiting)
            batch = self._facts.batch(fit)
        self._writer.write_batch(batch)
        return unfit

    def _divided(self, facts: Sequence[Fact]) -> tuple[list[Fact], list[tuple[Record, str]]]:
        """The facts that fit the table, and those that do not, each with its reason."""
        fit: list[Fact] = []
        unfit: list[tuple[Record, str]] = []
        for fact in facts:
            try:
                self._facts.batch([fact])
            except ConnectorError as error:
                unfit.append(((self._facts.predicate, *fact), str(error)))
            except ENCODING_ERRORS as error:
                unfit.append(((self._facts.predicate, *fact), unencodable(error)))
            else:
                fit.append(fact)
        return fit, unfit

    def close(self) -> list[tuple[Record, str]]:
        """Write what waits, and let the table be there; returns what does not fit."""
        unfit = self._write() if self._waiting else []
        self._writer.close()
        sync(self._folder / _UNFINISHED)
        os.replace(self._folder / _UNFINISHED, self._folder / FILE)
        sync_name(self._folder / FILE)
        return unfit


def check_empty(folder: str) -> None:
    """SpecError unless the folder is new, or holds nothing but hidden files."""
    try:
        if any(not name.startswith(".") for name in os.listdir(folder)):
            raise SpecError(f"`{folder}` is not empty: choose another folder")
    except FileNotFoundError:
        pass
    except OSError as error:
        raise SpecError(f"cannot write tables to `{folder}`: {error.strerror}") from None

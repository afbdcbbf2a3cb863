"""Answers to tables of a database."""

from __future__ import annotations

from typing import Annotated

import anyio.to_thread
from msgspec import Meta

from tidelog.connectors.databases.sql.database import Address, Database, database
from tidelog.connectors.databases.sql.sink import SqlSink
from tidelog.connectors.databases.sql.tables import tables_of
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening
from tidelog.gateway.kinds.settings import ChoosySinkSettings
from tidelog.plans.diagnostics.errors import SpecError

NEEDS = "tidelog[sql]"


class SqlSinkSettings(ChoosySinkSettings, frozen=True, kw_only=True, tag="sql"):
    """Answers as rows: a table for each output."""

    url: str
    password: Secret | None = None
    prefix: Annotated[str, Meta(pattern="^[A-Za-z0-9_]*$")] = ""
    """What the names of the tables begin with."""


def _open(settings: SqlSinkSettings, opening: SinkOpening) -> SqlSink:
    questions = {question.name for question in opening.plan.questions}
    if asked := [name for name in opening.told if name in questions]:
        raise SpecError(f"`{asked[0]}` is a question, and its answers are no rows: name the sink's `predicates`")
    there, plan = _database(settings, opening.place), opening.plan
    tables = tables_of(plan.schema, opening.told, there, prefix=settings.prefix, iso=opening.iso)
    encoder = JsonEncoder(plan.schema, iso=opening.iso)
    key = opening.place.client(settings)
    return SqlSink(there, tables, encoder, name=settings.name, key=key, choice=opening.choice)


def _database(settings: SqlSinkSettings, place: Place) -> Database:
    return database(settings.url, password=settings.password, folder=place.folder)


def _check(settings: SqlSinkSettings, place: Place) -> None:
    path = Address.parse(settings.url).path
    if path and not (place.folder / path).parent.is_dir():
        raise SpecError(f"there is no folder `{(place.folder / path).parent}` for the database")
    if settings.password is not None:
        settings.password.reveal(place.folder)


async def _reach(settings: SqlSinkSettings, place: Place) -> str:
    there, path = _database(settings, place), Address.parse(settings.url).path
    if path and not (place.folder / path).exists():
        return f"the database {there.place} is made when the gateway starts"
    connection = await anyio.to_thread.run_sync(there.connect)
    await anyio.to_thread.run_sync(connection.close)
    return f"the database {there.place} lets it in"


SINK = SinkKind(interface=INTERFACE, settings=SqlSinkSettings, open=_open, needs=NEEDS, check=_check, reach=_reach)

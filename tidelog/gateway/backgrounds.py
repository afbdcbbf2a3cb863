"""Facts of a program's background from a database: a query is asked each so often, and what it says is kept in a file.

The program reads the file, as it would any other. So a gateway starts while the database is away, with what it said last,
and `tidelog test` needs none. When it says something else, the programs that read the file are put anew into their place.
"""

from __future__ import annotations

import filecmp
import logging
import os
from collections.abc import Awaitable, Callable, Sequence
from contextlib import closing, suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import anyio
import anyio.to_thread
import msgspec

from tidelog.connectors.databases.sql.database import Refused, database
from tidelog.gateway.file.settings import BackgroundSettings
from tidelog.plans.diagnostics.errors import SpecError, TidelogError

logger = logging.getLogger("tidelog")

_LOOK_SECONDS = 60.0
"""After so many seconds, at the latest, it is seen whether the file has other queries."""


def fetch(settings: BackgroundSettings, folder: Path) -> bool:
    """Ask once; returns whether the answer is another one than the file has, which then has it.

    OSError where the database is away, or does not understand the query; SpecError for an answer that is no facts.
    """
    try:
        there = database(settings.url, password=settings.password, folder=folder)
    except ModuleNotFoundError as error:
        raise SpecError(f"it needs `{error.name}`: install `tidelog[sql]`") from None
    path = folder / settings.file
    fresh = path.with_name(f".{path.name}.new")
    try:
        with closing(there.connect()) as connection, fresh.open("wb") as file:
            for number, row in enumerate(connection.rows(settings.query), 1):
                fact = {"predicate": settings.predicate, "args": [_value(value, number) for value in row]}
                file.write(msgspec.json.encode(fact) + b"\n")
        if path.exists() and filecmp.cmp(path, fresh, shallow=False):
            return False
        os.replace(fresh, path)
        return True
    except Refused as error:
        raise SpecError(f"the query is refused: {error}") from None
    finally:
        fresh.unlink(missing_ok=True)


def _value(value: Any, number: int) -> str | int | float:
    """What a fact holds for what a column does."""
    if value is None:
        raise SpecError(f"row {number} of the query has no value (NULL) for an argument: let the query leave it out")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Decimal):
        return int(value) if value == int(value) else float(value)
    return value if isinstance(value, str | int | float) else str(value)


def fetch_all(settings: Sequence[BackgroundSettings], folder: Path) -> None:
    """Ask each once, before the programs are read. SpecError where one has no answer, and had none before."""
    for one in settings:
        try:
            fetch(one, folder)
        except (OSError, SpecError) as error:
            if not (folder / one.file).exists():
                raise SpecError(f"background `{one.file}`: {error}") from error
            logger.warning("background `%s`: %s; what was asked last stays", one.file, error)


async def keep_fresh(
    current: Callable[[], Sequence[BackgroundSettings]], folder: Path, reload: Callable[[], Awaitable[object]]
) -> None:
    """Ask each query when it is due, and read the programs again where one has another answer."""
    due: dict[BackgroundSettings, float] = {}
    while True:
        now = anyio.current_time()
        due = {one: due.get(one, now + one.every) for one in current()}
        is_new = False
        for one in [one for one, at in due.items() if at <= now]:
            try:
                is_new |= await anyio.to_thread.run_sync(fetch, one, folder, abandon_on_cancel=True)
            except (OSError, SpecError) as error:
                logger.warning("background `%s`: %s; what was asked last stays", one.file, error)
            due[one] = anyio.current_time() + one.every
        if is_new:
            with suppress(TidelogError, OSError):  # it is in the log, and all goes on as it was
                await reload()
        await anyio.sleep(max(0.0, min([*due.values(), now + _LOOK_SECONDS]) - anyio.current_time()))

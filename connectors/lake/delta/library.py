"""The library by which tables are read and written, `deltalake`: loaded when it is used, its errors in a line of ours."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from tidelog.connectors.lake.tables import Conflict
from tidelog.plans.diagnostics.errors import ConnectorError, SpecError

_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")
_S3_SAYS = re.compile(r"<Code>(\w+)</Code>(?:<Message>([^<]*)</Message>)?")
_CLEARED = re.compile(r"not found.*\b_delta_log\b", re.IGNORECASE | re.DOTALL)
_MOST = 400


def deltalake() -> Any:
    """The library; SpecError where it is not installed."""
    try:
        import_module("pyarrow")
        return import_module("deltalake")
    except ImportError as error:
        raise SpecError(f"tables need {error.name}, which is not installed: pip install 'tidelog[delta]'") from None


def storage_options(place: str) -> dict[str, str] | None:
    """What the library is told of a place besides its credentials, which it finds by itself; None for a local folder."""
    if not place.startswith("s3://"):
        return None
    options = {"timeout": "30s", "connect_timeout": "10s", "max_retries": "5", "retry_timeout": "60s"}
    endpoint = os.environ.get("AWS_ENDPOINT_URL_S3") or os.environ.get("AWS_ENDPOINT_URL") or ""
    if endpoint.startswith("http://"):  # whoever names it so wants it
        options["allow_http"] = "true"
    return options


@contextmanager
def told(doing: str) -> Iterator[None]:
    """What the library raises inside, as a ConnectorError that says what was done (`cannot write …`), or a Conflict."""
    library = deltalake()
    try:
        yield
    except library.exceptions.CommitFailedError as error:
        raise Conflict(f"{doing}: {_line(error)}") from error
    except (library.exceptions.DeltaError, OSError) as error:
        if _CLEARED.search(str(error)):  # entries that it was to read are no more: a vacuum has let them go
            raise Conflict(f"{doing}: {_line(error)}") from error
        raise ConnectorError(f"{doing}: {_line(error)}") from error


def _line(error: Exception) -> str:
    text = _ESCAPES.sub("", str(error)).replace("↳", " ")
    said = _S3_SAYS.search(text)
    line = f"{said[1]}: {said[2]}" if said else " ".join(text.split())
    return line if len(line) <= _MOST else f"{line[:_MOST]}…"

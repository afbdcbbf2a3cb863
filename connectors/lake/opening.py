"""A place with tables, by its name: which format it says."""

from __future__ import annotations

import re

from tidelog.connectors.lake.delta.lake import open_delta_lake
from tidelog.connectors.lake.iceberg.lake import open_iceberg_lake
from tidelog.connectors.lake.tables import Lake

_ICEBERG = re.compile(r"iceberg:(?!//)(.*)\Z", re.DOTALL)


def open_lake(place: str) -> Lake:
    """The tables at a folder of this machine, at `s3://BUCKET/PATH`, or in a namespace, `iceberg:CATALOG.NAMESPACE`.

    SpecError for other places, and where the library is missing. Nothing is looked at yet.
    """
    named = _ICEBERG.match(place)
    return open_delta_lake(place) if named is None else open_iceberg_lake(place, named[1])

"""Points by InfluxDB's line protocol."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import msgspec

from tidelog.connectors import http as over_http  # loads what it needs once it is used
from tidelog.connectors.databases.influx.encoder import PointEncoder, PointTexts
from tidelog.connectors.databases.influx.grammar import Precision
from tidelog.connectors.databases.influx.points import Points
from tidelog.connectors.databases.influx.sources import PackedPointsFile, PointsByUdp, PointsFile, PointsInput
from tidelog.connectors.formats.endings import compression_of
from tidelog.connectors.mapping.settings import MapSettings, Scalar
from tidelog.connectors.sinks.file_sink import FileSink
from tidelog.connectors.spec import check_readable, check_writable
from tidelog.connectors.transport.addresses import parse_host_port
from tidelog.connectors.transport.bounds import Positive
from tidelog.connectors.transport.credentials import check_token
from tidelog.connectors.transport.secret import Secret
from tidelog.gateway.kinds.kind import INTERFACE, Place, SinkKind, SinkOpening, SourceKind, SourceOpening
from tidelog.gateway.kinds.own.webhook import Text, check_texts, make_endpoint, reach_address
from tidelog.gateway.kinds.reaching import NOTHING
from tidelog.gateway.kinds.settings import ChoosySinkSettings, SourceSettings
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.runtime.ports.interfaces import Listener, Sink, Source


class InfluxSourceSettings(SourceSettings, frozen=True, kw_only=True, tag="influx"):
    """Points that are written to the server of `[http]`, or come by `udp`, or stand in a `file`."""

    format: Literal["json"] = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    path: str = ""
    """What stands before `/write` and `/api/v2/write` in the address."""
    token: Secret | None = None
    """What clients tell, in place of the token of `[http]`."""
    udp: str = ""
    """`HOST:PORT`, where datagrams are listened for."""
    file: str = ""
    """The file; `-` is standard input."""
    precision: Precision = "ns"
    """What times count in, of datagrams and files; requests say it themselves."""
    others: Literal["refuse", "ignore"] = "refuse"
    """What becomes of points whose measurement no map takes."""


class InfluxSinkSettings(ChoosySinkSettings, frozen=True, kw_only=True, tag="influx"):
    """Answers as points, to a server or to a file."""

    url: str = ""
    bucket: str = ""
    org: str = ""
    database: str = ""
    retention: str = ""
    token: Secret | None = None
    headers: dict[str, Text] = msgspec.field(default_factory=dict)
    gzip: bool = True
    timeout: Positive = 10.0
    retry_longest: Positive = 60.0
    file: str = ""
    measurement: str = "{predicate}"
    tags: dict[str, str] | None = None
    fields: dict[str, Scalar] | None = None


def _open_source(settings: InfluxSourceSettings, opening: SourceOpening) -> Source | Listener:
    if not settings.map:
        raise SpecError("it says nothing of how points become facts: give a `[[source.map]]`")
    if settings.udp and settings.file:
        raise SpecError("points come by `udp`, or from a `file`: say one of them")
    if (settings.udp or settings.file) and (settings.path or settings.token is not None):
        raise SpecError("`path` and `token` belong to points that come by HTTP, without `udp` and `file`")
    points = Points(settings.name, opening.mapper(settings), settings.map, others=settings.others)
    most = opening.file.limits.line
    if settings.udp:
        return PointsByUdp(settings.name, parse_host_port(settings.udp), points, settings.precision)
    if settings.file == "-":
        return PointsInput(points, settings.precision, most)
    if settings.file:
        path = str(opening.place.folder / settings.file)
        check_readable(path)
        compression = compression_of(path)
        if compression not in (None, "gz"):
            raise SpecError(f"`{settings.file}`: points are read as they are, or packed by gzip")
        return (PointsFile if compression is None else PackedPointsFile)(path, points, settings.precision, most)
    return _writes(settings, opening, points, most)


def _writes(settings: InfluxSourceSettings, opening: SourceOpening, points: Points, most: int) -> over_http.Writes:
    if opening.file.http is None:
        raise SpecError("points are written to the server of `[http]`, which this file does not have: add it, or say `udp`")
    if settings.precision != "ns":
        raise SpecError("`precision` belongs to `udp` and `file`: a request says it itself")
    others = [one for one in opening.file.source if isinstance(one, InfluxSourceSettings) and one is not settings]
    same = next((one.name for one in others if not (one.udp or one.file) and one.path == settings.path), None)
    if same is not None:
        raise SpecError(f"source `{same}` has the same path `{settings.path}`: give each a `path` of its own")
    token = None if settings.token is None else check_token(settings.token.reveal(opening.place.folder))
    return over_http.Writes(settings.name, settings.path, points, token=token, max_line=most)


def _open_sink(settings: InfluxSinkSettings, opening: SinkOpening) -> Sink:
    if bool(settings.url) == bool(settings.file):
        raise SpecError("points go to a `url`, or to a `file`: say one of them")
    encoder = PointEncoder(
        opening.plan.schema,
        outputs=opening.told,
        texts=PointTexts(settings.measurement, settings.tags, settings.fields),
        iso=opening.iso,
        choice=opening.choice,
        about=opening.about(),
    )
    if settings.file:
        if settings.bucket or settings.database or settings.token is not None or settings.headers:
            raise SpecError("`bucket`, `database`, `token` and `headers` belong to a `url`")
        path = str(opening.place.folder / settings.file)
        check_writable(path)
        return FileSink(path, encoder, name=settings.name, is_kept=True)
    return over_http.PointsSink(settings.name, _endpoint(settings, opening.place), encoder, packs=settings.gzip)


def _endpoint(settings: InfluxSinkSettings, place: Place) -> over_http.Endpoint:
    url = over_http.write_url(
        settings.url,
        bucket=settings.bucket,
        org=settings.org,
        database=settings.database,
        retention=settings.retention,
    )
    endpoint = make_endpoint(settings, place, url)
    if settings.token is None:
        return endpoint
    return replace(endpoint, headers={**endpoint.headers, "authorization": f"Token {settings.token.reveal(place.folder)}"})


def _check_sink(settings: InfluxSinkSettings, place: Place) -> None:
    check_texts(settings, place)
    if settings.token is not None:
        settings.token.reveal(place.folder)


async def _reach_source(settings: InfluxSourceSettings, place: Place) -> str:
    return NOTHING


async def _reach_sink(settings: InfluxSinkSettings, place: Place) -> str:
    if not settings.url:
        return NOTHING
    return await reach_address(settings.url)


SOURCE = SourceKind(interface=INTERFACE, settings=InfluxSourceSettings, open=_open_source, reach=_reach_source)
SINK = SinkKind(interface=INTERFACE, settings=InfluxSinkSettings, open=_open_sink, check=_check_sink, reach=_reach_sink)

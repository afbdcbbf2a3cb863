"""Registers of devices, by Modbus: over TCP, and RTU over a serial line or over TCP."""

from __future__ import annotations

from typing import Literal

import anyio.to_thread

from tidelog import connectors  # loads what it needs once it is used
from tidelog.connectors.field.modbus.settings import ModbusSettings, RegisterSettings
from tidelog.connectors.mapping.settings import MapSettings
from tidelog.connectors.sources.polled import PolledSource
from tidelog.connectors.transport.bounds import Positive
from tidelog.gateway.kinds.kind import INTERFACE, Place, SourceKind, SourceOpening


class ModbusSourceSettings(ModbusSettings, frozen=True, kw_only=True, tag_field="type", tag="modbus"):
    """Registers of devices behind one connection, which are asked every so many seconds."""

    name: str
    program: str = ""
    format: Literal["json"] = "json"
    map: tuple[MapSettings, ...] = ()
    by: str = ""
    every: Positive = 1.0
    register: tuple[RegisterSettings, ...]


def _open(settings: ModbusSourceSettings, opening: SourceOpening) -> PolledSource:
    devices = connectors.ModbusDevices(settings, settings.register)
    return PolledSource(settings.name, devices, opening.mapper(settings), every=settings.every)


async def _reach(settings: ModbusSourceSettings, place: Place) -> str:
    return await anyio.to_thread.run_sync(connectors.ModbusDevices(settings, settings.register).try_once)


SOURCE = SourceKind(interface=INTERFACE, settings=ModbusSourceSettings, open=_open, needs="tidelog[modbus]", reach=_reach)
